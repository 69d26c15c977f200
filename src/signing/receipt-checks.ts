import type { StatedAttachment } from '../domain/attachment.ts'
import { given } from '../domain/given.ts'
import type { ReceiptPayload } from '../domain/receipt.ts'
import { canonicalize, LONE_SURROGATE, parseCanonical } from './canonical.ts'
import { keyProblemAt, type VerificationKey } from './key-record.ts'
import { type ReceiptErrorCode, type ReceiptRefusal, refuse } from './receipt-error.ts'
import {
  type ClaimField,
  REQUESTER,
  type ReceiptClaim,
  type ReceiptInput,
  type StatedField,
} from './receipt-input.ts'

/** Payload fields that a particular receipt must have; all fields may be given. */
export type ExpectedPayload = Partial<ReceiptPayload>

export interface VerifyOptions {
  /** Accept sandbox receipts (tests only). Default false. */
  allowSandbox?: boolean | undefined
  /** Refuse decision times more than 300 s after this. Without it, a decision time in the future is not refused. */
  now?: Date | undefined
  /** What this receipt must say, for a caller that knows what was asked. */
  expected?: ExpectedPayload | undefined
  /** The content that must have been decided on: the whole action, and the context's RFC 8785 text. Only the intent proves it. */
  expectedContent?: { action?: string | undefined; context?: string | undefined } | undefined
}

/** `absent`: there was nothing of that kind to check. */
export type CheckOutcome = 'passed' | 'absent'

/** How far the checks of a receipt got. A check not in `outcomes` was not made, except `failed`. */
export interface CheckTrace {
  outcomes: Map<ReceiptCheck, CheckOutcome>
  failed?: ReceiptCheck
}

/** The input of a check of the readable payload. */
interface CheckSubject {
  payload: ReceiptPayload
  key: VerificationKey
  input: ReceiptInput
  /** Absent without an intent, and when the intent is not the one that was signed. */
  statement: Statement | undefined
  options: VerifyOptions
  /** Hashes a text's UTF-8 bytes; lower-case hex. */
  sha256Hex: (text: string) => string
}

type Check = (subject: CheckSubject) => CheckOutcome | ReceiptRefusal

/** Seconds by which the signer's clock may run ahead. */
const CLOCK_LEEWAY = 300

/** The checks from `time` on, made on a payload whose signature and form hold. */
export const PAYLOAD_CHECKS = [
  ['time', ({ payload }) => (payload.ts > payload.exp ? refuse('receipt_time_invalid', 'ts') : 'passed')],
  ['purpose', checkPurpose],
  ['validity', checkValidity],
  ['sandbox', checkSandbox],
  ['claims', checkClaims],
  ['action_hash', checkActionHash],
  ['expected', checkExpected],
  ['clock', checkClock],
  ['intent', checkIntent],
  ['action', checkAction],
  ['context', checkContext],
] as const satisfies (readonly [string, Check])[]

/** Every check of a receipt, in the order of execution; the first failure ends the verification. */
export const RECEIPT_CHECKS = [
  ...(['form', 'encoding', 'key', 'signature', 'canonical', 'version', 'fields'] as const),
  ...PAYLOAD_CHECKS.map(([name]) => name),
]
export type ReceiptCheck = (typeof RECEIPT_CHECKS)[number]

/** Returns the check that a refusal of `parseReceiptInput` or `locateKey` belongs to. */
export function checkOfReading(code: ReceiptErrorCode): ReceiptCheck {
  switch (code) {
    case 'receipt_payload_malformed':
    case 'receipt_signature_malformed':
      return 'encoding'
    case 'receipt_key_missing':
    case 'receipt_key_mismatch':
    case 'receipt_key_unknown':
      return 'key'
    case 'receipt_intent_mismatch':
      return 'intent'
    default:
      return 'form'
  }
}

