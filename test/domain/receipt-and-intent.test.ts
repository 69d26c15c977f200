import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { buildPayload } from '../../src/domain/receipt.ts'
import { stateIntent } from '../../src/flow/requests/state-intent.ts'

const facts = {
  rid: 'req_1',
  did: 'dec_1',
  approver: 'a'.repeat(16),
  action: 'b'.repeat(16),
  decision: 'approved' as const,
  method: 'passkey' as const,
  decidedAt: new Date(1_700_000_000_999),
  expiresAt: new Date(1_700_000_060_001),
  nonce: 'c'.repeat(32),
}

describe('buildPayload', () => {
  it('has exactly the fields of the interface, times in whole Unix seconds', () => {
    expect(buildPayload(facts)).toEqual({
      v: 1,
      rid: 'req_1',
      did: 'dec_1',
      approver: 'a'.repeat(16),
      action: 'b'.repeat(16),
      decision: 'approved',
      method: 'passkey',
      ts: 1_700_000_000,
      exp: 1_700_000_060,
      nonce: 'c'.repeat(32),
    })
  })

  it('says sandbox: true for the sandbox and nothing otherwise', () => {
    expect(buildPayload({ ...facts, method: 'sandbox' })).toMatchObject({ sandbox: true })
    expect(buildPayload({ ...facts, method: 'totp' })).not.toHaveProperty('sandbox')
  })

  it('takes the very last moment and refuses one second later', () => {
    const expiresAt = facts.decidedAt
    expect(buildPayload({ ...facts, expiresAt }).ts).toBe(buildPayload({ ...facts, expiresAt }).exp)
    const decidedAt = new Date(expiresAt.getTime() + 1)
    expect(() => buildPayload({ ...facts, expiresAt, decidedAt })).toThrow(RangeError)
  })
})

it('the statement of a decision has everything the approver sees', () => {
  const settings = {
    baseUrl: 'https://a.example',
    production: false,
    noteSameAddress: false,
    logEntries: 'public' as const,
    retention: { days: undefined, whole: false, auditDays: undefined },
    attemptMs: 0,
  }
  const deps = { random: { bytes: (count: number) => Buffer.alloc(count) }, settings }
  const requirement = { approvers: [], quorum: 2, passkey_only: true }
  const intent = stateIntent(
    deps,
    {
      id: 'req_1',
      version: 1,
      status: 'pending',
      sandbox: false,
      action: 'Pay',
      context_sha256: 'd'.repeat(64),
      created_at: new Date(0),
      expires_at: new Date(60_500),
      high_impact: true,
      api_key_id: 'key_1',
      requested_by: { key_name: 'bot', account_name: 'Example' },
      account_id: 'acc_1',
      requirement,
      audience: 'https://pay.example',
      reversibility: 'irreversible',
      context_json: '{}',
      votes: [],
      outbox: [],
      audit: [],
    },
    'rejected',
    { approverRef: 'a'.repeat(16) },
  )
  expect(intent).toEqual({
    typ: 'human-approval/intent/v2',
    aud: 'https://a.example',
    rid: 'req_1',
    decision: 'rejected',
    approver: 'a'.repeat(16),
    action: 'Pay',
    context_sha256: 'd'.repeat(64),
    request_created_at: '1970-01-01T00:00:00.000Z',
    exp: 60,
    high_impact: true,
    requester: { key: 'key_1', name: 'bot', account: 'acc_1' },
    policy_sha256: createHash('sha256')
      .update('{"approvers":[],"passkey_only":true,"quorum":2}')
      .digest('hex'),
    quorum: 2,
    audience: 'https://pay.example',
    reversibility: 'irreversible',
    salt: 'A'.repeat(43),
  })
})
