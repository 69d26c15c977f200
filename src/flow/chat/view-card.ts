import type { CardStatus, CardView } from '../../domain/card-view.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { hasHidden, visibleString } from '../../domain/text.ts'
import { mixedScriptWarning } from '../../domain/text-scripts.ts'
import { contextRows } from './context-rows.ts'

/** For whom a card is drawn. */
export interface CardAudience {
  audience: CardView['audience']
  /** Whose card it is; a channel's is nobody's. */
  personId?: string | undefined
  /** Whose vote theirs is, or would be, when they stand in for somebody. */
  principalId?: string | undefined
  /** Names by user id: of who voted, of those for whom they did, and of the principal. */
  names: ReadonlyMap<string, string>
  /** The service's public origin, without a slash at the end. */
  baseUrl: string
}

/**
 * What a card shows of a stored request; a function of these two arguments alone, so that two renderings of one version
 * are equal. Approvers learn who decided by name and reference and read the comment; a channel learns the reference only,
 * as anybody does from the receipt, and no comment, since it may quote the context.
 */
export function viewCard(request: ApprovalRequest, to: CardAudience): CardView {
  const forApprover = to.audience === 'approver'
  // Only what is shown is warned about, and a decided card shows no context.
  const withContext = forApprover && request.status === 'pending'
  const context: Record<string, unknown> = withContext ? JSON.parse(request.context_json) : {}
  const page = `${to.baseUrl}/a/${request.id}`
  return {
    request_id: request.id,
    version: request.version,
    audience: to.audience,
    status: statusOf(request, to),
    action: visibleString(request.action),
    ...warnings([request.action, ...textsOf(context)]),
    requested_by: {
      key_name: nameLine(request.requested_by.key_name),
      account_name: nameLine(request.requested_by.account_name),
    },
    high_impact: request.high_impact,
    ...(request.sandbox ? { sandbox: true as const } : {}),
    quorum: { approved: approvals(request), needed: request.requirement.quorum },
    ...contextRows(context),
    created_at: request.created_at,
    expires_at: request.expires_at,
    ...(withContext ? placeOf(request, to) : {}),
    links: { approve: `${page}?d=approve`, reject: `${page}?d=reject`, details: page },
  }
}

function statusOf(request: ApprovalRequest, { audience, personId, names }: CardAudience): CardStatus {
  const { decision } = request
  if (decision === undefined) {
    if (request.status !== 'expired') return { kind: 'pending' }
    return { kind: request.cancelled ? 'withdrawn' : 'expired' }
  }
  const head = { kind: decision.decision, by: decision.approver, method: decision.method }
  const tail = { at: decision.decided_at, decision_id: decision.id }
  if (audience === 'channel') return { ...head, comment: null, ...tail }
  const comment = decision.comment === null ? null : visibleString(decision.comment)
  const closing = request.votes.find((vote) => vote.decision_id === decision.id)
  const decider = closing?.user_id
  // The sandbox votes in the owner's place; no name may stand under what no person decided.
  if (decider === undefined || decision.method === 'sandbox') return { ...head, comment, ...tail }
  const name = names.get(decider)
  const principal = closing?.on_behalf_of === decider ? undefined : names.get(closing?.on_behalf_of ?? '')
  return {
    ...head,
    ...(name === undefined ? {} : { by_name: nameLine(name) }),
    ...(principal === undefined ? {} : { for_name: nameLine(principal) }),
    ...(decider === personId ? { by_you: true as const } : {}),
    comment,
    ...tail,
  }
}

/** A name stands on a line of ours: line breaks in it would make lines of its own. */
function nameLine(name: string): string {
  return visibleString(name).replace(/\s+/g, ' ')
}

/** For whom the person is asked, and whether they need not be any more: they acted, or somebody did in this vote's place. */
function placeOf(
  { votes }: ApprovalRequest,
  { personId, principalId, names }: CardAudience,
): Pick<CardView, 'on_behalf_of' | 'voted' | 'voted_by'> {
  const principal = principalId === undefined ? {} : { on_behalf_of: nameLine(names.get(principalId) ?? '') }
  const own = votes.find((vote) => vote.user_id === personId)
  const cast = own ?? votes.find((vote) => vote.on_behalf_of === (principalId ?? personId))
  if (cast === undefined) return principal
  const other = own === undefined ? { voted_by: nameLine(names.get(cast.user_id) ?? '') } : {}
  return { ...principal, voted: cast.decision, ...other }
}

function approvals(request: ApprovalRequest): number {
  const approved = request.votes.filter((vote) => vote.decision === 'approved')
  return new Set(approved.map((vote) => vote.on_behalf_of)).size
}

function warnings(texts: readonly string[]): Pick<CardView, 'hidden_characters' | 'look_alike'> {
  const hidden = { hidden_characters: texts.some(hasHidden) }
  for (const text of texts) {
    const sentence = mixedScriptWarning(text)
    if (sentence !== undefined) return { ...hidden, look_alike: sentence }
  }
  return hidden
}

/** Every text in a JSON value that the caller wrote, names of fields included. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsOf)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsOf(inner)])
}