function checkPurpose({ payload, key }: CheckSubject): CheckOutcome | ReceiptRefusal {
  const right = payload.sandbox ? 'decision-sandbox' : 'decision'
  return key.purpose === right ? 'passed' : refuse('receipt_key_purpose_mismatch')
}

function checkValidity({ payload, key }: CheckSubject): CheckOutcome | ReceiptRefusal {
  const problem = keyProblemAt(key, payload.ts)
  return problem === undefined ? 'passed' : refuse(problem, 'ts')
}

function checkSandbox({ payload, options }: CheckSubject): CheckOutcome | ReceiptRefusal {
  const refused = payload.sandbox && options.allowSandbox !== true
  return refused ? refuse('receipt_sandbox_refused', 'sandbox') : 'passed'
}

function checkClaims({ payload, input }: CheckSubject): CheckOutcome | ReceiptRefusal {
  const claims = input.claims.filter(({ field }) => field !== 'action' && !isStated(field))
  const lie = claims.find((claim) => !agrees(claim, payload))
  if (lie !== undefined) return refuse('receipt_contradicts_payload', lie.name)
  return claims.length === 0 ? 'absent' : 'passed'
}

/** Compares the action by the payload's 64 bits alone, which an author of two texts can make collide (T69). */
function checkActionHash({ payload, input, sha256Hex }: CheckSubject): CheckOutcome | ReceiptRefusal {
  const claims = input.claims.filter(({ field }) => field === 'action')
  const lie = claims.find(({ value }) => !isText(value) || sha256Hex(value).slice(0, 16) !== payload.action)
  if (lie !== undefined) return refuse('receipt_contradicts_payload', lie.name)
  return claims.length === 0 ? 'absent' : 'passed'
}

function checkExpected({ payload, options, sha256Hex }: CheckSubject): CheckOutcome | ReceiptRefusal {
  const action = options.expectedContent?.action
  const hash = action === undefined ? {} : { action: sha256Hex(action).slice(0, 16) }
  const expected = Object.entries({ ...options.expected, ...hash })
  const signed = new Map<string, unknown>(Object.entries(payload))
  const other = expected.find(([name, value]) => signed.get(name) !== value)
  if (other !== undefined) return refuse('receipt_unexpected', other[0])
  return expected.length === 0 ? 'absent' : 'passed'
}

function checkClock({ payload, options: { now } }: CheckSubject): CheckOutcome | ReceiptRefusal {
  if (now === undefined) return 'absent'
  const early = payload.ts <= now.getTime() / 1000 + CLOCK_LEEWAY
  return early ? 'passed' : refuse('receipt_from_future', 'ts')
}

function checkIntent({ input, statement }: CheckSubject): CheckOutcome | ReceiptRefusal {
  if (input.intent === undefined) return 'absent'
  if (statement === undefined) return refuse('receipt_intent_mismatch', 'intent')
  const lie = input.claims.find((claim) => contradicts(claim, statement))
  return lie === undefined ? 'passed' : refuse('receipt_contradicts_payload', lie.name)
}

function checkAction(subject: CheckSubject): CheckOutcome | ReceiptRefusal {
  const { input, options } = subject
  const next = input.claims.filter(({ field }) => field === 'action')
  return checkContent(subject, 'action', next, options.expectedContent?.action)
}

function checkContext(subject: CheckSubject): CheckOutcome | ReceiptRefusal {
  const { input, options, sha256Hex } = subject
  const hashed = (text: string | undefined) => (text === undefined ? undefined : sha256Hex(text))
  const value = hashed(input.context)
  const next = value === undefined ? [] : [{ name: 'context', value }]
  return checkContent(subject, 'context_sha256', next, hashed(options.expectedContent?.context))
}

