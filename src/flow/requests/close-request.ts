import { type AuditActor, type AuditEntry, drawEntry } from '../../domain/audit.ts'
import { drawEvent } from '../../domain/event.ts'
import { decidedData } from '../../domain/event-data.ts'
import { given } from '../../domain/given.ts'
import { drawId } from '../../domain/identifier.ts'
import { kindOf } from '../../domain/likeness.ts'
import { buildPayload, type Outcome } from '../../domain/receipt.ts'
import type { ApprovalRequest, CallbackOutbox, Decision, RequestChange, Vote } from '../../domain/request.ts'
import { isFromCopy } from '../../domain/restore.ts'
import { actionHash, nonceOf } from '../../signing/commitment.ts'
import { sha256Hex } from '../../signing/digest.ts'
import { decisionSubject, type ProvableVote, voteSubject } from '../../signing/log/leaves.ts'
import type { FlowDeps } from '../deps.ts'
import { signedPasskey } from '../people/passkey-key.ts'

/**
 * Builds the write that decides a request: signed votes where they agree with the outcome, the decision, the events, the
 * callback's final bytes and the audit entries. Signatures made for a write that loses its race are dropped with the object and
 * logged nowhere (T78). An approving vote on a request that is rejected is not signed: by itself it would be a genuine receipt
 * that says `approved`, and no verifier without the service could tell.
 * @param votes all votes, the closing one last
 */
export async function closingChange(
  deps: FlowDeps,
  request: ApprovalRequest,
  votes: readonly [...Vote[], Vote],
  outcome: Outcome,
  actor: AuditActor,
): Promise<RequestChange> {
  if (request.status !== 'pending')
    throw new Error(`a request that is ${request.status} cannot become ${outcome}`)
  const signed: Vote[] = []
  for (const vote of votes)
    signed.push(vote.decision === outcome ? await signVote(deps, request, vote) : vote)
  const closing = signed.at(-1)
  if (closing?.receipt === undefined) throw new Error('a closing vote must be signed')
  const decision: Decision = {
    id: closing.decision_id,
    decision: outcome,
    method: closing.method,
    approver: closing.approver,
    ...given({ delegate: closing.delegate }),
    decided_at: closing.at,
    comment: closing.comment,
    receipt: closing.receipt,
  }
  const callback = callbackFor(deps, request, decision)
  const restore = deps.restores.last()
  const type = outcome === 'approved' ? 'approval.approved' : 'approval.rejected'
  return {
    status: outcome,
    vote: closing,
    signed_votes: signed,
    decision,
    ...given({ callback, kind: kindOf(request) }),
    ...given({ decided_after: isFromCopy(request, restore) ? restore.id : undefined }),
    events: [drawEvent(deps, type, decision.decided_at, decidedData(request, decision))],
    audit: [
      votedEntry(deps, request, closing, actor),
      decidedEntry(deps, request, decision, { actor, signed }),
    ],
  }
}

/** Builds the write of a vote that leaves the request pending. Nothing is signed. */
export function votingChange(
  deps: FlowDeps,
  request: ApprovalRequest,
  vote: Vote,
  actor: AuditActor,
): RequestChange {
  return { status: 'pending', vote, events: [], audit: [votedEntry(deps, request, vote, actor)] }
}

/** Makes an audit entry about a request. */
export function auditEntry(
  deps: FlowDeps,
  request: Pick<ApprovalRequest, 'id' | 'account_id'>,
  type: AuditEntry['type'],
  actor: AuditActor,
  at: Date,
): AuditEntry {
  return drawEntry(deps, { type, at, actor, account_id: request.account_id, subject: request.id })
}

function votedEntry(deps: FlowDeps, request: ApprovalRequest, vote: Vote, actor: AuditActor): AuditEntry {
  const entry = auditEntry(deps, request, 'approval.voted', actor, vote.at)
  const { decision, method, decision_id, on_behalf_of } = vote
  const stoodIn = on_behalf_of === vote.user_id ? {} : { on_behalf_of }
  const subject_sha256 = sha256Hex(voteSubject(vote))
  return { ...entry, detail: { decision, method, decision_id, ...stoodIn, subject_sha256 } }
}

function decidedEntry(
  deps: FlowDeps,
  request: ApprovalRequest,
  { decision, decided_at }: Decision,
  { actor, signed }: { actor: AuditActor; signed: readonly Vote[] },
): AuditEntry {
  const entry = auditEntry(deps, request, `approval.${decision}`, actor, decided_at)
  return { ...entry, detail: { subject_sha256: sha256Hex(decisionSubject(provable(signed))) } }
}

/** The signed ones among these votes, as the log commits to them. */
export function provable(votes: readonly Vote[]): ProvableVote[] {
  return votes.flatMap(({ receipt, evidence }) =>
    receipt === undefined ? [] : { ...receipt, passkey: signedPasskey(evidence) },
  )
}

async function signVote(deps: FlowDeps, request: ApprovalRequest, vote: Vote): Promise<Vote> {
  const payload = buildPayload({
    rid: request.id,
    did: vote.decision_id,
    approver: vote.approver,
    action: actionHash(request.action),
    decision: vote.decision,
    method: vote.method,
    decidedAt: vote.at,
    expiresAt: request.expires_at,
    nonce: nonceOf(vote.intent_json),
  })
  const receipt = await deps.signer.sign(request.sandbox ? 'decision-sandbox' : 'decision', payload)
  return { ...vote, receipt }
}

/** Builds the interface's callback body, serialised once: the same bytes go out on every attempt. */
function callbackFor(
  deps: FlowDeps,
  request: ApprovalRequest,
  decision: Decision,
): CallbackOutbox | undefined {
  const { callback_url: url, callback_secret_version: secret_version } = request
  if (url === undefined || secret_version === undefined) return undefined
  const body = JSON.stringify(decidedData(request, decision))
  const ids = { event_id: drawId(deps, 'evt'), delivery_id: drawId(deps, 'dlv') }
  return { state: 'due', url, ...ids, secret_version, body }
}
