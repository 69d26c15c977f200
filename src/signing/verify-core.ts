import type { ReceiptPayload } from '../domain/receipt.ts'
import { canonicalize } from './canonical.ts'
import { keyProblemAt, type VerificationKey } from './key-record.ts'
import { type ReceiptRefusal, refuse } from './receipt-error.ts'
import type { ReceiptClaim, ReceiptInput } from './receipt-input.ts'
import { isReceiptPayload, payloadProblem } from './receipt-payload.ts'
import { openStatement } from './statement.ts'

/** Fields a particular receipt must have; the whole payload may be given. */
export type ExpectedPayload = Partial<ReceiptPayload>

export interface VerifyOptions {
  /** Accept sandbox receipts (tests only). Default false. */
  allowSandbox?: boolean | undefined
  /** Refuse decision times more than 300 s after this. Without it the future is not judged. */
  now?: Date | undefined
  /** What this receipt must say, for whoever knows what was asked. */
  expected?: ExpectedPayload | undefined
}

/** A receipt that passed every check. */
export interface VerifiedReceipt {
  valid: true
  payload: ReceiptPayload
  kid: string
  sandbox: boolean
  /**
   * How far the action and context next to the receipt were checked: `full` against the intent the nonce commits to,
   * `hash` by the payload's 64 bits alone, `none` when they were not there or there was no intent to check them by.
   */
  checked: { action: 'full' | 'hash' | 'none'; context: 'full' | 'none' }
  /** The key was revoked later. `ts` is the signer's own word, so a thief could have back-dated it: look for other evidence. */
  keyRevokedAt?: Date
}

export type VerifyResult = VerifiedReceipt | ReceiptRefusal

/** What to check the signature of. No field of the payload is readable yet. */
export interface LocatedReceipt {
  located: true
  input: ReceiptInput
  key: VerificationKey
}

/** Seconds by which another clock may run ahead. */
const CLOCK_LEEWAY = 300

/**
 * Step 1: finds the key in the pinned set, by id or by the key's own bytes. The key in a message is never used itself:
 * whoever writes the message would choose it.
 */
export function locateKey(
  input: ReceiptInput,
  keys: readonly VerificationKey[],
): LocatedReceipt | ReceiptRefusal {
  const { kid, publicKey } = input
  if (kid === undefined && publicKey === undefined) return refuse('receipt_key_missing')
  const key = keys.find((candidate) =>
    kid === undefined
      ? publicKey !== undefined && sameBytes(candidate.publicKey, publicKey)
      : candidate.kid === kid,
  )
  if (!key) return refuse('receipt_key_unknown')
  if (publicKey && !sameBytes(key.publicKey, publicKey)) return refuse('receipt_key_mismatch')
  return { located: true, input, key }
}

/**
 * Step 3, after the signature was checked (`signatureValid`): judges what was signed, in a fixed order. Pure, so the
 * browser page and the server give one verdict. `sha256Hex` hashes a text's UTF-8 bytes.
 */
export function judgeReceipt(
  receipt: LocatedReceipt,
  signatureValid: boolean,
  sha256Hex: (text: string) => string,
  options: VerifyOptions = {},
): VerifyResult {
  if (!signatureValid) return refuse('receipt_signature_invalid')
  const payload = readCanonical(receipt.input.payload)
  if (payload === undefined) return refuse('receipt_payload_not_canonical')
  if (versionOf(payload) !== 1) return refuse('receipt_version_unsupported', 'v')
  if (!isReceiptPayload(payload)) return refuse('receipt_payload_invalid', payloadProblem(payload))
  const refused =
    judgeKey(payload, receipt.key) ?? judgeContext(payload, receipt.input.claims, sha256Hex, options)
  if (refused !== undefined) return refused
  const checked = judgeStatement(payload, receipt.input, sha256Hex)
  if ('code' in checked) return checked
  return {
    valid: true,
    payload,
    kid: receipt.key.kid,
    sandbox: payload.sandbox === true,
    checked,
    ...(receipt.key.revokedAt && { keyRevokedAt: receipt.key.revokedAt }),
  }
}

/** Checks action and context by the intent, where there is one: 64 bits of the action alone can be collided (T69). */
function judgeStatement(
  payload: ReceiptPayload,
  { intent, context, claims }: ReceiptInput,
  sha256Hex: (text: string) => string,
): VerifiedReceipt['checked'] | ReceiptRefusal {
  const action = claims.find(({ field }) => field === 'action')
  if (intent === undefined) return { action: action === undefined ? 'none' : 'hash', context: 'none' }
  const statement = openStatement(payload, intent, sha256Hex)
  if (statement === undefined) return refuse('receipt_intent_mismatch', 'intent')
  if (action !== undefined && action.value !== statement.action)
    return refuse('receipt_contradicts_payload', action.name)
  if (context !== undefined && sha256Hex(context) !== statement.context_sha256)
    return refuse('receipt_contradicts_payload', 'context')
  return { action: action === undefined ? 'none' : 'full', context: context === undefined ? 'none' : 'full' }
}

function judgeKey(payload: ReceiptPayload, key: VerificationKey): ReceiptRefusal | undefined {
  if (payload.ts > payload.exp) return refuse('receipt_time_invalid', 'ts')
  if (key.purpose !== (payload.sandbox ? 'decision-sandbox' : 'decision'))
    return refuse('receipt_key_purpose_mismatch')
  const problem = keyProblemAt(key, payload.ts)
  return problem && refuse(problem, 'ts')
}

function judgeContext(
  payload: ReceiptPayload,
  claims: readonly ReceiptClaim[],
  sha256Hex: (text: string) => string,
  options: VerifyOptions,
): ReceiptRefusal | undefined {
  if (payload.sandbox && options.allowSandbox !== true) return refuse('receipt_sandbox_refused', 'sandbox')
  const lie = claims.find((claim) => !agrees(claim, payload, sha256Hex))
  if (lie) return refuse('receipt_contradicts_payload', lie.name)
  const signed = new Map<string, unknown>(Object.entries(payload))
  const other = Object.entries(options.expected ?? {}).find(([name, value]) => signed.get(name) !== value)
  if (other) return refuse('receipt_unexpected', other[0])
  const latest = options.now && options.now.getTime() / 1000 + CLOCK_LEEWAY
  return latest !== undefined && !(payload.ts <= latest) ? refuse('receipt_from_future', 'ts') : undefined
}

function agrees(claim: ReceiptClaim, payload: ReceiptPayload, sha256Hex: (text: string) => string): boolean {
  const { field, value } = claim
  switch (field) {
    case 'ts':
    case 'exp':
      return typeof value === 'string' && Math.floor(Date.parse(value) / 1000) === payload[field]
    case 'sandbox':
      return value === (payload.sandbox === true)
    case 'action':
      return (
        typeof value === 'string' &&
        !/\p{Surrogate}/u.test(value) &&
        sha256Hex(value).slice(0, 16) === payload.action
      )
    default:
      return value === payload[field]
  }
}

/** The parsed value if the bytes are exactly its RFC 8785 text, so that one statement has one spelling. */
function readCanonical(bytes: Uint8Array): unknown {
  try {
    // ignoreBOM keeps a leading U+FEFF in the text, where it fails; the default would swallow it.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const value: unknown = JSON.parse(text)
    return canonicalize(value) === text ? value : undefined
  } catch {
    return undefined
  }
}

function versionOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'v' in value ? value.v : undefined
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index])
}
