import { fromBase64, fromBase64Url } from './base64.ts'
import { canonicalize, LONE_SURROGATE } from './canonical.ts'
import { ReceiptError } from './receipt-error.ts'

/** The signed field that a claim around the receipt is compared with: one of the payload or one that only the intent has. */
export type ClaimField =
  | StatedField
  | 'rid'
  | 'did'
  | 'approver'
  | 'decision'
  | 'method'
  | 'ts'
  | 'exp'
  | 'sandbox'
  | 'action'

/** Fields that only the intent has. */
export type StatedField =
  | 'delegate'
  | 'created_at'
  | 'high_impact'
  | 'audience'
  | 'reversibility'
  | 'use_within_seconds'
  | 'requester'

/** One unsigned claim made around the receipt; `name` is its field name there. */
export interface ReceiptClaim {
  name: string
  field: ClaimField
  value: unknown
}

/** A receipt copied out of the JSON that carried it; nothing in it is trusted yet. */
export interface ReceiptInput {
  /** The bytes that the signature allegedly covers. */
  payload: Uint8Array
  signature: Uint8Array
  kid?: string
  /** Used only to find the key in the pinned set. */
  publicKey?: Uint8Array
  claims: ReceiptClaim[]
  /** Names of further fields around the receipt, which are compared with nothing. */
  unread: string[]
  /** RFC 8785 text of the intent, if a decision carries it; it opens the commitment `nonce`. */
  intent?: string
  /** RFC 8785 text of the context shown next to the decision. */
  context?: string
  /** An action or a context stands next to the receipt, whether or not this form of receipt binds them to it. */
  namesContent?: true
}

type Fields = ReadonlyMap<string, unknown>
type ClaimTable = Readonly<Record<string, ClaimField>>

/** The payload fields that these names claim next to a receipt of any form. */
const CLAIMS: ClaimTable = {
  request_id: 'rid',
  decision_id: 'did',
  approver: 'approver',
  delegate: 'delegate',
  high_impact: 'high_impact',
  audience: 'audience',
  reversibility: 'reversibility',
  use_within_seconds: 'use_within_seconds',
  requested_by: 'requester',
  requester: 'requester',
  decision: 'decision',
  method: 'method',
  decided_at: 'ts',
  expires_at: 'exp',
  sandbox: 'sandbox',
  type: 'decision',
}
const DECISION_CLAIMS: ClaimTable = { ...CLAIMS, id: 'did', action: 'action' }
const VERIFY_CLAIMS: ClaimTable = { ...CLAIMS, id: 'rid' }
const REQUEST_CLAIMS: ClaimTable = {
  ...DECISION_CLAIMS,
  id: 'rid',
  status: 'decision',
  created_at: 'created_at',
}

/** The names by which the service's answers and the intent call what is signed of the requester. */
export const REQUESTER = { key: 'key', name: 'name', key_name: 'name', account: 'account' } as const

/** A payload of format 1 has fewer than 400 bytes; a larger one than this is never hashed for a stranger. */
const MAX_PAYLOAD_BYTES = 4096

/** Fields that are the receipt itself, or are judged apart from claims; `metadata` is the context in the answer to a creation. */
const READ = new Set([
  ...['signed_payload', 'canonical_payload', 'payload', 'signature', 'public_key_id', 'public_key'],
  ...['signed_receipt', 'decision', 'votes', 'valid', 'action', 'context', 'metadata'],
])

/**
 * Extracts a receipt from a callback body or its `signed_receipt`, a `GET /approvals/:id` body or its `decision`, or a
 * `GET /verify` answer. Reads every field only once.
 * @throws ReceiptError `receipt_unreadable`, `receipt_payload_malformed`, `receipt_signature_malformed`,
 * `receipt_key_missing` or `receipt_key_mismatch`.
 */
export function parseReceiptInput(json: unknown): ReceiptInput {
  const given = fieldsOf(json)
  if (given === undefined) throw new ReceiptError('receipt_unreadable')
  const erased = given.has('erased_at')
  const outer = erased ? withoutContent(given) : given
  const parts = [outer, fieldsOf(outer.get('signed_receipt')), fieldsOf(outer.get('decision'))]
  const named = parts.some((part) => ['action', 'context', 'metadata'].some((name) => part?.has(name)))
  return { ...readForm(outer), ...(named || erased ? { namesContent: true } : {}) }
}

/**
 * Leaves out what stands in place of erased texts. Whoever adds the mark to another answer gains nothing: the receipt then proves
 * no content.
 */
function withoutContent(fields: Fields): Fields {
  const words = ['action', 'context', 'metadata', 'requested_by', 'requester']
  return new Map([...fields].filter(([name]) => !words.includes(name)))
}

function readForm(outer: Fields): ReceiptInput {
  const receipt = fieldsOf(outer.get('signed_receipt'))
  const decision = fieldsOf(outer.get('decision'))
  const answer = fieldsOf(outer.get('payload'))
  const whole = [receipt, decision, answer].filter((part) => part !== undefined)
  const found = whole.length + [outer, ...whole].flatMap(payloadsIn).length
  // The first two forms wrap a single payload field; of several payloads, a reader could use another than the one checked.
  if (found > (receipt || decision ? 2 : 1)) throw new ReceiptError('receipt_unreadable')
  if (receipt) return fromReceipt(receipt, readAround(outer, CLAIMS))
  if (decision)
    return { ...fromDecision(decision, readAround(outer, REQUEST_CLAIMS)), ...contextOf(outer, decision) }
  if (answer) return fromVerifyAnswer(outer)
  if (outer.has('canonical_payload')) return fromReceipt(outer)
  if (outer.has('signed_payload')) return { ...fromDecision(outer), ...contextOf(outer) }
  throw new ReceiptError(isUndecided(outer) ? 'receipt_not_decided' : 'receipt_unreadable')
}

