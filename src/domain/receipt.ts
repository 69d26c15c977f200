import { isId } from './identifier.ts'

/** The decision that a person (or the sandbox) made on a request. */
export type Outcome = 'approved' | 'rejected'

/** How the decider proved presence. WebAuthn cannot tell a fingerprint from a PIN, so a biometric unlock is `passkey`. */
export type DecisionMethod = 'passkey' | 'totp' | 'sandbox'

/** Sentences that say why there is no receipt, by the code from `withoutReceipt`. */
export const NO_RECEIPT = {
  not_found: 'There is no such request; check the id.',
  pending: 'Nothing is signed yet; verify again after the decision.',
  pending_sandbox:
    'Nothing is signed yet: a dry run is decided when its status is read. Read it, then verify again.',
  cancelled: 'The request was withdrawn; there is nothing to verify.',
  expired: 'The request lapsed without a decision; there is nothing to verify.',
} as const

/** Returns the key into `NO_RECEIPT`. A pending dry run has its own: no person decides it, so the advice differs. */
export function withoutReceipt({ code, sandbox }: { code: string; sandbox?: boolean }): string {
  return code === 'pending' && sandbox === true ? 'pending_sandbox' : code
}

/**
 * Signed payload, format 1 (interface, "Signed payload"). Exactly these fields and no other: verifiers refuse extras.
 * Times are Unix seconds; `ts <= exp` always holds.
 */
export interface ReceiptPayload {
  v: 1
  rid: string
  did: string
  /** 16 hex characters, a keyed hash of the approver's user id; never an e-mail. */
  approver: string
  /** First 16 hex characters of SHA-256 over the UTF-8 action text. */
  action: string
  decision: Outcome
  method: DecisionMethod
  ts: number
  exp: number
  /** First 32 hex characters of SHA-256(JCS(intent)): commits to the full action and the context, unlike `action` alone. */
  nonce: string
  /** Present, and true, only on sandbox receipts; then `method` is `sandbox`. */
  sandbox?: true
}

/** Says how a text matches a receipt that covers all of it. Names the decision, so that no rejected text passes as approved. */
export function exactlyAs({ decision, sandbox }: Pick<ReceiptPayload, 'decision' | 'sandbox'>): string {
  return `exactly as ${sandbox ? 'in the dry run' : decision}`
}

/** A receipt as it is stored and handed out: the signed text, its signature and the key's id. */
export interface SignedReceipt {
  /** RFC 8785 text of the payload: the bytes that are signed, UTF-8. */
  canonical_payload: string
  /** Standard padded base64 of the 64-byte Ed25519 signature. */
  signature: string
  /** RFC 7638 thumbprint of the signing key. */
  public_key_id: string
}

/** The content of a payload, with times as dates. */
type ReceiptFacts = Omit<ReceiptPayload, 'v' | 'ts' | 'exp' | 'sandbox'> & {
  decidedAt: Date
  expiresAt: Date
}

/** Builds payload v1. @throws RangeError when the decision time is after the expiry: such a receipt must never exist. */
export function buildPayload({ decidedAt, expiresAt, ...said }: ReceiptFacts): ReceiptPayload {
  const ts = Math.floor(decidedAt.getTime() / 1000)
  const exp = Math.floor(expiresAt.getTime() / 1000)
  if (ts > exp) throw new RangeError('decision time is after the expiry')
  return { v: 1, ...said, ts, exp, ...(said.method === 'sandbox' ? { sandbox: true as const } : {}) }
}

type Check = (value: unknown) => boolean

const matches =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value)
const unixSeconds: Check = (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

/** Exact shape of every field of payload v1. */
const FIELDS: Record<Exclude<keyof ReceiptPayload, 'sandbox'>, Check> = {
  v: (value) => value === 1,
  rid: (value) => isId('req', value),
  did: (value) => isId('dec', value),
  approver: matches(/^[0-9a-f]{16}$/),
  action: matches(/^[0-9a-f]{16}$/),
  decision: matches(/^(?:approved|rejected)$/),
  method: matches(/^(?:passkey|totp|sandbox)$/),
  ts: unixSeconds,
  exp: unixSeconds,
  nonce: matches(/^[0-9a-f]{32}$/),
}

/**
 * Returns the first field that keeps a value from being payload v1. Undefined when the value has exactly the fields of
 * payload v1, and `sandbox: true` if and only if the method is `sandbox`.
 */
export function payloadProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'payload'
  const fields = new Map<string, unknown>(Object.entries(value))
  for (const [name, check] of Object.entries(FIELDS)) {
    if (!check(fields.get(name))) return name
  }
  const foreign = [...fields.keys()].find((name) => !Object.hasOwn(FIELDS, name) && name !== 'sandbox')
  if (foreign !== undefined) return foreign
  const marked = fields.has('sandbox')
  if (marked && fields.get('sandbox') !== true) return 'sandbox'
  return marked === (fields.get('method') === 'sandbox') ? undefined : 'sandbox'
}

/** Narrows a parsed value by `payloadProblem`. */
export function isReceiptPayload(value: unknown): value is ReceiptPayload {
  return payloadProblem(value) === undefined
}
