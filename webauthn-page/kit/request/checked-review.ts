import { bufferToBase64URLString, type PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/browser'
import type { ConsentIntent, DecisionIntent } from '../../../src/domain/intent.ts'
import type { Outcome } from '../../../src/domain/receipt.ts'
import { canonicalize } from '../../../src/signing/canonical.ts'
import { type Review, reviewShape } from '../api/contract.ts'
import { get, steadyNow } from '../api/request.ts'
import { isJsonObject, type JsonValue } from '../show/caller-text.ts'

/** The received data contradicts itself, so that a decision would sign something unseen (T16). The page stops. */
export class MismatchError extends Error {
  override readonly name = 'MismatchError'
}

/** A request that this browser has checked: `context` is parsed from the very text whose hash is signed. */
export interface CheckedReview {
  review: Review
  context: { [key: string]: JsonValue }
  /** Server time in milliseconds minus `steadyNow()` when the answer came. */
  clock: number
}

/** Loads a request and recomputes the hash of its context. @throws MismatchError, RequestFailure, ShapeError */
export async function loadReview(id: string): Promise<CheckedReview> {
  const review = await get(`/approvals/${id}/review`, reviewShape)
  const clock = Date.parse(review.server_time) - steadyNow()
  if (review.id !== id) throw new MismatchError('The service answered for another request.')
  const context = parseContext(review.context_json)
  if (context === undefined)
    throw new MismatchError('The details of the request are not in their canonical form.')
  if ((await sha256Hex(review.context_json)) !== review.context_sha256)
    throw new MismatchError('The details of the request do not have the fingerprint that would be signed.')
  return { review, context, clock }
}

/** Returns undefined unless the text is exactly the RFC 8785 form of an object: then it can be read in only one way. */
function parseContext(json: string): { [key: string]: JsonValue } | undefined {
  try {
    const value = JSON.parse(json) as JsonValue
    return isJsonObject(value) && canonicalize(value) === json ? value : undefined
  } catch {
    return undefined
  }
}

/** Returns the state of a request: if it changed, the page is drawn again; else it is only updated. */
export function stateOf({ status, cancelled, may_decide, why_not, on_behalf_of: other }: Review): string {
  return [status, cancelled, may_decide, why_not, other?.approver].join()
}

const FIXED = [
  'action',
  'context_json',
  'created_at',
  'expires_at',
  'high_impact',
  'audience',
  'reversibility',
  'use_within_seconds',
  'approver',
] as const

/** Checks that a later answer shows the same content: a request never changes after its creation. @throws MismatchError */
export function assertSameRequest(before: Review, after: Review): void {
  const changed = FIXED.find((name) => before[name] !== after[name])
  if (changed !== undefined)
    throw new MismatchError(`The request changed while you were reading it (${changed}).`)
}

/** Takes over what a later answer says of opened attachments, in the very list that the page shows and signs. */
export function keepOpened(before: Review, after: Review): void {
  const { attachments } = before
  if (attachments === undefined) return
  for (const [index, one] of attachments.entries()) one.opened ||= after.attachments?.[index]?.opened === true
  after.attachments = attachments
  document.dispatchEvent(new Event(OPENED))
}

/** Sent to the document when an attachment was opened. */
export const OPENED = 'attachment-opened'

/** A statement without its salt. Every field is listed, so that none is forgotten; an undefined one is not in the statement. */
export type Shown<Intent> = { [Name in Exclude<keyof Intent, 'salt'>]: Intent[Name] }

/** Returns the statement of what is on the screen and of the button that was pressed: the only one the passkey may sign. */
export async function shownIntent(
  review: Review,
  decision: Outcome,
  service: string,
): Promise<Shown<DecisionIntent>> {
  const { audience, reversibility, use_within_seconds, attachments, requester, requested_by } = review
  const quorum = review.quorum.needed
  // Without the rules that the policy does not have, which are undefined here.
  const policy: unknown = JSON.parse(JSON.stringify({ ...review.policy, quorum }))
  return {
    typ: `human-approval/intent/${attachments ? 'v4' : use_within_seconds === undefined ? 'v2' : 'v3'}`,
    aud: service,
    rid: review.id,
    decision,
    ...shownReferences(review),
    action: review.action,
    context_sha256: review.context_sha256,
    request_created_at: review.created_at,
    exp: Math.floor(Date.parse(review.expires_at) / 1000),
    high_impact: review.high_impact,
    requester: { key: requester.key, name: requested_by.key_name, account: requester.account },
    policy_sha256: await sha256Hex(canonicalize(policy)),
    quorum,
    audience,
    reversibility,
    use_within_seconds,
    // Without the fields that one has not, which are undefined here.
    attachments: attachments && JSON.parse(JSON.stringify(attachments)),
  }
}

/** Returns whose vote it will be, and the delegate who acts, if that is another person. */
function shownReferences({ approver, on_behalf_of: other }: Review) {
  return { approver: other?.approver ?? approver ?? '', delegate: other?.delegate }
}

/**
 * Refuses to go on unless the challenge is SHA-256 of the intent and the intent says exactly what is shown: same fields,
 * same values, nothing more (T16). A server or proxy that shows A and asks to sign B is caught here, before the passkey.
 * @throws MismatchError naming the field.
 */
export async function checkIntent(
  intent: Record<string, unknown>,
  options: PublicKeyCredentialRequestOptionsJSON,
  shown: Shown<DecisionIntent> | Shown<ConsentIntent>,
): Promise<void> {
  checkStatement(intent, shown)
  await checkChallenge(intent, options)
}

/** Checks that the statement holds exactly what is shown, and a salt. @throws MismatchError naming the field. */
export function checkStatement(statement: Record<string, unknown>, shown: object): void {
  const { salt, ...said } = statement
  if (typeof salt !== 'string' || !/^[\w-]{43}$/.test(salt)) throw differs('salt')
  const expected: Record<string, unknown> = { ...shown }
  for (const name of new Set([...Object.keys(expected), ...Object.keys(said)])) {
    if (textOf(expected[name]) !== textOf(said[name])) throw differs(name)
  }
}

/** Returns the canonical text of a value; undefined for a missing one. */
function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : canonicalize(value)
}

/** Checks that the challenge is SHA-256 of the statement and that user verification is required. @throws MismatchError */
export async function checkChallenge(
  statement: Record<string, unknown>,
  options: PublicKeyCredentialRequestOptionsJSON,
): Promise<void> {
  if (options.challenge !== (await sha256Base64url(canonicalize(statement)))) throw differs('challenge')
  if (options.userVerification !== 'required') throw differs('userVerification')
}

/** Returns the error that names a field in which the statement to sign differs from what is shown. */
export function differs(field: string): MismatchError {
  return new MismatchError(
    `The service asked for a signature on something other than what is shown here (${field}).`,
  )
}

function digest(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
}

/** Lower-case hex SHA-256 of the UTF-8 text. */
export async function sha256Hex(text: string): Promise<string> {
  return Array.from(new Uint8Array(await digest(text)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Base64url SHA-256 of the UTF-8 text, without padding: the form of a WebAuthn challenge. */
async function sha256Base64url(text: string): Promise<string> {
  return bufferToBase64URLString(await digest(text))
}