function payloadsIn(part: Fields): string[] {
  return ['canonical_payload', 'signed_payload'].filter((name) => part.has(name))
}

/** Checks whether this is the body of a request without a decision (yet). */
function isUndecided(outer: Fields): boolean {
  return ['pending', 'expired'].some((status) => outer.get('status') === status)
}

/** Reads the context, by either name, next to the decision or inside it; two that differ cannot both have been decided on. */
function contextOf(...parts: Fields[]): { context?: string } {
  const contexts = parts
    .flatMap((part) => [part.get('context'), part.get('metadata')])
    .filter((context) => context !== undefined)
  const [context, ...more] = contexts.map((value) => attempt('receipt_unreadable', () => canonicalize(value)))
  if (more.some((other) => other !== context)) throw new ReceiptError('receipt_unreadable')
  return context === undefined ? {} : { context }
}

/** What stands around a receipt, in one object or several. */
type Around = Pick<ReceiptInput, 'claims' | 'unread'>

function fromReceipt(fields: Fields, outer?: Around): ReceiptInput {
  return assemble(fields, utf8(fields.get('canonical_payload')), [outer, readAround(fields, CLAIMS)])
}

function fromDecision(fields: Fields, outer?: Around): ReceiptInput {
  const payload = attempt('receipt_payload_malformed', () =>
    fromBase64Url(text(fields.get('signed_payload'))),
  )
  const intent = fields.get('intent')
  const own = readAround(fields, DECISION_CLAIMS)
  const unread = own.unread.filter((name) => name !== 'intent')
  const input = assemble(fields, payload, [outer, { ...own, unread }])
  return intent === undefined
    ? input
    : { ...input, intent: attempt('receipt_intent_mismatch', () => text(intent)) }
}

function fromVerifyAnswer(fields: Fields): ReceiptInput {
  // `valid: true` proves nothing (an attacker can write it too), but an answer that says it is invalid is no receipt.
  if (fields.get('valid') === false) throw new ReceiptError('receipt_unreadable')
  const payload = attempt('receipt_payload_malformed', () => canonicalize(fields.get('payload')))
  return assemble(fields, utf8(payload), [readAround(fields, VERIFY_CLAIMS)])
}

function assemble(fields: Fields, payload: Uint8Array, around: (Around | undefined)[]): ReceiptInput {
  if (payload.length > MAX_PAYLOAD_BYTES) throw new ReceiptError('receipt_payload_malformed')
  const signature = attempt('receipt_signature_malformed', () =>
    sized(fromBase64(text(fields.get('signature'))), 64),
  )
  const kid = fields.get('public_key_id')
  const raw = fields.get('public_key')
  if (kid === undefined && raw === undefined) throw new ReceiptError('receipt_key_missing')
  const publicKey =
    raw === undefined ? undefined : attempt('receipt_key_mismatch', () => sized(fromBase64(text(raw)), 32))
  return {
    payload,
    signature,
    ...(kid === undefined ? {} : { kid: attempt('receipt_key_mismatch', () => text(kid)) }),
    ...(publicKey === undefined ? {} : { publicKey }),
    claims: around.flatMap((part) => part?.claims ?? []),
    unread: around.flatMap((part) => part?.unread ?? []),
  }
}

/** Splits the fields of an object into claims, and those without a signed counterpart. Null claims nothing. */
function readAround(fields: Fields, table: ClaimTable): Around {
  const claims = claimsOf(fields, table)
  const read = new Set([...READ, ...claims.map(({ name }) => name)])
  const unread = [...fields].filter(([name, value]) => !read.has(name) && (value ?? null) !== null)
  const askers = claims.filter(({ field }) => field === 'requester')
  const inside = askers.flatMap(({ name, value }) =>
    [...(fieldsOf(value)?.keys() ?? [])]
      .filter((part) => !Object.hasOwn(REQUESTER, part))
      .map((part) => `${name}.${part}`),
  )
  return { claims, unread: [...unread.map(([name]) => name), ...inside] }
}

function claimsOf(fields: Fields, table: ClaimTable): ReceiptClaim[] {
  return Object.entries(table).flatMap(([name, field]) => {
    const value = name === 'type' ? outcomeOf(fields.get(name)) : fields.get(name)
    return value === undefined || (name === 'decision' && fieldsOf(value)) ? [] : [{ name, field, value }]
  })
}

/** Returns the outcome that the type of a webhook's event names; no other `type` claims anything about a receipt. */
function outcomeOf(type: unknown): string | undefined {
  return typeof type === 'string' && type.startsWith('approval.') ? type.slice('approval.'.length) : undefined
}

/** Reads each own field of a JSON object once; undefined for anything else. */
function fieldsOf(value: unknown): Fields | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return new Map(Object.entries(value))
}

function utf8(value: unknown): Uint8Array {
  // TextEncoder would turn a lone surrogate into U+FFFD: a second spelling of other bytes.
  if (typeof value !== 'string' || LONE_SURROGATE.test(value))
    throw new ReceiptError('receipt_payload_malformed')
  return new TextEncoder().encode(value)
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('not a text')
  return value
}

function sized(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length !== length) throw new RangeError(`not ${length} bytes`)
  return bytes
}

function attempt<T>(code: ConstructorParameters<typeof ReceiptError>[0], read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw new ReceiptError(code, { cause })
  }
}
