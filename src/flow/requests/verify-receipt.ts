import { isDeepStrictEqual } from 'node:util'
import { type AuditActor, type AuditEntry, drawEntry } from '../../domain/audit.ts'
import { given } from '../../domain/given.ts'
import { isId } from '../../domain/identifier.ts'
import type { DecisionIntent } from '../../domain/intent.ts'
import type { ReceiptPayload } from '../../domain/receipt.ts'
import type { ApprovalRequest, Decision, RequestStatus, Vote } from '../../domain/request.ts'
import type { Verdict } from '../../domain/views.ts'
import { toBase64, toBase64Url } from '../../signing/base64.ts'
import { actionHash, nonceOf } from '../../signing/commitment.ts'
import { sha256Hex } from '../../signing/digest.ts'
import type { VerificationKey } from '../../signing/key-record.ts'
import type { VerifyResult } from '../../signing/verify-core.ts'
import { verifyReceiptAside, verifyReceiptJson } from '../../signing/verify-node.ts'
import { disagreement, problemOfVotes } from '../../signing/votes.ts'
import type { FlowDeps } from '../deps.ts'
import { expireIfLapsed } from './settle-request.ts'

/** Who asks for a verification. No credentials are needed; the asker is only recorded. */
export type Asker = AuditActor & { kind: 'public' | 'chat' }

/**
 * Verifies a decided request's receipt for anyone: the signature against the published key, and that the stored action and
 * context are those that the signed nonce commits to (T69). Logs every attempt. Never decides a sandbox request.
 */
export async function verifyDecision(deps: FlowDeps, id: string, asker: Asker): Promise<Verdict> {
  const found = isId('req', id) ? await deps.requests.find(id) : undefined
  return verifyFound(deps, { asked: id, found, asker })
}

/** As `verifyDecision`, by the id of the decision (`dec_…`). */
export async function verifyByDecisionId(deps: FlowDeps, id: string, asker: Asker): Promise<Verdict> {
  const found = isId('dec', id) ? await deps.requests.findByDecision(id) : undefined
  return verifyFound(deps, { asked: id, found, asker })
}

async function verifyFound(
  deps: FlowDeps,
  { asked, found, asker }: { asked: string; found: ApprovalRequest | undefined; asker: Asker },
): Promise<Verdict> {
  const request = found === undefined ? undefined : await expireIfLapsed(deps, found)
  const verdict = request === undefined ? UNKNOWN : await judge(deps, request)
  logVerification(deps, asker, request ?? { id: asked }, verdict.valid ? 'valid' : verdict.code)
  return verdict
}

/** Records that a receipt was verified, by whom and with what result. */
export function logVerification(
  deps: FlowDeps,
  asker: Asker,
  about: { id: string; account_id?: string },
  result: string,
): void {
  deps.verifications.record(verifiedEntry(deps, asker, about, result))
}

/**
 * Records attempts that were refused unjudged: those over the rate limit in bulk. The store is not asked to which account the
 * request belongs.
 */
export function logRefusedVerification(
  deps: FlowDeps,
  asker: Asker,
  id: string,
  result: 'rate_limited' | 'invalid_field',
): void {
  const entry = verifiedEntry(deps, asker, { id }, result)
  if (result === 'rate_limited') deps.verifications.recordRefused(entry)
  else deps.verifications.record(entry)
}

function verifiedEntry(
  deps: FlowDeps,
  asker: Asker,
  about: { id: string; account_id?: string },
  result: string,
): AuditEntry {
  return drawEntry(deps, {
    type: 'approval.verified',
    at: deps.clock.now(),
    actor: asker,
    account_id: about.account_id,
    subject: loggedId(about.id),
    detail: { result },
  })
}

/** Shortens an id to be recorded, as a stranger may send any text; no character is cut in half. */
function loggedId(id: string): string {
  return id.slice(0, 64).toWellFormed()
}

const UNKNOWN: Verdict = { valid: false, error: 'request not found', code: 'not_found' }

async function judge(deps: FlowDeps, request: ApprovalRequest): Promise<Verdict> {
  const decision = request.decision
  if (decision === undefined) return undecided(request)
  const closing = request.votes.find((vote) => vote.decision_id === decision.id)
  if (closing === undefined) return contradiction(request.status)
  const { receipt, decided_at: at } = decision
  const decided = shownVote(request, { ...closing, ...decision, at })
  const { key, result } = await verifyVote(deps, decided)
  if (!result.valid) return { valid: false, status: request.status, error: result.message, code: result.code }
  const problem = await problemOfStored(deps, request, { decided, result })
  if (problem !== undefined) {
    const { message: error, code } = disagreement(problem)
    return { valid: false, status: request.status, error, code }
  }
  const departed = [
    departsFromPayload(request, closing, result.payload),
    ...request.votes.map((vote) => departsFromIntent(request, vote)),
  ]
  if (key === undefined || departed.some((part) => part !== undefined)) return contradiction(request.status)
  const publicKey = toBase64(key.publicKey)
  const { signature, public_key_id: publicKeyId } = receipt
  const acted = closing.delegate === undefined ? {} : { delegate: closing.delegate }
  const restored = restoreBefore(deps, request)
  return {
    valid: true,
    ...given({ restored }),
    payload: result.payload,
    ...acted,
    signature,
    publicKeyId,
    publicKey,
    at: deps.clock.now(),
    ...given({ erasedAt: request.erased_at }),
  }
}

/** Returns the restore between copy and decision, if there was one: another decision on the request may have been signed. */
function restoreBefore({ restores }: FlowDeps, { decided_after }: ApprovalRequest) {
  if (decided_after === undefined) return undefined
  const { copied_at, restored_at } = restores.find(decided_after) ?? {}
  return copied_at === undefined || restored_at === undefined ? undefined : { copied_at, restored_at }
}

