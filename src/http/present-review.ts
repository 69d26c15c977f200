import type { Vote } from '../domain/request.ts'
import type { User } from '../domain/user.ts'
import type { Principal, Review, Waiting } from '../flow/review-request.ts'
import { contextOf, presentDecision } from './present.ts'
import { presentQuorum } from './present-account.ts'

/** Everything the hosted page shows to one person, and nothing about other people but their references. */
export function presentReview(review: Review, person: Pick<User, 'id' | 'approver'>) {
  const { request } = review
  const mine = request.requirement.approvers.find((approver) => approver.user_id === person.id)
  return {
    id: request.id,
    status: request.status,
    ...(request.cancelled ? { cancelled: true } : {}),
    action: request.action,
    context: contextOf(request),
    context_json: request.context_json,
    context_sha256: request.context_sha256,
    created_at: request.created_at.toISOString(),
    expires_at: request.expires_at.toISOString(),
    server_time: review.serverTime.toISOString(),
    high_impact: request.high_impact,
    ...(request.sandbox ? { sandbox: true } : {}),
    requested_by: presentAsker(review),
    quorum: presentQuorum(request),
    approver: mine?.approver ?? null,
    may_decide: review.mayDecide,
    ...(review.whyNot === undefined ? {} : { why_not: review.whyNot }),
    methods: review.methods,
    on_behalf_of: presentPrincipal(review.onBehalfOf, person),
    not_reachable: review.notReachable,
    votes: request.votes.map((vote) => ({
      ...presentVote(vote),
      mine: vote.user_id === person.id,
      comment: vote.comment,
    })),
    ...(request.decision === undefined ? {} : { decision: presentDecision(request, request.decision) }),
  }
}

function presentAsker({ request, keyRevoked }: Pick<Waiting, 'request' | 'keyRevoked'>) {
  const { key_name, account_name } = request.requested_by
  return { key_name, account_name, ...(keyRevoked ? { key_revoked: true } : {}) }
}

/** Somebody for whom the signed-in person acts; `delegate` is how a receipt's intent names the person. */
function presentPrincipal(principal: Principal | undefined, person: Pick<User, 'approver'>) {
  if (principal === undefined) return null
  return { name: principal.name, approver: principal.approver, delegate: person.approver }
}

/** A request in somebody's inbox: what it asks, and what they may do about it. */
export function presentWaiting(waiting: Waiting, person: Pick<User, 'approver'>) {
  const { request, methods, onBehalfOf } = waiting
  return {
    id: request.id,
    action: request.action,
    high_impact: request.high_impact,
    requested_by: presentAsker(waiting),
    created_at: request.created_at.toISOString(),
    expires_at: request.expires_at.toISOString(),
    on_behalf_of: presentPrincipal(onBehalfOf, person),
    quorum: presentQuorum(request),
    // What waits for somebody lacks their vote: only a factor can be missing.
    may_decide: methods.length > 0,
    methods,
  }
}

/** A vote without its evidence and receipt. */
export function presentVote(vote: Vote) {
  const acted = vote.delegate === undefined ? {} : { delegate: vote.delegate }
  return {
    approver: vote.approver,
    ...acted,
    decision: vote.decision,
    method: vote.method,
    at: vote.at.toISOString(),
  }
}
