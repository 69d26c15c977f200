import { describe, expect, it } from 'vitest'
import type { Totp } from '../../src/domain/user.ts'
import { freshUser, usePeopleStores } from '../support/people-stores.ts'

const stores = usePeopleStores()
const AT = new Date('2026-01-02T03:04:05.678Z')
const codes = (change: Partial<Totp> = {}): Totp => ({
  sealed_seed: 'v1.old',
  confirmed_at: AT,
  last_step: 7,
  failures: 0,
  locked_until: null,
  locks: 0,
  disabled_at: null,
  ...change,
})

/** A person with these codes, and what a try of theirs answered. */
async function tried(change: Partial<Totp> = {}) {
  const { users } = stores()
  const user = freshUser({ totp: codes(change) })
  await users.insert(user)
  const totp = await users.takeTotpTry(user.id, AT)
  if (totp === undefined) throw new Error('no try was given')
  const replace = async (next: Totp): Promise<void> => {
    const now = await users.find(user.id)
    if ((await users.change(user.id, now?.version ?? -1, { totp: next }, [])) === undefined)
      throw new Error('the codes were not replaced')
  }
  return { users, id: user.id, totp, replace }
}

describe('T25: burning a time step', () => {
  it('counts no code of a seed that was replaced since the try', async () => {
    const { users, id, totp, replace } = await tried()
    await replace(codes({ sealed_seed: 'v1.new', failures: 1 }))
    expect(await users.takeTotpStep(id, 8, totp)).toBe(false)
    expect((await users.find(id))?.totp).toMatchObject({ last_step: 7, failures: 1 })
  })

  it('T26: does not undo a disabling that came after the try', async () => {
    const { users, id, totp, replace } = await tried()
    await replace({ ...totp, failures: 50, disabled_at: AT })
    expect(await users.takeTotpStep(id, 8, totp)).toBe(false)
    expect((await users.find(id))?.totp).toMatchObject({ failures: 50, disabled_at: AT, last_step: 7 })
  })

  it('T26: undoes the disabling that the right code itself had brought as the last try', async () => {
    const { users, id, totp } = await tried({ failures: 49 })
    expect(totp).toMatchObject({ failures: 50, disabled_at: AT })
    expect(await users.takeTotpStep(id, 8, totp)).toBe(true)
    expect((await users.find(id))?.totp).toMatchObject({ failures: 0, disabled_at: null, last_step: 8 })
  })
})
