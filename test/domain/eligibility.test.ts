import { describe, expect, it } from 'vitest'
import { isNamed, methodsFor, whoseVote, whyNot, whyNotMethod } from '../../src/domain/eligibility.ts'
import type { ApprovalRequest, Vote } from '../../src/domain/request.ts'

const vote = (user_id: string, on_behalf_of = user_id): Vote => ({
  decision_id: 'dec_1',
  user_id,
  on_behalf_of,
  approver: '0'.repeat(16),
  decision: 'approved',
  method: 'passkey',
  at: new Date(0),
  comment: null,
  intent_json: '{}',
  evidence: { type: 'totp', step: 1 },
})

function request(fields: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return {
    id: 'req_1',
    version: 1,
    status: 'pending',
    account_id: 'acc_1',
    api_key_id: 'key_1',
    requested_by: { key_name: 'k', account_name: 'a' },
    sandbox: false,
    action: 'x',
    context_json: '{}',
    context_sha256: '',
    high_impact: false,
    requirement: {
      approvers: ['ann', 'bob'].map((user_id) => ({ user_id, approver: user_id })),
      quorum: 2,
      passkey_only: false,
    },
    created_at: new Date(0),
    expires_at: new Date(1),
    votes: [],
    outbox: [],
    audit: [],
    ...fields,
  }
}
const ann = { user_id: 'ann', has_passkey: true, has_totp: true }
const codesOnly = { user_id: 'ann', has_passkey: false, has_totp: true }
const factorless = { user_id: 'ann', has_passkey: false, has_totp: false }
const strict = { ...request().requirement, passkey_only: true }

describe('whyNot, in its order', () => {
  it.each([
    ['a stranger', request(), { ...ann, user_id: 'eve' }, 'not_found'],
    [
      'a stranger on a decided request learns no more',
      request({ status: 'approved' }),
      { ...ann, user_id: 'eve' },
      'not_found',
    ],
    ['an approved request', request({ status: 'approved' }), ann, 'not_pending'],
    ['a rejected request', request({ status: 'rejected' }), ann, 'not_pending'],
    ['an expired request', request({ status: 'expired' }), ann, 'not_pending'],
    [
      'a decided request they voted on',
      request({ status: 'approved', votes: [vote('ann')] }),
      ann,
      'not_pending',
    ],
    ['a sandbox request', request({ sandbox: true }), ann, 'sandbox_request'],
    ['a second vote', request({ votes: [vote('ann')] }), ann, 'already_voted'],
    ['a vote a delegate cast for them', request({ votes: [vote('dora', 'ann')] }), ann, 'already_voted'],
    ['codes on a passkey_only request', request({ requirement: strict }), codesOnly, 'passkey_required'],
    ['nobody without a factor', request(), factorless, 'passkey_required'],
  ])('%s', (_what, on, person, code) => {
    expect(whyNot(on, person)?.code).toBe(code)
  })

  it('nothing stands in the way of a named person with a factor', () => {
    expect(whyNot(request(), ann)).toBeUndefined()
    expect(whyNot(request(), codesOnly)).toBeUndefined()
    expect(whyNot(request({ high_impact: true }), codesOnly)).toBeUndefined()
    expect(whyNot(request({ votes: [vote('bob')] }), ann)).toBeUndefined()
  })

  it('tells the status of a request that is no longer pending', () => {
    expect(whyNot(request({ status: 'expired' }), ann)?.details).toEqual({ status: 'expired' })
  })
})

describe('whyNotMethod', () => {
  it.each([
    ['passkey without one', request(), codesOnly, 'passkey', 'method_not_enrolled'],
    ['codes without any', request(), { ...ann, has_totp: false }, 'totp', 'method_not_enrolled'],
    [
      'codes on high impact while having a passkey',
      request({ high_impact: true }),
      ann,
      'totp',
      'passkey_required',
    ],
    ['codes under passkey_only', request({ requirement: strict }), ann, 'totp', 'passkey_required'],
    ['passkey', request(), ann, 'passkey', undefined],
    ['passkey on high impact', request({ high_impact: true }), ann, 'passkey', undefined],
    ['codes', request(), ann, 'totp', undefined],
    [
      'codes on high impact of somebody without a passkey',
      request({ high_impact: true }),
      codesOnly,
      'totp',
      undefined,
    ],
  ] as const)('%s → %s', (_what, on, person, method, code) => {
    expect(whyNotMethod(on, person, method)?.code).toBe(code)
  })
})

describe('the parts', () => {
  it('isNamed goes by the snapshot', () => {
    expect(isNamed(request(), 'bob')).toBe(true)
    expect(isNamed(request(), 'eve')).toBe(false)
  })

  it('whose hands have acted, or for whom somebody acted, is done: one person is never two of the four eyes', () => {
    const on = request({ votes: [vote('bob', 'ann')] })
    const bob = { ...ann, user_id: 'bob' }
    expect([whyNot(on, ann)?.code, whyNot(on, bob)?.code]).toEqual(['already_voted', 'already_voted'])
  })

  it('whoseVote is one’s own when named, whomever else one stands in for', () => {
    const bob = { ...ann, user_id: 'bob', stands_in_for: ['ann'] }
    expect(whoseVote(request(), bob)?.user_id).toBe('bob')
  })

  it('whoseVote of a delegate is that of the first named person who has none', () => {
    const eve = { ...ann, user_id: 'eve', stands_in_for: ['bob', 'zoe', 'ann'] }
    expect(whoseVote(request(), eve)?.user_id).toBe('ann')
    expect(whoseVote(request({ votes: [vote('ann')] }), eve)?.user_id).toBe('bob')
    expect(whoseVote(request({ votes: [vote('eve', 'ann')] }), eve)).toBeUndefined()
  })

  it('nobody is asked on behalf of people the request does not name', () => {
    const eve = { ...ann, user_id: 'eve', stands_in_for: ['zoe'] }
    expect(whyNot(request(), eve)?.code).toBe('not_found')
  })

  it('methodsFor joins policy and impact', () => {
    expect(methodsFor(request({ high_impact: true }), ann)).toEqual(['passkey'])
    expect(methodsFor(request({ requirement: strict }), codesOnly)).toEqual([])
  })
})
