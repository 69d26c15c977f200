import { describe, expect, it } from 'vitest'
import type { ReceiptPayload } from '../../src/domain/receipt.ts'
import { toBase64, toBase64Url } from '../../src/signing/base64.ts'
import { actionHash } from '../../src/signing/commitment.ts'
import { RECEIPT_ERRORS, ReceiptError } from '../../src/signing/receipt-error.ts'
import { parseReceiptInput } from '../../src/signing/receipt-input.ts'
import { signPayload } from '../../src/signing/sign.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { DECIDED_AT, livePayload, sandboxPayload, testKey } from './fixtures.ts'

const live = testKey('decision', 1)
const sandbox = testKey('decision-sandbox', 2)
const other = testKey('decision', 3)
const pinned = [live, sandbox, other]

const action = 'Restart the billing service'
const payload: ReceiptPayload = { ...livePayload, action: actionHash(action) }
const receipt = signPayload(payload, live)
const decided_at = new Date(DECIDED_AT.getTime() + 456).toISOString()
const expires_at = new Date(payload.exp * 1000 + 789).toISOString()

const callback = {
  request_id: payload.rid,
  decision: 'approved',
  decided_at,
  signed_receipt: { decision_id: payload.did, ...receipt, comment: null },
}
const decision = {
  id: payload.did,
  decision: 'approved',
  method: 'passkey',
  signed_payload: toBase64Url(Buffer.from(receipt.canonical_payload)),
  signature: receipt.signature,
  decided_at,
  public_key_id: live.kid,
}
const request = {
  id: payload.rid,
  status: 'approved',
  action,
  context: {},
  created_at: decided_at,
  expires_at,
  decision,
}
const answer = {
  valid: true,
  decision: 'approved',
  method: 'passkey',
  verified_at: decided_at,
  public_key: toBase64(live.publicKey),
  signature: receipt.signature,
  payload,
}

