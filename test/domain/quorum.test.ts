import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CountedVote, tally } from '../../src/domain/eligibility.ts'

const requirement = (quorum: number, ...people: string[]) => ({
  approvers: people.map((user_id) => ({ user_id, approver: user_id })),
  quorum,
  passkey_only: false,
})
const yes = (on_behalf_of: string, user_id = on_behalf_of): CountedVote => ({
  user_id,
  on_behalf_of,
  decision: 'approved',
})
const no = (on_behalf_of: string): CountedVote => ({ ...yes(on_behalf_of), decision: 'rejected' })

describe('tally', () => {
  it.each([
    ['nobody voted', [], 'pending'],
    ['one of two approved', [yes('a')], 'pending'],
    ['two of two approved', [yes('a'), yes('b')], 'approved'],
    ['more than needed approved', [yes('a'), yes('b'), yes('c')], 'approved'],
    ['one person twice', [yes('a'), yes('a')], 'pending'],
    ['one rejected', [no('a')], 'rejected'],
    ['one approved, one rejected', [yes('a'), no('b')], 'rejected'],
    ['rejected first, then enough approvals', [no('a'), yes('b'), yes('c')], 'rejected'],
    ['enough approvals and a rejection after', [yes('a'), yes('b'), no('c')], 'rejected'],
    ['a stranger approved', [yes('a'), yes('x')], 'pending'],
    ['a stranger rejected', [no('x')], 'pending'],
    ['somebody approved and rejected', [yes('a'), no('a')], 'rejected'],
    ['a delegate approved for one, the other for themself', [yes('a', 'd'), yes('b')], 'approved'],
    ['one pair of hands for two people', [yes('a', 'd'), yes('b', 'd')], 'pending'],
    ['one for themself and as a delegate', [yes('a'), yes('b', 'a')], 'pending'],
    ['a delegate and the person themself', [yes('a', 'd'), yes('a')], 'pending'],
    ['a stranger’s delegate', [yes('a'), yes('x', 'd')], 'pending'],
  ] as const)('two of three: %s → %s', (_what, votes, outcome) => {
    expect(tally(votes, requirement(2, 'a', 'b', 'c'))).toBe(outcome)
  })

  it('one of one decides', () => {
    expect(tally([yes('a')], requirement(1, 'a'))).toBe('approved')
    expect(tally([no('a')], requirement(1, 'a'))).toBe('rejected')
  })

  it('does not depend on the order of votes, for every set of up to four', () => {
    const people = ['a', 'b', 'c', 'x']
    const rule = requirement(2, 'a', 'b', 'c')
    const choices = [undefined, yes, no]
    for (let code = 0; code < 81; code += 1) {
      const votes = people.flatMap((one, index) => {
        const vote = choices[Math.floor(code / 3 ** index) % 3]
        return vote === undefined ? [] : [vote(one)]
      })
      expect(tally(votes.toReversed(), rule)).toBe(tally(votes, rule))
    }
  })

  const person = fc.constantFrom('a', 'b', 'c', 'd', 'x')
  const anyVote = fc.record<CountedVote>({
    user_id: person,
    on_behalf_of: person,
    decision: fc.constantFrom('approved', 'approved', 'rejected'),
  })
  const votes = fc.array(anyVote, { maxLength: 8 })
  const rule = fc.integer({ min: 1, max: 3 }).map((quorum) => requirement(quorum, 'a', 'b', 'c'))

  it('does not depend on the order of any votes, those of delegates among them', () => {
    const twice = votes.chain((some) =>
      fc.tuple(fc.constant(some), fc.shuffledSubarray(some, { minLength: some.length })),
    )
    fc.assert(
      fc.property(twice, rule, ([some, shuffled], rule) => {
        expect(tally(shuffled, rule)).toBe(tally(some, rule))
      }),
      { numRuns: 1000 },
    )
  })

  it('approves only with as many named people and as many pairs of hands as the quorum, and no rejection', () => {
    fc.assert(
      fc.property(votes, rule, (some, rule) => {
        const named = some.filter(({ on_behalf_of }) => 'abc'.includes(on_behalf_of))
        const rejected = named.some(({ decision }) => decision === 'rejected')
        const outcome = tally(some, rule)
        expect(outcome === 'rejected').toBe(rejected)
        if (outcome !== 'approved') return
        expect(new Set(named.map(({ on_behalf_of }) => on_behalf_of)).size).toBeGreaterThanOrEqual(
          rule.quorum,
        )
        expect(new Set(named.map(({ user_id }) => user_id)).size).toBeGreaterThanOrEqual(
          Math.min(rule.quorum, 3),
        )
      }),
      { numRuns: 1000 },
    )
  })
})
