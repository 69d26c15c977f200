import { describe, expect, it } from 'vitest'
import {
  type ApproverFactors,
  allowedMethods,
  DEFAULT_POLICY,
  isHighImpact,
  type Policy,
  policyFor,
  requirementFor,
} from '../../src/domain/policy.ts'

const person = (id: string, has_passkey = true, has_totp = false): ApproverFactors => ({
  user_id: id,
  approver: id.padEnd(16, '0'),
  has_passkey,
  has_totp,
  confirmed: true,
})
const policy = (quorum: number, passkey_only = false) => ({ ...DEFAULT_POLICY, quorum, passkey_only })

it('by default the owner alone decides, by any factor, and is reminded half-way and near the end', () => {
  expect(DEFAULT_POLICY).toEqual({
    approvers: [],
    quorum: 1,
    passkey_only: false,
    high_impact: false,
    confirmed_only: false,
    reminders: [0.5, 0.9],
  })
})

describe('requirementFor', () => {
  it('snapshots everybody named, with their reference and nothing else', () => {
    expect(requirementFor(policy(2), [person('a'), person('b'), person('c')])).toEqual({
      approvers: [
        { user_id: 'a', approver: 'a000000000000000' },
        { user_id: 'b', approver: 'b000000000000000' },
        { user_id: 'c', approver: 'c000000000000000' },
      ],
      quorum: 2,
      passkey_only: false,
    })
  })

  it('lets people without a factor in: they may enrol while it is open', () => {
    const requirement = requirementFor(policy(2), [person('a', false), person('b', false)])
    expect(requirement?.approvers.map((approver) => approver.user_id)).toEqual(['a', 'b'])
  })

  it.each([
    ['nobody is named', policy(1), []],
    ['the quorum exceeds the people', policy(3), [person('a'), person('b')]],
    ['the quorum is 0', policy(0), [person('a')]],
    ['the quorum is negative', policy(-1), [person('a')]],
    ['passkeys are demanded and too few have one', policy(2, true), [person('a'), person('b', false, true)]],
    ['passkeys are demanded and nobody has one', policy(1, true), [person('a', false, true)]],
  ])('is unreachable when %s', (_what, rule, people) => {
    expect(requirementFor(rule, people)).toBeUndefined()
  })

  it('keeps those without a passkey in a passkey_only request that others can carry', () => {
    const requirement = requirementFor(policy(1, true), [person('a'), person('b', false, true)])
    expect(requirement).toMatchObject({ quorum: 1, passkey_only: true })
    expect(requirement?.approvers.map((approver) => approver.user_id)).toEqual(['a', 'b'])
  })
})

describe('isHighImpact', () => {
  it.each(['github', 'gitlab', 'bitbucket', 'azure-devops', ' GitHub '])(
    'marks the source %s by itself',
    (source) => {
      expect(isHighImpact(false, { source })).toBe(true)
    },
  )

  it.each([
    {},
    { source: 'slack' },
    { source: 'github.example' },
    { source: ['github'] },
    { source: { $eq: 'github' } },
    { source: null },
    { Source: 'github' },
  ])('does not mark %o', (context) => {
    expect(isHighImpact(false, context)).toBe(false)
  })

  it('marks what the caller marked, whatever the source', () => {
    expect(isHighImpact(true, {})).toBe(true)
    expect(isHighImpact(true, { source: 'slack' })).toBe(true)
  })
})

describe('allowedMethods', () => {
  const both = { has_passkey: true, has_totp: true }
  const codes = { has_passkey: false, has_totp: true }
  it.each([
    ['ordinary, both factors', false, false, both, ['passkey', 'totp']],
    ['ordinary, codes only', false, false, codes, ['totp']],
    ['ordinary, nothing', false, false, { has_passkey: false, has_totp: false }, []],
    ['high impact, both: the passkey must be used', false, true, both, ['passkey']],
    ['high impact, codes only: codes will do', false, true, codes, ['totp']],
    ['passkey_only, both', true, false, both, ['passkey']],
    ['passkey_only, codes only: nothing', true, false, codes, []],
    ['passkey_only and high impact, codes only', true, true, codes, []],
  ])('%s', (_what, passkey_only, high_impact, factors, methods) => {
    expect(allowedMethods({ passkey_only, high_impact }, factors)).toEqual(methods)
  })
})

describe('policyFor', () => {
  const own: Policy = { ...DEFAULT_POLICY, approvers: ['a', 'b', 'c'], quorum: 2 }
  const account = (rules: Policy = own) => ({ owner_id: 'o', policy: rules })

  it('without a policy of the key it is the account’s; an empty list means the owner', () => {
    expect(policyFor(account(), undefined)).toEqual(own)
    expect(policyFor(account(DEFAULT_POLICY), undefined)).toEqual({ ...DEFAULT_POLICY, approvers: ['o'] })
  })

  it('a key narrows: fewer approvers, a larger quorum, more demands', () => {
    const key = { approvers: ['b', 'c'], quorum: 3, passkey_only: true, high_impact: true } as const
    expect(policyFor(account(), { ...key, approvers: [...key.approvers] })).toEqual({
      approvers: ['b', 'c'],
      quorum: 3,
      passkey_only: true,
      high_impact: true,
      confirmed_only: false,
      reminders: own.reminders,
    })
  })

  it('a key never widens: strangers are not added, a smaller quorum and fewer demands change nothing', () => {
    const strict = { ...own, passkey_only: true, high_impact: true }
    const found = policyFor(account(strict), { approvers: ['a', 'x', 'o'], quorum: 1 })
    expect(found).toEqual({ ...strict, approvers: ['a'] })
  })

  it('a key that names nobody of the account leaves nobody, never everybody', () => {
    const found = policyFor(account(), { approvers: ['x'] })
    expect(found.approvers).toEqual([])
    expect(requirementFor(found, [])).toBeUndefined()
  })
})
