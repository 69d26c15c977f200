import { describe, expect, it } from 'vitest'
import { freshUser, storedPasskey, usePeopleStores } from '../support/people-stores.ts'

const stores = usePeopleStores()
const HASH = 'ab'.repeat(32)
const AT = new Date('2026-01-02T03:04:05.678Z')
const audit = (eid: string) => ({
  eid,
  type: 'factor.backup_code_used' as const,
  at: AT,
  actor: { kind: 'service' as const },
  account_id: 'acc_x',
  subject: 'usr_x',
  detail: { count: 1 },
})

describe('the user store', () => {
  it('gives back exactly what was stored, by id, e-mail, credential and device', async () => {
    const { users } = stores()
    const totp = {
      sealed_seed: 'v1.x',
      confirmed_at: AT,
      last_step: 7,
      failures: 0,
      locked_until: null,
      locks: 0,
      disabled_at: null,
    }
    const user = freshUser({
      passkeys: [storedPasskey('one'), storedPasskey('two')],
      totp,
      totp_pending: { sealed_seed: 'v1.y', expires_at: AT, tries: 2 },
      backup_codes: [HASH],
      devices: [{ hash: HASH, created_at: AT }],
      enrolled_at: AT,
      audit: [audit('evt_1')],
    })
    await users.insert(user)
    expect(await users.find(user.id)).toEqual(user)
    expect(await users.findByEmail(user.email)).toEqual(user)
    expect(await users.findByCredential('two')).toEqual(user)
    expect(await users.findByDevice(HASH)).toEqual(user)
    expect(await users.findMany([user.id, 'usr_none'])).toEqual([user])
    expect(await users.find('usr_none')).toBeUndefined()
  })

  it('takes an e-mail and a credential once', async () => {
    const { users } = stores()
    const [first, second] = [freshUser({ passkeys: [storedPasskey('mine')] }), freshUser()]
    await users.insert(first)
    await users.insert(second)
    await expect(users.insert(freshUser({ email: first.email }))).rejects.toMatchObject({
      code: 'email_taken',
    })
    const change = users.change(second.id, 0, { passkeys: [storedPasskey('mine')] }, [])
    await expect(change).rejects.toMatchObject({ code: 'passkey_exists' })
  })

  it('changes only the version that was read, and removes what is null', async () => {
    const { users } = stores()
    const user = freshUser({ totp_pending: { sealed_seed: 'v1.y', expires_at: AT, tries: 0 } })
    await users.insert(user)
    const fields = { totp_pending: null, backup_codes: [HASH] }
    const racers = [1, 2, 3, 4].map((n) => users.change(user.id, 0, fields, [audit(`evt_${n}`)]))
    const won = (await Promise.all(racers)).filter((changed) => changed !== undefined)
    expect(won).toHaveLength(1)
    const { totp_pending: _gone, ...rest } = user
    expect(won[0]).toEqual({
      ...rest,
      backup_codes: [HASH],
      version: 1,
      audit: [expect.objectContaining({ type: 'factor.backup_code_used' })],
    })
    expect(await users.change(user.id, 0, { name: 'x' }, [])).toBeUndefined()
  })

  it('moves a counter forwards only, of an unsuspended passkey only', async () => {
    const { users } = stores()
    const user = freshUser({ passkeys: [storedPasskey('other', 50), storedPasskey('counted', 5)] })
    await users.insert(user)
    const use = (counter: number, credentialId = 'counted') =>
      users.usePasskey({ userId: user.id, credentialId, counter, synced: true, at: AT, syncs: false })
    expect([await use(5), await use(4), await use(0), await use(6, 'unknown')]).toEqual([
      false,
      false,
      false,
      false,
    ])
    expect(await use(6)).toBe(true)
    const [other, counted] = (await users.find(user.id))?.passkeys ?? []
    expect([other?.counter, other?.last_used_at]).toEqual([50, null])
    expect(counted).toMatchObject({ counter: 6, synced: true, last_used_at: AT })
    await users.suspendPasskey(user.id, 'counted', AT, audit('evt_s'))
    expect(await use(7)).toBe(false)
    await users.suspendPasskey(user.id, 'counted', new Date(0), audit('evt_t'))
    expect((await users.find(user.id))?.passkeys[1]?.suspended_at).toEqual(AT)
  })

  it('gives a backup code to one of many who ask at once', async () => {
    const { users } = stores()
    const user = freshUser({ backup_codes: [HASH, 'cd'.repeat(32)] })
    await users.insert(user)
    const takers = [1, 2, 3, 4, 5].map((n) => users.takeBackupCode(user.id, HASH, audit(`evt_${n}`)))
    expect((await Promise.all(takers)).filter(Boolean)).toHaveLength(1)
    expect((await users.find(user.id))?.backup_codes).toEqual(['cd'.repeat(32)])
  })

  it('T62: refuses to look for what is no hash, which would match people without one', async () => {
    const { users } = stores()
    for (const odd of ['', 'null', HASH.toUpperCase(), `${HASH}00`]) {
      await expect(users.findByDevice(odd)).rejects.toThrow('not a keyed hash')
      await expect(users.takeBackupCode('usr_x', odd, audit('evt_x'))).rejects.toThrow('not a keyed hash')
    }
  })
})