describe('parseReceiptInput', () => {
  it.each<[string, unknown, 'hash' | 'none', string[]?]>([
    ['a callback body', callback, 'none'],
    ['its signed_receipt', callback.signed_receipt, 'none'],
    ['a stored receipt', receipt, 'none'],
    ['a GET body', request, 'hash', ['created_at']],
    ['its decision', decision, 'none'],
    ['a verify answer with the public key', answer, 'none', ['verified_at']],
    [
      'a verify answer with the key id',
      { ...answer, public_key: undefined, public_key_id: live.kid },
      'none',
      ['verified_at'],
    ],
    ['a verify answer with both', { ...answer, public_key_id: live.kid }, 'none', ['verified_at']],
    [
      'a rejected GET body, which has no times',
      { id: request.id, status: 'approved', action, decision },
      'hash',
    ],
  ])('takes the receipt out of %s', (_name, json, actionCheck, unsignedFields) => {
    const received: unknown = JSON.parse(JSON.stringify(json))
    expect(verifyReceiptJson(received, pinned)).toStrictEqual({
      valid: true,
      payload,
      kid: live.kid,
      sandbox: false,
      checked: { action: actionCheck, context: 'none' },
      // The others name no action and no context, so there is nothing that an intent would have to prove.
      ...(actionCheck === 'hash' ? { unproven: true } : {}),
      ...(unsignedFields && { unsignedFields }),
    })
  })

  it('copies what it reads: a later change of the object changes nothing', () => {
    const mutable = structuredClone(answer)
    const input = parseReceiptInput(mutable)
    mutable.payload.decision = 'rejected'
    expect(new TextDecoder().decode(input.payload)).toBe(receipt.canonical_payload)
  })

  it.each<[string, unknown, keyof typeof RECEIPT_ERRORS]>([
    ['null', null, 'receipt_unreadable'],
    ['a text', JSON.stringify(receipt), 'receipt_unreadable'],
    ['an array', [receipt], 'receipt_unreadable'],
    ['an empty object', {}, 'receipt_unreadable'],
    ['a pending request', { id: payload.rid, status: 'pending' }, 'receipt_not_decided'],
    ['inherited fields', Object.create(receipt), 'receipt_unreadable'],
    ['two receipts at once', { ...callback, decision }, 'receipt_unreadable'],
    ['both payload forms at once', { ...receipt, ...decision }, 'receipt_unreadable'],
    ['both inside a request', { ...request, decision: { ...receipt, ...decision } }, 'receipt_unreadable'],
    [
      'both inside a callback',
      { ...callback, signed_receipt: { ...decision, ...receipt } },
      'receipt_unreadable',
    ],
    ['another payload around a request', { ...request, ...receipt }, 'receipt_unreadable'],
    ['another payload around a callback', { ...callback, canonical_payload: '{}' }, 'receipt_unreadable'],
    ['another payload in an answer', { ...answer, canonical_payload: '{}' }, 'receipt_unreadable'],
    ['a negative verify answer', { ...answer, valid: false }, 'receipt_unreadable'],
    ['a payload that is no text', { ...receipt, canonical_payload: 5 }, 'receipt_payload_malformed'],
    [
      'a payload with a lone surrogate',
      { ...receipt, canonical_payload: '"\ud800"' },
      'receipt_payload_malformed',
    ],
    ['a payload of 5 kB', { ...receipt, canonical_payload: 'x'.repeat(5000) }, 'receipt_payload_malformed'],
    [
      'an answer without a JSON payload',
      { ...answer, payload: { v: Number.NaN } },
      'receipt_payload_malformed',
    ],
    ['a missing signature', { ...receipt, signature: undefined }, 'receipt_signature_malformed'],
    [
      'a signature of 63 bytes',
      { ...receipt, signature: toBase64(new Uint8Array(63)) },
      'receipt_signature_malformed',
    ],
    ['no key at all', { ...answer, public_key: undefined }, 'receipt_key_missing'],
    ['a key id that is no text', { ...receipt, public_key_id: 5 }, 'receipt_key_mismatch'],
    [
      'a public key of 31 bytes',
      { ...answer, public_key: toBase64(new Uint8Array(31)) },
      'receipt_key_mismatch',
    ],
  ])('refuses %s', (_name, json, code) => {
    const expected = expect.objectContaining({ code, message: RECEIPT_ERRORS[code] })
    expect(() => parseReceiptInput(json)).toThrow(ReceiptError)
    expect(() => parseReceiptInput(json)).toThrow(expected)
    expect(verifyReceiptJson(json, pinned)).toStrictEqual({
      valid: false,
      code,
      message: RECEIPT_ERRORS[code],
    })
  })
})

describe('the key in a message is never trusted', () => {
  const forger = testKey('decision', 66)
  const forged = signPayload({ ...payload, decision: 'approved' }, forger)

  it('refuses an answer signed with a key of its own', () => {
    const json = { ...answer, signature: forged.signature, public_key: toBase64(forger.publicKey) }
    expect(verifyReceiptJson(json, pinned)).toMatchObject({ valid: false, code: 'receipt_key_unknown' })
  })

  it('refuses a foreign key under a pinned id', () => {
    const json = {
      ...answer,
      signature: forged.signature,
      public_key: toBase64(forger.publicKey),
      public_key_id: live.kid,
    }
    expect(verifyReceiptJson(json, pinned)).toMatchObject({ valid: false, code: 'receipt_key_mismatch' })
  })

  it('refuses the id of another pinned key', () => {
    expect(verifyReceiptJson({ ...receipt, public_key_id: other.kid }, pinned)).toMatchObject({
      valid: false,
      code: 'receipt_signature_invalid',
    })
  })
})

