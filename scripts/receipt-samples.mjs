// What the vectors of receipts are made of: keys, statements and decisions, and the forms in which the service hands them out.
import { createHash } from 'node:crypto'

export const { canonicalize } = await import('../dist/src/signing/canonical.js')
const { newSigningKey } = await import('../dist/src/signing/keys.js')
const { signBytes } = await import('../dist/src/signing/sign.js')
const { toJwks } = await import('../dist/src/signing/jwks.js')

export const sha256 = (text) => createHash('sha256').update(text, 'utf8').digest('hex')
export const base64url = (text) => Buffer.from(text).toString('base64url')
export const id = (prefix, n) => `${prefix}_${String(n).padStart(26, '0')}`

const START = 1_767_225_600 // 2026-01-01T00:00:00Z
export const DECIDED = START + 13_000_000
export const ACTION = 'Refund €19.90 of order 4711'
export const CONTEXT = { order: '4711', amount: 19.9, lines: ['a', { b: null }] }
export const APPROVERS = ['aaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbb', 'cccccccccccccccc']
export const NOW = '2026-07-01T00:00:00.000Z'
export const iso = (seconds) => new Date(seconds * 1000).toISOString()

const at = (seconds) => new Date(seconds * 1000)
const key = (fill, changes = {}) => ({
  ...newSigningKey({
    purpose: 'decision',
    seed: new Uint8Array(32).fill(fill),
    createdAt: at(START),
    notBefore: at(START),
    ...changes,
  }),
})
export const live = key(1)
export const sandbox = key(2, { purpose: 'decision-sandbox' })
export const expired = { ...key(3), notAfter: at(DECIDED - 10) }
export const revoked = { ...key(4), revokedAt: at(DECIDED) }
export const later = { ...key(5), revokedAt: at(DECIDED + 10) }
export const young = key(6, { notBefore: at(DECIDED + 10) })
export const unknown = key(7)
const pinned = [live, sandbox, expired, revoked, later, young]
const restore = (copied, restored) => ({
  copied_at: at(DECIDED + copied),
  restored_at: at(DECIDED + restored),
})
export const fresh = key(8, { notBefore: at(DECIDED - 50) })
export const keySets = {
  pinned: toJwks(pinned),
  restored_later: toJwks([live], [restore(-10, 20)]),
  copied_later: toJwks([live], [restore(100, 200)]),
  restored_before: toJwks([fresh], [restore(-200, -60)]),
  restored_in_between: toJwks([fresh], [restore(-200, -50)]),
}

export const payload = {
  v: 1,
  rid: id('req', 1),
  did: id('dec', 2),
  approver: APPROVERS[0],
  action: sha256(ACTION).slice(0, 16),
  decision: 'approved',
  method: 'passkey',
  ts: DECIDED,
  exp: DECIDED + 3600,
}
export const intentV1 = {
  typ: 'human-approval/intent/v1',
  aud: 'https://approve.example',
  action: ACTION,
  context_sha256: sha256(canonicalize(CONTEXT)),
  request_created_at: iso(DECIDED - 60),
  high_impact: false,
  salt: 'A'.repeat(43),
}
export const intentV2 = {
  ...intentV1,
  typ: 'human-approval/intent/v2',
  requester: { key: id('key', 3), name: 'support agent', account: id('acc', 4) },
  policy_sha256: 'c0'.repeat(32),
  quorum: 1,
  audience: 'https://payments.example',
  reversibility: 'irreversible',
}
export const intentV3 = { ...intentV2, typ: 'human-approval/intent/v3', use_within_seconds: 600 }
export const intentV4 = {
  ...intentV2,
  typ: 'human-approval/intent/v4',
  attachments: [{ name: 'plan.txt', kind: 'text', sha256: 'a1'.repeat(32), bytes: 9000, opened: true }],
}

/** A decision as the service hands it out. `raw` signs these bytes in place of the payload's. */
export function decide({ intent = intentV2, by = live, raw, ...changes } = {}) {
  const said = { ...payload, ...changes }
  const text = canonicalize({
    rid: said.rid,
    decision: said.decision,
    approver: said.approver,
    exp: said.exp,
    ...intent,
  })
  const whole = { ...said, nonce: said.nonce ?? sha256(text).slice(0, 32) }
  const bytes = raw?.(whole) ?? canonicalize(whole)
  return {
    id: said.did,
    decision: said.decision,
    approver: said.approver,
    method: said.method,
    decided_at: iso(Number(said.ts)),
    signed_payload: Buffer.from(bytes).toString('base64url'),
    signature: Buffer.from(signBytes(Buffer.from(bytes), by)).toString('base64'),
    public_key_id: by.kid,
    intent: text,
  }
}
export const bare = ({ signed_payload, signature, public_key_id }) => ({
  signed_payload,
  signature,
  public_key_id,
})
export const receiptOf = ({ signed_payload, signature, public_key_id }) => ({
  canonical_payload: Buffer.from(signed_payload, 'base64url').toString(),
  signature,
  public_key_id,
})
export const answer = (decision = decide(), changes = {}) => ({
  id: payload.rid,
  status: decision.decision,
  action: ACTION,
  context: CONTEXT,
  created_at: intentV1.request_created_at,
  expires_at: iso(payload.exp),
  decision,
  ...changes,
})
export const forms = {
  'the answer to a get': (decision) => answer(decision),
  'a webhook event': (decision) => ({
    id: id('evt', 9),
    type: `approval.${decision.decision}`,
    created_at: NOW,
    data: answer(decision),
  }),
  'the decision alone': (decision) => decision,
  'a callback': (decision) => ({
    request_id: payload.rid,
    decision_id: decision.id,
    decision: decision.decision,
    signed_receipt: receiptOf(decision),
  }),
  'a signed receipt alone': (decision) => receiptOf(decision),
  'the answer to a verify': (decision) => ({
    valid: true,
    payload: JSON.parse(receiptOf(decision).canonical_payload),
    signature: decision.signature,
    public_key_id: decision.public_key_id,
  }),
}
