import type { ApiKey } from '../domain/api-key.ts'
import type { KeyPolicy } from '../domain/policy.ts'
import type { ApprovalRequest, Decision, Vote } from '../domain/request.ts'
import type { Reminder } from '../flow/remind-approvers.ts'
import type { Verdict } from '../flow/verify-receipt.ts'
import { toBase64Url } from '../signing/encoding.ts'

/** Everything that goes out is listed here, field by field: what is not listed cannot leak. */

/** Create answer of a live key (interface, endpoint 1). */
export function presentCreated(request: ApprovalRequest) {
  return {
    id: request.id,
    status: request.status,
    action: request.action,
    metadata: contextOf(request),
    created_at: request.created_at.toISOString(),
    expires_at: request.expires_at.toISOString(),
  }
}

/** Create answer of a sandbox key: other names by the interface's own word. */
export function presentSandboxCreated(request: ApprovalRequest, baseUrl: string) {
  return {
    request_id: request.id,
    status: request.status,
    sandbox: true,
    verify_url: `${baseUrl}/api/v1/approvals/${request.id}/verify`,
  }
}

/** Read answer by status: a rejected one has no context and times, an expired one no context (interface, endpoint 2). */
export function presentRequest(request: ApprovalRequest) {
  const head = { id: request.id, status: request.status, action: request.action }
  const times = { created_at: request.created_at.toISOString(), expires_at: request.expires_at.toISOString() }
  const decided =
    request.decision === undefined ? {} : { decision: presentDecision(request, request.decision) }
  const used = request.consumed_at === undefined ? {} : { consumed_at: request.consumed_at.toISOString() }
  const sandbox = request.sandbox ? { sandbox: true } : {}
  switch (request.status) {
    case 'pending':
      return { ...head, context: contextOf(request), ...times, ...sandbox }
    case 'approved':
      return { ...head, context: contextOf(request), ...times, ...decided, ...used, ...sandbox }
    case 'rejected':
      return { ...head, ...decided, ...sandbox }
    case 'expired':
      return { ...head, ...times, ...(request.cancelled ? { cancelled: true } : {}), ...sandbox }
  }
}

/** The decision; with a quorum above one also every vote. */
export function presentDecision(request: ApprovalRequest, decision: Decision) {
  const closing = request.votes.find((vote) => vote.decision_id === decision.id)
  const votes = request.requirement.quorum > 1 ? { votes: request.votes.map(presentVote) } : {}
  return {
    id: decision.id,
    decision: decision.decision,
    method: decision.method,
    signed_payload: toBase64Url(Buffer.from(decision.receipt.canonical_payload, 'utf8')),
    signature: decision.receipt.signature,
    public_key_id: decision.receipt.public_key_id,
    decided_at: decision.decided_at.toISOString(),
    approver: decision.approver,
    ...(decision.delegate === undefined ? {} : { delegate: decision.delegate }),
    comment: decision.comment,
    ...(closing === undefined ? {} : { intent: closing.intent_json }),
    ...votes,
  }
}

/** An approval of a rejected request has no receipt. */
function presentVote(vote: Vote) {
  const signed =
    vote.receipt === undefined
      ? {}
      : {
          signed_payload: toBase64Url(Buffer.from(vote.receipt.canonical_payload, 'utf8')),
          signature: vote.receipt.signature,
          public_key_id: vote.receipt.public_key_id,
        }
  return {
    id: vote.decision_id,
    decision: vote.decision,
    method: vote.method,
    ...signed,
    decided_at: vote.at.toISOString(),
    approver: vote.approver,
    ...(vote.delegate === undefined ? {} : { delegate: vote.delegate }),
    comment: vote.comment,
    intent: vote.intent_json,
  }
}

/** Remind answer (interface, endpoint 3). */
export function presentReminder(reminder: Reminder) {
  return {
    ok: true,
    request_id: reminder.request.id,
    push_sent: reminder.pushSent,
    reminded_at: reminder.remindedAt.toISOString(),
    ...(reminder.request.sandbox ? { sandbox: true } : {}),
  }
}

/** Consume answer: whoever acts on it must see that a dry-run is one. */
export function presentConsumed(request: ApprovalRequest) {
  return {
    request_id: request.id,
    status: request.status,
    decision_id: request.decision?.id,
    consumed_at: request.consumed_at?.toISOString(),
    ...(request.sandbox ? { sandbox: true } : {}),
  }
}

/** Verify answer (interface, endpoint 4). */
export function presentVerdict(verdict: Verdict) {
  if (!verdict.valid) {
    const status = verdict.status === undefined ? {} : { status: verdict.status }
    return { valid: false, error: verdict.error, message: verdictSentence(verdict.code), ...status }
  }
  return {
    valid: true,
    decision: verdict.payload.decision,
    method: verdict.payload.method,
    verified_at: verdict.at.toISOString(),
    public_key: verdict.publicKey,
    public_key_id: verdict.publicKeyId,
    signature: verdict.signature,
    payload: verdict.payload,
    ...(verdict.payload.sandbox ? { sandbox: true } : {}),
  }
}

function verdictSentence(code: string): string {
  switch (code) {
    case 'not_found':
      return 'There is no such request; check the id.'
    case 'pending':
      return 'Nothing is signed yet; verify again after the decision.'
    case 'cancelled':
      return 'The caller withdrew the request; there is nothing to verify.'
    case 'expired':
      return 'The request lapsed without a decision; there is nothing to verify.'
    default:
      return 'Do not act on this request; its receipt does not hold.'
  }
}

/** Key record: never the hash. */
export function presentKey(key: ApiKey) {
  return {
    id: key.id,
    name: key.name,
    key_prefix: key.key_prefix,
    sandbox: key.sandbox,
    scopes: key.scopes,
    source_control: key.source_control === true,
    policy: key.policy === undefined ? null : presentKeyPolicy(key.policy),
    created_at: key.created_at.toISOString(),
    last_used_at: key.last_used_at?.toISOString() ?? null,
    revoked_at: key.revoked_at?.toISOString() ?? null,
  }
}

function presentKeyPolicy({ approvers, quorum, passkey_only, high_impact }: KeyPolicy) {
  return {
    ...(approvers === undefined ? {} : { approvers }),
    ...(quorum === undefined ? {} : { quorum }),
    ...(passkey_only === undefined ? {} : { passkey_only }),
    ...(high_impact === undefined ? {} : { high_impact }),
  }
}

/** The stored text is JSON of our own making, so parsing restores exactly what was signed. */
export function contextOf(request: ApprovalRequest): unknown {
  return JSON.parse(request.context_json)
}
