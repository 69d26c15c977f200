import { expect, it } from 'vitest'
import { standsIn } from '../../src/domain/user.ts'

const delegate = { user_id: 'dee', starts_at: new Date(1_000), ends_at: new Date(2_000) }

it.each([
  ['before it starts', 999, false],
  ['when it starts', 1_000, true],
  ['a moment before it ends', 1_999, true],
  ['when it ends', 2_000, false],
] as const)('a delegate stands in: %s → %s', (_when, now, stands) => {
  expect(standsIn(delegate, new Date(now))).toBe(stands)
})

it('nobody stands in for who has no delegate', () => {
  expect(standsIn(undefined, new Date(1_500))).toBe(false)
})