/** Checks the content next to the receipt, and the content the caller expects, against the intent. */
function checkContent(
  { statement }: CheckSubject,
  field: 'action' | 'context_sha256',
  next: readonly { name: string; value: unknown }[],
  expected: string | undefined,
): CheckOutcome | ReceiptRefusal {
  if (statement === undefined || (next.length === 0 && expected === undefined)) return 'absent'
  const said = statement[field]
  const lie = next.find(({ value }) => value !== said)
  if (lie !== undefined) return refuse('receipt_contradicts_payload', lie.name)
  const other = expected !== undefined && expected !== said
  return other ? refuse('receipt_unexpected', field === 'action' ? 'action' : 'context') : 'passed'
}

const STATED: readonly ClaimField[] = [
  'delegate',
  'created_at',
  'high_impact',
  'audience',
  'reversibility',
  'use_within_seconds',
  'requester',
] satisfies StatedField[]

/** Checks whether a claim is about a field of the intent that the payload does not have. */
function isStated(field: ClaimField): field is StatedField {
  return STATED.includes(field)
}

/** Checks whether a claim is about such a field and this statement, of whatever version, has no such field to compare it with. */
export function isUncompared(
  { field }: Pick<ReceiptClaim, 'field'>,
  statement: Statement | undefined,
): boolean {
  if (!isStated(field)) return false
  const isNew = !['delegate', 'created_at', 'high_impact'].includes(field)
  return statement === undefined || (isNew && statement.stated === undefined)
}

function contradicts(claim: ReceiptClaim, statement: Statement): boolean {
  const { field, value } = claim
  if (!isStated(field) || isUncompared(claim, statement)) return false
  switch (field) {
    case 'audience':
    case 'reversibility':
    case 'use_within_seconds':
      return (value ?? undefined) !== statement.stated?.[field]
    case 'requester':
      return statement.stated !== undefined && !isRequester(value, statement.stated.requester)
    default:
      return value !== statement[field]
  }
}

/** Checks a requester named by a text (the key's name), or by an object: each of its fields that is signed must agree. */
function isRequester(value: unknown, requester: Stated['requester']): boolean {
  if (typeof value === 'string') return value === requester.name
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const said = new Map<string, unknown>(Object.entries(value))
  return Object.entries(REQUESTER).every(
    ([name, field]) => !said.has(name) || said.get(name) === requester[field],
  )
}

function agrees({ field, value }: ReceiptClaim, payload: ReceiptPayload): boolean {
  switch (field) {
    case 'ts':
    case 'exp':
      return typeof value === 'string' && secondsOf(value) === payload[field]
    case 'sandbox':
      return value === (payload.sandbox === true)
    case 'delegate':
    case 'created_at':
    case 'high_impact':
    case 'audience':
    case 'reversibility':
    case 'use_within_seconds':
    case 'requester':
      return false
    default:
      return value === payload[field]
  }
}

/** Accepts only the service's spelling: Date.parse reads others in the local time zone, and ignores text in parentheses. */
function secondsOf(time: string): number {
  const at = Date.parse(time)
  return !Number.isNaN(at) && new Date(at).toISOString() === time ? Math.floor(at / 1000) : Number.NaN
}

/** A lone surrogate would become U+FFFD, and the hash would be of another text. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && !LONE_SURROGATE.test(value)
}

/** What the intent next to a receipt adds to it: the whole action, the context's hash, and who acted for the approver. */
export interface Statement {
  action: string
  context_sha256: string
  /** Reference of the delegate who acted for the approver. */
  delegate?: string
  /** When the request was made. */
  created_at: string
  high_impact: boolean
  /** Absent in version 1 of the statement. */
  stated?: Stated
  asked: Asked
}

/**
 * What does not depend on who decides, as texts: first that of all versions, then what versions 2 to 4 add. All votes on a request
 * state the same. The service's address is not in it: that may change while a request waits.
 */
export type Asked = readonly string[]

/** The fields that versions 2 to 4 of the statement add. `audience` and `reversibility` are the caller's own claims. */
export interface Stated {
  requester: { key: string; name: string; account: string }
  quorum: number
  policy_sha256: string
  audience?: string
  reversibility?: string
  /** Version 3: seconds from the decision (`ts`) in which an approval can be used. A receipt stays valid beyond them. */
  use_within_seconds?: number
  /** Version 4: what was attached, by name and hash, and which of it the approver's browser had fetched. */
  attachments?: StatedAttachment[]
}