describe('fields around a receipt may not contradict it', () => {
  const rid = 'req_0000000000000000000000zzzz'
  const did = 'dec_0000000000000000000000zzzz'
  const later = '2026-06-01T12:00:01.000Z'
  it.each<[string, unknown, string]>([
    ['callback.request_id', { ...callback, request_id: rid }, 'request_id'],
    ['callback.decision', { ...callback, decision: 'rejected' }, 'decision'],
    ['callback.decided_at', { ...callback, decided_at: later }, 'decided_at'],
    ['callback.sandbox', { ...callback, sandbox: true }, 'sandbox'],
    ['callback.approver', { ...callback, approver: 'f'.repeat(16) }, 'approver'],
    ['callback.method', { ...callback, method: 'totp' }, 'method'],
    ['callback.decision_id', { ...callback, decision_id: did }, 'decision_id'],
    ['callback.expires_at', { ...callback, expires_at: later }, 'expires_at'],
    ['receipt.approver', { ...receipt, approver: 'f'.repeat(16) }, 'approver'],
    ['request.approver', { ...request, approver: 'f'.repeat(16) }, 'approver'],
    ['request.decision_id', { ...request, decision_id: did }, 'decision_id'],
    ['request.decided_at', { ...request, decided_at: later }, 'decided_at'],
    ['answer.approver', { ...answer, approver: 'f'.repeat(16) }, 'approver'],
    [
      'signed_receipt.decision_id',
      { ...callback, signed_receipt: { ...callback.signed_receipt, decision_id: did } },
      'decision_id',
    ],
    ['request.id', { ...request, id: rid }, 'id'],
    ['request.status', { ...request, status: 'rejected' }, 'status'],
    ['request.action', { ...request, action: `${action}.` }, 'action'],
    ['request.action that is no text', { ...request, action: [action] }, 'action'],
    ['request.action with a lone surrogate', { ...request, action: '\ud800' }, 'action'],
    ['request.expires_at', { ...request, expires_at: later }, 'expires_at'],
    ['request.expires_at that is no time', { ...request, expires_at: payload.exp }, 'expires_at'],
    ['decision.id', { ...decision, id: did }, 'id'],
    ['decision.decision', { ...decision, decision: 'rejected' }, 'decision'],
    ['decision.method', { ...decision, method: 'totp' }, 'method'],
    ['decision.decided_at', { ...decision, decided_at: 'yesterday' }, 'decided_at'],
    ['decision.decided_at, in no zone', { ...decision, decided_at: decided_at.slice(0, -1) }, 'decided_at'],
    [
      'decision.decided_at, in brackets',
      { ...decision, decided_at: `${DECIDED_AT.toUTCString()} (2099)` },
      'decided_at',
    ],
    ['answer.decision', { ...answer, decision: 'rejected' }, 'decision'],
    ['answer.decision null', { ...answer, decision: null }, 'decision'],
    ['answer.method', { ...answer, method: 'totp' }, 'method'],
    ['answer.request_id', { ...answer, request_id: rid }, 'request_id'],
    ['answer.sandbox', { ...answer, sandbox: true }, 'sandbox'],
  ])('refuses a false %s', (_name, json, field) => {
    const message =
      field === 'action'
        ? 'The action shown here is not the one that was signed.'
        : `The field “${field}” shown here is not what was signed.`
    expect(verifyReceiptJson(json, pinned)).toStrictEqual({
      valid: false,
      code: 'receipt_contradicts_payload',
      message,
      field,
    })
  })

  it('accepts the sandbox mark where it is true, and refuses its denial', () => {
    const signed_receipt = { decision_id: sandboxPayload.did, ...signPayload(sandboxPayload, sandbox) }
    const options = { allowSandbox: true }
    expect(verifyReceiptJson({ ...callback, sandbox: true, signed_receipt }, pinned, options)).toMatchObject({
      valid: true,
    })
    expect(verifyReceiptJson({ ...callback, sandbox: false, signed_receipt }, pinned, options)).toMatchObject(
      {
        code: 'receipt_contradicts_payload',
        field: 'sandbox',
      },
    )
  })

  it('refuses a genuine receipt of something else, when told what to expect', () => {
    expect(
      verifyReceiptJson(receipt, pinned, { expected: { rid: payload.rid, decision: 'approved' } }),
    ).toMatchObject({ valid: true })
    expect(verifyReceiptJson(receipt, pinned, { expected: { rid } })).toStrictEqual({
      valid: false,
      code: 'receipt_unexpected',
      message: RECEIPT_ERRORS.receipt_unexpected,
      field: 'rid',
    })
    expect(verifyReceiptJson(receipt, pinned, { expected: { decision: 'rejected' } })).toMatchObject({
      field: 'decision',
    })
  })
})
