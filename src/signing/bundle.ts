import { BUNDLE_FORMAT, type Bundle, type BundledVote } from '../domain/bundle.ts'
import type { SignedReceipt } from '../domain/receipt.ts'
import { CanonicalError, canonicalize, LONE_SURROGATE, parseCanonical } from './canonical.ts'

/** Members of each object: those it must have, and those it may have. */
const SHAPES = {
  receipt: [['did', 'ts', 'signature', 'public_key_id'], []],
  passkey: [
    ['key', 'authenticator_data', 'signature'],
    ['client_data', 'batch'],
  ],
  totp: [['checked_by'], []],
  log: [['record', 'proof'], []],
  enrolment: [['record', 'subject', 'proof'], []],
  subject: [['aaguid', 'approver', 'attestation', 'credential_id', 'public_key'], []],
  vote: [
    ['receipt', 'intent'],
    ['passkey', 'totp', 'enrolment'],
  ],
  bundle: [
    ['format', 'receipt', 'intent'],
    ['passkey', 'totp', 'enrolment', 'context', 'votes', 'log'],
  ],
} as const satisfies Record<string, readonly [readonly string[], readonly string[]]>

/** More votes than a request can have. */
const MOST_VOTES = 100

/**
 * Reads a bundle. Every object is closed, and a text must be exactly the RFC 8785 form of the bundle, so that no byte in it is
 * read by nobody.
 * @param json the text, or what was parsed of it
 * @returns a sentence on what is wrong with it, if it is none
 */
export function readBundle(json: unknown): Bundle | string {
  const value = typeof json === 'string' ? parseCanonical(json) : json
  if (value === undefined)
    return 'This is not the text of a bundle; download that with GET …/receipt, and pass it on byte for byte, never formatted.'
  if (!isRecord(value) || value.format !== BUNDLE_FORMAT)
    return `This is not a bundle of the format ${BUNDLE_FORMAT}.`
  const fault = faultOf(value)
  return isWithout(fault, value) ? value : `“${fault}” is missing, has another form or does not belong here.`
}

function isWithout(fault: string | undefined, _value: object): _value is Bundle {
  return fault === undefined
}

function faultOf(bundle: Record<string, unknown>): string | undefined {
  const { votes, log, context } = bundle
  if (context !== undefined && !isText(context)) return 'context'
  if (log !== undefined && !isTexts(log, 'log')) return 'log'
  const others = votes === undefined ? [] : votes
  if (!Array.isArray(others) || (votes !== undefined && others.length === 0) || others.length > MOST_VOTES)
    return 'votes'
  // Under which checkpoint a registration is, only the place of the decision says.
  if (log === undefined && [bundle, ...others].some((vote) => Object(vote).enrolment !== undefined))
    return 'enrolment'
  const wrong = others.findIndex((vote) => faultOfVote(vote, 'vote') !== undefined)
  return faultOfVote(bundle, 'bundle') ?? (wrong < 0 ? undefined : `votes[${wrong}]`)
}

function faultOfVote(vote: unknown, shape: 'vote' | 'bundle'): string | undefined {
  const odd = oddMember(vote, shape)
  if (odd !== undefined || !isRecord(vote)) return odd ?? shape
  const { receipt, intent, passkey, totp, enrolment } = vote
  if (oddMember(receipt, 'receipt') !== undefined || !isSigned(Object(receipt))) return 'receipt'
  if (!isText(intent)) return 'intent'
  if (passkey !== undefined && (totp !== undefined || !isTexts(passkey, 'passkey'))) return 'passkey'
  if (totp !== undefined && (!isTexts(totp, 'totp') || Object(totp).checked_by !== 'service')) return 'totp'
  return enrolment === undefined || (passkey !== undefined && isEnrolment(enrolment))
    ? undefined
    : 'enrolment'
}

function isEnrolment(value: unknown): boolean {
  if (oddMember(value, 'enrolment') !== undefined) return false
  const { subject, record, proof } = Object(value)
  if (oddMember(subject, 'subject') !== undefined) return false
  const { aaguid, attestation, ...texts } = Object(subject)
  const known = [aaguid, attestation].filter((fact) => fact !== null)
  return [record, proof, ...known, ...Object.values(texts)].every(isText)
}

/** Returns the name of a member that is missing or foreign. */
function oddMember(value: unknown, shape: keyof typeof SHAPES): string | undefined {
  if (!isRecord(value)) return shape
  const [must, may]: readonly [readonly string[], readonly string[]] = SHAPES[shape]
  const names = Object.keys(value)
  return (
    must.find((name) => !names.includes(name)) ??
    names.find((name) => !must.includes(name) && !may.includes(name))
  )
}

function isSigned({ ts, ...texts }: Record<string, unknown>): boolean {
  return Number.isSafeInteger(ts) && Object.values(texts).every(isText)
}

/** Checks for a closed object of texts. */
function isTexts(value: unknown, shape: keyof typeof SHAPES): boolean {
  return oddMember(value, shape) === undefined && Object.values(Object(value)).every(isText)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && !LONE_SURROGATE.test(value)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns the receipt of a vote: its payload follows from the intent.
 * @param sha256Hex of a text's UTF-8 bytes
 * @returns undefined for an intent from which none follows
 */
export async function receiptOf(
  { receipt, intent, passkey, totp }: BundledVote,
  sha256Hex: (text: string) => Promise<string>,
): Promise<SignedReceipt | undefined> {
  const { did, ts, signature, public_key_id } = receipt
  const { rid, approver, action, decision, exp } = Object(parseCanonical(intent))
  if (!isText(action)) return undefined
  const proof = passkey
    ? { method: 'passkey' }
    : totp
      ? { method: 'totp' }
      : { method: 'sandbox', sandbox: true }
  const [actionHash, nonce] = [(await sha256Hex(action)).slice(0, 16), (await sha256Hex(intent)).slice(0, 32)]
  const said = { v: 1, rid, did, approver, action: actionHash, decision, ts, exp, nonce, ...proof }
  try {
    return { canonical_payload: canonicalize(said), signature, public_key_id }
  } catch (error) {
    if (error instanceof CanonicalError) return undefined
    throw error
  }
}
