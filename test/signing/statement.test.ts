import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { toBase64Url } from '../../src/signing/base64.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import { actionHash } from '../../src/signing/commitment.ts'
import { RECEIPT_ERRORS } from '../../src/signing/receipt-error.ts'
import { signPayload } from '../../src/signing/sign.ts'
import type { VerifyResult } from '../../src/signing/verify-core.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { intent, intentV2, intentV3, intentV4, livePayload, testKey, vectors } from './fixtures.ts'

const key = testKey('decision')
const context = { tool_arguments: { version: '4.2', dry_run: false } }
const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex')

/** The body of a decided request, as the service answers it to its caller. */
function decidedBody(action = intent.action, stated: object = intent) {
  const statement = canonicalize({ ...stated, action, context_sha256: sha256(canonicalize(context)) })
  const payload = { ...livePayload, action: actionHash(action), nonce: sha256(statement).slice(0, 32) }
  const { canonical_payload, signature, public_key_id } = signPayload(payload, key)
  const signed_payload = toBase64Url(Buffer.from(canonical_payload, 'utf8'))
  const decision = {
    id: payload.did,
    decision: 'approved',
    method: 'passkey',
    signed_payload,
    signature,
    public_key_id,
    intent: statement,
  }
  return { id: payload.rid, status: 'approved', action, context, decision }
}

function verify(body: unknown): VerifyResult {
  return verifyReceiptJson(body, [key])
}

function refusal(code: keyof typeof RECEIPT_ERRORS, field?: string) {
  const differs = code === 'receipt_contradicts_payload'
  const message =
    differs && field === 'action'
      ? 'The action shown here is not the one that was signed.'
      : differs && field === 'context'
        ? 'The details (context) shown here are not those that were signed.'
        : differs
          ? `The field “${field}” shown here is not what was signed.`
          : RECEIPT_ERRORS[code]
  return { valid: false, code, message, ...(field === undefined ? {} : { field }) }
}