/** Returns why the stored votes do not belong together, as other verifiers would say of an answer that shows them. */
async function problemOfStored(
  deps: FlowDeps,
  request: ApprovalRequest,
  { decided, result }: { decided: object; result: VerifyResult },
): Promise<string | undefined> {
  const unsigned = request.votes.filter((vote) => vote.receipt === undefined && vote.decision === 'approved')
  const signed: VerifyResult[] = []
  for (const vote of request.votes.filter((one) => !unsigned.includes(one))) {
    const shown = shownVote(request, vote)
    // The vote that closed the request is usually the decision itself, whose signature was checked already.
    signed.push(isDeepStrictEqual(shown, decided) ? result : (await verifyVote(deps, shown)).result)
  }
  return problemOfVotes(result, signed, unsigned)
}

/** Returns a vote in the form in which an answer shows it, with everything that is stored of it. */
function shownVote(
  { id: request_id, sandbox }: ApprovalRequest,
  { decision_id, decision, method, approver, delegate, at, intent_json, receipt }: Vote,
) {
  const { canonical_payload, ...signed } = { canonical_payload: '', public_key_id: '', ...receipt }
  return {
    ...{ id: decision_id, request_id, decision, method, approver, delegate, sandbox },
    // Without the intent the receipt still holds; an erased one commits to nothing that is left.
    ...(intent_json === '' ? {} : { intent: intent_json }),
    decided_at: at.toISOString(),
    ...{ signed_payload: toBase64Url(new TextEncoder().encode(canonical_payload)), ...signed },
  }
}

async function verifyVote({ keys }: FlowDeps, shown: ReturnType<typeof shownVote>) {
  const key = await keys.find(shown.public_key_id)
  const options = { allowSandbox: shown.sandbox }
  return { key, result: verifyReceiptJson(shown, key === undefined ? [] : [key], options) }
}

function undecided({ status, cancelled, sandbox }: ApprovalRequest): Verdict {
  if (cancelled) return { valid: false, status, error: 'request withdrawn', code: 'cancelled' }
  const error = status === 'expired' ? 'request expired without a decision' : 'request not decided yet'
  return { valid: false, status, error, code: status, sandbox }
}

/** A part of a decided request that people and programs rely on. */
export type SignedPart = 'action' | 'context' | 'intent' | 'receipt'

/** The fields of a request that its voters signed, or that the service signed for them. */
export const SIGNED_FIELDS = [
  'status',
  'sandbox',
  'action',
  'context_json',
  'context_sha256',
  'votes',
  'decision',
  'erased_at',
] as const satisfies readonly (keyof ApprovalRequest)[]
/** As stored: the receipt of the closing vote is that of the decision, which has a second copy in old requests alone. */
export type Signed = Pick<ApprovalRequest, 'id' | Exclude<(typeof SIGNED_FIELDS)[number], 'decision'>> & {
  decision?: Pick<Decision, 'id'> & Partial<Pick<Decision, 'receipt'>>
}

/**
 * Recomputes what the votes of a request commit to, and checks the signatures of the votes that have one.
 * @returns the part that differs from what was signed; undefined when none does
 */
export async function alteredPart(
  request: Signed,
  keys: readonly VerificationKey[],
): Promise<SignedPart | undefined> {
  const { decision, votes, sandbox } = request
  for (const vote of votes) {
    const { receipt } = vote
    if (receipt === undefined) {
      const part = departsFromIntent(request, vote)
      if (part !== undefined) return part
      continue
    }
    const shown = { decision_id: vote.decision_id, decision: vote.decision, ...receipt }
    const result = await verifyReceiptAside(shown, keys, { allowSandbox: sandbox })
    if (!result.valid) return 'receipt'
    const part = departsFromPayload(request, vote, result.payload)
    if (part !== undefined) return part
  }
  if (decision === undefined) return undefined
  const closing = votes.find(({ decision_id }) => decision_id === decision.id)?.receipt
  if (closing === undefined) return 'receipt'
  return decision.receipt === undefined || isDeepStrictEqual(decision.receipt, closing)
    ? undefined
    : 'receipt'
}

/** Checks that the signed nonce commits to the intent, and the intent to what is stored. @returns the part that differs */
function departsFromPayload(request: Signed, vote: Vote, payload: ReceiptPayload): SignedPart | undefined {
  const { rid, did, decision, nonce } = payload
  if (rid !== request.id || did !== vote.decision_id || decision !== request.status) return 'receipt'
  if (request.erased_at !== undefined) return undefined
  if (nonce !== nonceOf(vote.intent_json)) return 'intent'
  return (
    departsFromIntent(request, vote) ?? (payload.action === actionHash(request.action) ? undefined : 'action')
  )
}

function departsFromIntent(request: Signed, vote: Vote): SignedPart | undefined {
  if (request.erased_at !== undefined) return undefined
  const said = readIntent(vote.intent_json)
  if (said.rid !== request.id || said.decision !== vote.decision || said.delegate !== vote.delegate)
    return 'intent'
  if (said.action !== request.action) return 'action'
  const { context_sha256: hash } = request
  return said.context_sha256 === hash && sha256Hex(request.context_json) === hash ? undefined : 'context'
}

/** Parses the intent; returns an empty object if it was made unreadable. */
function readIntent(text: string): Partial<Record<keyof DecisionIntent, unknown>> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

function contradiction(status: RequestStatus): Verdict {
  const error = 'The stored request is not the one that was signed.'
  return { valid: false, status, error, code: 'receipt_contradicts_request' }
}
