import { expect, it } from 'vitest'
import { nextStep, STATUSES } from '../../../src/http/mcp-words.ts'

const REFUSALS = ['already_consumed', 'mismatch', 'not_approved', 'held_after_restore', 'anything_else']

it.each([...STATUSES, 'crowded', 'consumed_dry', ...REFUSALS])(
  'what to do after %s is no permission',
  (after) => {
    expect(nextStep(after)).toMatch(/\bdo not act\b|act only if that call accepts/i)
    expect(nextStep(after, { sandbox: true })).toBe(`Dry run: no human was asked. ${nextStep(after)}`)
  },
)

it('only the use that was accepted is one', () => {
  expect(nextStep('consumed')).toMatch(/carry out exactly this action with this context now, once/)
  expect(nextStep('consumed')).not.toMatch(/do not/i)
})
