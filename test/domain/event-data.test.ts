import { describe, expect, it } from 'vitest'
import { createdData, decidedData, expiredData, keyData, remindedData } from '../../src/domain/event-data.ts'
import type { Decision } from '../../src/domain/request.ts'

const AT = new Date('2026-03-04T09:30:00.000Z')
const LATER = new Date('2026-03-04T09:45:00.000Z')

/** A request with more in it than anybody is told. */
const request = {
  id: 'req_1',
  action: 'Pay',
  created_at: AT,
  expires_at: LATER,
  high_impact: true,
  sandbox: false,
  context_json: '{"secret":"context"}',
  account_id: 'acc_1',
}

const decision: Decision = {
  id: 'dec_1',
  decision: 'approved',
  method: 'passkey',
  approver: '0123456789abcdef',
  decided_at: AT,
  comment: null,
  receipt: { canonical_payload: '{}', signature: 'c2ln', public_key_id: 'kid' },
}

describe('data of events', () => {
  it('names every field that goes out, and no other', () => {
    expect(createdData(request)).toEqual({
      request_id: 'req_1',
      action: 'Pay',
      created_at: '2026-03-04T09:30:00.000Z',
      expires_at: '2026-03-04T09:45:00.000Z',
      requires_individual_decision: true,
    })
    expect(decidedData(request, decision)).toEqual({
      request_id: 'req_1',
      decision: 'approved',
      decided_at: '2026-03-04T09:30:00.000Z',
      signed_receipt: {
        decision_id: 'dec_1',
        signature: 'c2ln',
        public_key_id: 'kid',
        canonical_payload: '{}',
        comment: null,
      },
    })
    expect(expiredData(request)).toEqual({ request_id: 'req_1', expires_at: '2026-03-04T09:45:00.000Z' })
    expect(remindedData(request)).toEqual({ request_id: 'req_1' })
    const key = { id: 'key_1', name: 'bot', key_prefix: 'sa_live_abcdef', sandbox: false, key_hash: 'ff' }
    expect(keyData(key)).toEqual({
      key_id: 'key_1',
      name: 'bot',
      key_prefix: 'sa_live_abcdef',
      sandbox: false,
    })
  })

  it('says when a request was withdrawn, and when nobody asked for the reminder', () => {
    expect(expiredData(request, true)).toMatchObject({ request_id: 'req_1', cancelled: true })
    expect(remindedData(request, true)).toEqual({ request_id: 'req_1', automatic: true })
  })

  it('marks the sandbox everywhere', () => {
    const dry = { ...request, sandbox: true }
    for (const data of [createdData(dry), decidedData(dry, decision), expiredData(dry), remindedData(dry)])
      expect(data).toMatchObject({ request_id: 'req_1', sandbox: true })
  })
})