/** Types of the four versions; an intent of another type is no statement of a decision, even if its hash fits a nonce. */
const [V1, V2, V3, V4] = ['v1', 'v2', 'v3', 'v4'].map((version) => `human-approval/intent/${version}`)

/** Fields that an intent and its payload both have, and in which they must agree. */
const SHARED = ['rid', 'decision', 'approver', 'exp'] as const

/**
 * Opens the commitment of a receipt: checks that the signed `nonce` is the shortened hash of this text, and that the text
 * is the RFC 8785 form of a statement that agrees with the payload. Only then are the action and context in it as good as signed.
 * @param intentText the intent, as handed out with the decision
 * @param sha256Hex of a text's UTF-8 bytes
 * @returns undefined when it is another text, or not of that form
 */
export function openStatement(
  payload: ReceiptPayload,
  intentText: string,
  sha256Hex: (text: string) => string,
): Statement | undefined {
  if (sha256Hex(intentText).slice(0, 32) !== payload.nonce) return undefined
  const intent = Object(parseCanonical(intentText))
  if (SHARED.some((field) => intent[field] !== payload[field])) return undefined
  const { typ, aud, action, context_sha256, request_created_at, high_impact, salt, delegate } = intent
  if (![aud, action, context_sha256, request_created_at, salt].every(isText)) return undefined
  if (typeof high_impact !== 'boolean' || !isOptionalText(delegate)) return undefined
  const stated = readStated(intent)
  if (typ !== V1 && (stated === undefined || typ !== typeFor(stated))) return undefined
  return {
    action,
    context_sha256,
    created_at: request_created_at,
    high_impact,
    ...given({ delegate, stated }),
    asked: [
      canonicalize([action, context_sha256, request_created_at, intent.exp, high_impact]),
      ...(stated === undefined ? [] : [canonicalize(withoutReader(stated))]),
    ],
  }
}

/** Each person's browser fetches the attachments by itself. */
function withoutReader({ attachments, ...stated }: Stated) {
  return { ...stated, attachments: (attachments ?? []).map((one) => ({ ...one, opened: false })) }
}

function typeFor({ attachments, use_within_seconds }: Stated): string | undefined {
  if (attachments !== undefined) return V4
  return use_within_seconds === undefined ? V2 : V3
}

/** Reads what versions 2 to 4 add; undefined when a field is missing or of another kind. */
function readStated(intent: object): Stated | undefined {
  const { requester, quorum, policy_sha256, audience, reversibility, use_within_seconds, attachments } =
    Object(intent)
  const { key, name, account } = Object(requester)
  if (![key, name, account, policy_sha256].every(isText)) return undefined
  if (!isCount(quorum)) return undefined
  if (![audience, reversibility].every(isOptionalText)) return undefined
  if (use_within_seconds !== undefined && !isCount(use_within_seconds)) return undefined
  if (attachments !== undefined && !areAttachments(attachments)) return undefined
  const asker = { key, name, account }
  return {
    requester: asker,
    quorum,
    policy_sha256,
    ...given({ audience, reversibility, use_within_seconds, attachments }),
  }
}

function areAttachments(value: unknown): value is StatedAttachment[] {
  return Array.isArray(value) && value.length > 0 && value.every(isAttachment)
}

function isAttachment(value: unknown): boolean {
  const { name, kind, sha256, bytes, base, opened } = Object(value)
  return (
    [name, kind, sha256].every(isText) &&
    /^[0-9a-f]{64}$/.test(String(sha256)) &&
    Number.isSafeInteger(bytes) &&
    typeof opened === 'boolean' &&
    isOptionalText(base)
  )
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 1
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || isText(value)
}
