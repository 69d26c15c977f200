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

const AN_ENTRY = {
  eid: 'evt_1',
  type: 'factor.totp_locked',
  at: AT,
  actor: { kind: 'service' },
  subject: 'x',
} as const

/** Settles a try that was compared with one state of codes, where they are in another by now. @returns whether it counts, and codes after it */
async function settled(step: number | undefined, seen: Partial<Totp>, now: Partial<Totp> = seen) {
  const { users } = stores()
  const user = freshUser({ totp: codes(now) })
  await users.insert(user)
  const after = await users.settleTotpTry(user.id, codes(seen), { step, at: AT, entryOf: () => AN_ENTRY })
  const found = await users.find(user.id)
  return [after !== undefined, found?.totp, found?.audit]
}

describe('T25, T26: a try, right or wrong', () => {
  it.each([
    ['codes were set up again', { sealed_seed: 'v1.new' }],
    ['codes were disabled', { failures: 50, disabled_at: AT }],
    ['codes were locked', { failures: 10, locks: 1, locked_until: AT }],
    ['another code was burnt', { last_step: 8 }],
    ['another wrong one was counted', { failures: 1 }],
  ])('counts for nothing where %s since it was compared', async (_what, now) => {
    for (const step of [8, undefined]) expect(await settled(step, {}, now)).toEqual([false, codes(now), []])
  })

  it('clears failures and locks that have ended, if it is right', async () => {
    const before = { failures: 19, locks: 1, locked_until: AT }
    expect(await settled(8, before)).toEqual([true, codes({ last_step: 8 }), []])
  })

  it('counts, if it is wrong; the tenth locks codes, the fiftieth disables them, with an entry', async () => {
    expect(await settled(undefined, { failures: 8 })).toEqual([true, codes({ failures: 9 }), []])
    const until = (minutes: number) => new Date(AT.getTime() + minutes * 60_000)
    const second = { failures: 19, locks: 1, locked_until: AT }
    const locked = codes({ failures: 20, locks: 2, locked_until: until(30) })
    expect(await settled(undefined, second)).toEqual([true, locked, [AN_ENTRY]])
    const disabled = codes({ failures: 50, disabled_at: AT })
    expect(await settled(undefined, { failures: 49 })).toEqual([true, disabled, [AN_ENTRY]])
  })
})
