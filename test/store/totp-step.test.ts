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

/** Burns a step of the seed `v1.old` for a person whose codes are these by now. @returns whether it counts, and the codes after it */
async function burnt(step: number, now: Partial<Totp>) {
  const { users } = stores()
  const user = freshUser({ totp: codes(now) })
  await users.insert(user)
  const counts = await users.takeTotpStep(user.id, { step, sealed_seed: 'v1.old' }, AT)
  return [counts, (await users.find(user.id))?.totp]
}

describe('T25: burning a time step', () => {
  it.each([
    ['of a seed that was replaced', 8, { sealed_seed: 'v1.new', failures: 1 }],
    ['T26: of codes that are disabled', 8, { failures: 50, disabled_at: AT }],
    [
      'T26: of codes that are locked',
      8,
      { failures: 10, locks: 1, locked_until: new Date(AT.getTime() + 1) },
    ],
    ['that was burnt', 7, { failures: 3 }],
    ['before one that was burnt', 6, {}],
  ])('counts no code %s, and changes nothing', async (_name, step, now) => {
    expect(await burnt(step, now)).toEqual([false, codes(now)])
  })

  it('clears failures and locks that have ended', async () => {
    const after = await burnt(8, { failures: 19, locks: 1, locked_until: AT })
    expect(after).toEqual([true, codes({ last_step: 8 })])
  })
})