describe('the intent next to a receipt', () => {
  it('binds the exact action and the exact context', () => {
    expect(verify(decidedBody())).toMatchObject({ valid: true, checked: { action: 'full', context: 'full' } })
  })

  it('tells what version 2 adds, and nothing of version 1', () => {
    const { requester, policy_sha256, quorum, audience, reversibility } = intentV2
    expect(verify(decidedBody(undefined, intentV2))).toMatchObject({
      valid: true,
      checked: { action: 'full', context: 'full' },
      stated: { requester, policy_sha256, quorum, audience, reversibility },
    })
    expect(verify(decidedBody())).not.toHaveProperty('stated')
  })

  it('is no statement of a decision under another tag, whatever the nonce commits to', () => {
    for (const typ of ['human-approval/batch/v1', 'human-approval/intent/v5', undefined])
      expect(verify(decidedBody(undefined, { ...intentV2, typ: typ ?? null }))).toEqual(
        refusal('receipt_intent_mismatch', 'intent'),
      )
  })

  it('says in version 3, and only there, how long the approval can be used', () => {
    const { typ: _, salt: _salt, ...said } = intentV3
    const stated = { use_within_seconds: 600, quorum: said.quorum }
    expect(verify(decidedBody(undefined, intentV3))).toMatchObject({ valid: true, stated })
    for (const other of [
      { ...intentV3, intentV4, typ: 'human-approval/intent/v2' },
      { ...intentV2, typ: 'human-approval/intent/v3' },
      ...[0, -1, 1.5, '600', null].map((use_within_seconds) => ({
        ...intentV3,
        intentV4,
        use_within_seconds,
      })),
    ])
      expect(verify(decidedBody(undefined, other)), JSON.stringify(other)).toEqual(
        refusal('receipt_intent_mismatch', 'intent'),
      )
    const body = decidedBody(undefined, intentV3)
    expect(verify({ ...body, use_within_seconds: 600 })).toMatchObject({ valid: true })
    expect(verify({ ...body, use_within_seconds: 601 })).toEqual(
      refusal('receipt_contradicts_payload', 'use_within_seconds'),
    )
  })

  it('says in version 4, and only there, what was attached', () => {
    const { attachments = [], use_within_seconds: _, ...lasting } = intentV4
    for (const intent of [intentV4, { ...lasting, attachments }])
      expect(verify(decidedBody(undefined, intent))).toMatchObject({ valid: true, stated: { attachments } })
    const [one] = attachments
    const lists = [
      [],
      null,
      'x',
      [null],
      ...[{ name: 1 }, { sha256: 'A1'.repeat(32) }, { bytes: '3' }, { opened: 'true' }, { base: 1 }].map(
        (part) => [{ ...one, ...part }],
      ),
    ]
    for (const other of [
      lasting,
      ...['v2', 'v3'].map((version) => ({ ...intentV4, typ: `human-approval/intent/${version}` })),
      ...lists.map((attachments) => ({ ...intentV4, attachments })),
    ])
      expect(verify(decidedBody(undefined, other)), JSON.stringify(other)).toEqual(
        refusal('receipt_intent_mismatch', 'intent'),
      )
  })

  it('T16: exposes another context, down to one value or one added key', () => {
    const body = decidedBody()
    const changed = [
      { tool_arguments: { version: '9.9', dry_run: false } },
      { tool_arguments: { version: '4.2', dry_run: 'false' } },
      { ...context, note: '' },
      {},
    ]
    for (const other of changed)
      expect(verify({ ...body, context: other })).toEqual(refusal('receipt_contradicts_payload', 'context'))
  })

  it('binds action and context also where they stand inside the decision, or next to it alone', () => {
    const body = decidedBody()
    const { decision, action } = body
    expect(verify({ ...decision, action, context })).toMatchObject({
      valid: true,
      checked: { action: 'full', context: 'full' },
    })
    for (const [field, lie] of [
      ['action', { action: 'Something else' }],
      ['context', { context: {} }],
      ['request_id', { request_id: `req_${'0'.repeat(26)}` }],
      ['expires_at', { expires_at: '2020-01-01T00:00:00.000Z' }],
      ['delegate', { delegate: 'f'.repeat(16) }],
    ] as const) {
      const refused = refusal('receipt_contradicts_payload', field)
      expect(verify({ ...decision, ...lie })).toEqual(refused)
      const inside = verify({ ...body, decision: { ...decision, ...lie } })
      expect(inside).toEqual(field === 'context' ? refusal('receipt_unreadable') : refused)
    }
  })

  const { requester, audience, reversibility } = intentV2
  const asked = { key_name: requester.name, account_name: 'Ops', key: requester.key }
  it.each<[field: string, lies: unknown[], truths: unknown[], unsigned?: string[]]>([
    ['audience', ['casino', '', null, 5, [audience]], [audience]],
    ['reversibility', ['reversible', null, 0], [reversibility]],
    ['high_impact', [true, 'false', null, 0], [false]],
    ['requester', [{ ...requester, account: 'acc_x' }, { key: 'key_x' }, [], null], [requester, {}]],
    [
      'requested_by',
      ['billing', { ...asked, key_name: 'billing' }, { ...asked, key: 'key_x' }, { name: null }, null, 5],
      [asked],
      ['requested_by.account_name'],
    ],
    ['requested_by', [`${requester.name} `], [requester.name]],
    ['metadata', [{}, { ...context, note: '' }, 'x', null], [context]],
  ])('holds %s to it, around the decision and inside', (field, lies, truths, unsigned) => {
    const { context: _apart, ...body } = decidedBody(undefined, intentV2)
    const forms = (value: unknown) => [
      { ...body, [field]: value },
      { ...body, decision: { ...body.decision, [field]: value } },
    ]
    const refused = refusal('receipt_contradicts_payload', field === 'metadata' ? 'context' : field)
    for (const lie of lies.flatMap(forms)) expect(verify(lie)).toEqual(refused)
    for (const truth of truths.flatMap(forms)) {
      const result = verify(truth)
      expect(result).toMatchObject({ valid: true })
      expect(Object(result).unsignedFields).toEqual(unsigned)
    }
  })

  it('refuses a context that differs from the metadata beside it', () => {
    const body = decidedBody()
    expect(verify({ ...body, metadata: context })).toMatchObject({ checked: { context: 'full' } })
    expect(verify({ ...body, metadata: {} })).toEqual(refusal('receipt_unreadable'))
  })

  it('names what nothing signed was compared with', () => {
    const body = decidedBody()
    const said = { audience, reversibility, requested_by: asked, high_impact: false }
    // Version 1 states none of these but high impact.
    expect(verify({ ...body, ...said, note: 'x', comment: null })).toMatchObject({
      valid: true,
      unsignedFields: ['audience', 'reversibility', 'requested_by', 'note', 'requested_by.account_name'],
    })
    const { intent: _gone, ...decision } = body.decision
    const bare = {
      ...body,
      decision,
      ...said,
      delegate: 'f'.repeat(16),
      created_at: '2026-06-01T11:59:00.000Z',
    }
    expect(verify(bare)).toMatchObject({
      valid: true,
      unproven: true,
      unsignedFields: [
        ...['delegate', 'high_impact', 'audience', 'reversibility', 'requested_by', 'created_at'],
        'requested_by.account_name',
      ],
    })
    expect(verify({ ...decision, metadata: context })).toMatchObject({ valid: true, unproven: true })
    expect(verify({ ...decision, intent: body.decision.intent })).not.toHaveProperty('unsignedFields')
  })

  it('does not mind the order of keys', () => {
    const reordered = { tool_arguments: { dry_run: false, version: '4.2' } }
    expect(verify({ ...decidedBody(), context: reordered })).toMatchObject({
      valid: true,
      checked: { context: 'full' },
    })
  })

  it('T69: tells the two texts with one 64-bit hash apart', () => {
    const { a, b } = vectors<{ a: string; b: string }>('action-hash/collision16.json')
    const body = decidedBody(a)
    expect(verify({ ...body, action: b })).toEqual(refusal('receipt_contradicts_payload', 'action'))
    expect(verify({ ...body, decision: { ...body.decision, action: b } })).toEqual(
      refusal('receipt_contradicts_payload', 'action'),
    )
    const { intent: _gone, ...bare } = body.decision
    expect(verify({ ...body, action: b, decision: bare })).toMatchObject({
      valid: true,
      checked: { action: 'hash', context: 'none' },
    })
  })

  it('is refused when it is not the one that was signed, in any byte', () => {
    const body = decidedBody()
    const text = body.decision.intent
    const others = [`${text} `, text.replace('Pay', 'pay'), '', '{}', text.slice(0, -1), 12, ['x']]
    for (const other of others) {
      expect(verify({ ...body, decision: { ...body.decision, intent: other } })).toEqual(
        typeof other === 'string'
          ? refusal('receipt_intent_mismatch', 'intent')
          : refusal('receipt_intent_mismatch'),
      )
    }
  })

  it('is refused when it states another request, outcome, approver or expiry than the payload', () => {
    for (const lie of [
      { rid: 'req_x' },
      { decision: 'rejected' },
      { approver: 'f'.repeat(16) },
      { exp: 1 },
    ]) {
      const statement = canonicalize({ ...intent, ...lie })
      const { canonical_payload, ...signed } = signPayload(
        { ...livePayload, nonce: sha256(statement).slice(0, 32) },
        key,
      )
      const signed_payload = toBase64Url(Buffer.from(canonical_payload, 'utf8'))
      expect(verify({ id: livePayload.did, signed_payload, ...signed, intent: statement })).toEqual(
        refusal('receipt_intent_mismatch', 'intent'),
      )
    }
  })

  it('may be missing: then only what the payload itself holds was checked, and the answer says so', () => {
    const body = decidedBody()
    const { intent: _gone, ...decision } = body.decision
    expect(verify({ ...body, decision })).toMatchObject({
      valid: true,
      checked: { action: 'hash', context: 'none' },
    })
    expect(verify(decision)).toMatchObject({ valid: true, checked: { action: 'none', context: 'none' } })
  })
})

describe('a request without a decision', () => {
  it('is called undecided, not unreadable', () => {
    for (const status of ['pending', 'expired']) {
      expect(verify({ id: livePayload.rid, status, action: 'x' })).toEqual(refusal('receipt_not_decided'))
    }
    expect(verify({ id: livePayload.rid, status: 'approved' })).toEqual(refusal('receipt_unreadable'))
  })
})
