import { type Refusal, type RefusalCode, refusal } from './errors.ts'
import { type ApproverSnapshot, allowedMethods, type Requirement } from './policy.ts'
import type { Outcome } from './receipt.ts'
import type { ApprovalRequest } from './request.ts'

/** The facts that the checks need about the person who wants to decide. */
export interface Decider {
  user_id: string
  /** The person has a passkey that the request's `authenticators` permit. */
  has_passkey: boolean
  has_totp: boolean
  /** Ids of the people for whom this person stands in now, in the request's account. */
  stands_in_for?: readonly string[]
  /** The request is held after a restore (`isHeldBy`). */
  held?: true
  /** A delegate whom the operator did not vouch for, on a request that counts only people vouched for. */
  not_confirmed?: true
}

/**
 * Checks in order: named, still pending, no dry run, not held, not voted yet, vouched for, has a permitted factor.
 * @returns the refusal of the first check that fails
 */
export function whyNot(request: ApprovalRequest, person: Decider): Refusal | undefined {
  if (namedBy(request, person).length === 0) return refusal('not_found')
  if (request.status !== 'pending') return refusal('not_pending', { status: request.status })
  // A person's proof under the sandbox mark would make a receipt that is neither real nor a dry run (T72).
  if (request.sandbox) return refusal('sandbox_request')
  if (person.held) return refusal('held_after_restore')
  if (whoseVote(request, person) === undefined) return refusal('already_voted')
  if (person.not_confirmed) return refusal('not_confirmed')
  if (methodsFor(request, person).length === 0) return refusal(noPasskey(request, 'passkey_required'))
  return undefined
}

/** Chooses the refusal code for a missing passkey; requests that count only some authenticators have a code of their own. */
function noPasskey(
  { requirement }: Pick<ApprovalRequest, 'requirement'>,
  otherwise: 'passkey_required' | 'method_not_enrolled',
): RefusalCode {
  return requirement.authenticators === undefined ? otherwise : 'authenticator_refused'
}

/**
 * Returns the approver whose vote this person would cast: the person themself when named, else the first named approver for
 * whom they stand in and who has no vote yet.
 * @returns undefined when the person has acted on this request before, or no approver is left: nobody acts twice, so a
 * delegate cannot provide both pairs of eyes where two must look
 */
export function whoseVote(request: ApprovalRequest, person: Decider): ApproverSnapshot | undefined {
  if (request.votes.some((vote) => vote.user_id === person.user_id)) return undefined
  return namedBy(request, person).find(
    ({ user_id }) => !request.votes.some((vote) => vote.on_behalf_of === user_id),
  )
}

/** Lists the factors that this person may use on this request; see `allowedMethods`. */
export function methodsFor(request: ApprovalRequest, person: Decider): ('passkey' | 'totp')[] {
  return allowedMethods(
    { passkey_only: request.requirement.passkey_only, high_impact: request.high_impact },
    person,
  )
}

/** Checks whether the person may prove presence in this way. @returns the refusal if not */
export function whyNotMethod(
  request: ApprovalRequest,
  person: Decider,
  method: 'passkey' | 'totp',
): Refusal | undefined {
  if (method === 'passkey' && !person.has_passkey) return refusal(noPasskey(request, 'method_not_enrolled'))
  if (method === 'totp' && !person.has_totp) return refusal('method_not_enrolled')
  if (!methodsFor(request, person).includes(method)) return refusal('passkey_required')
  return undefined
}

/** Checks whether the person is an approver fixed at creation. Later changes of policy or membership do not matter (T79). */
export function isNamed(request: Pick<ApprovalRequest, 'requirement'>, userId: string): boolean {
  return request.requirement.approvers.some((approver) => approver.user_id === userId)
}

/** Checks whether the person cast one of the votes, for themself or as a delegate. */
export function hasActed(request: ApprovalRequest, userId: string): boolean {
  return request.votes.some((vote) => vote.user_id === userId)
}

/** Returns the person themself when named, else all named people for whom they stand in. A named person votes for no other. */
function namedBy(request: ApprovalRequest, person: Decider): ApproverSnapshot[] {
  const { approvers } = request.requirement
  if (isNamed(request, person.user_id)) return approvers.filter(({ user_id }) => user_id === person.user_id)
  const others = person.stands_in_for ?? []
  return approvers.filter(({ user_id }) => others.includes(user_id))
}

/** The part of a vote that counts. */
export interface CountedVote {
  /** The person who acted. */
  user_id: string
  /** The person whose vote it is: the approver, or the person a delegate stood in for. */
  on_behalf_of: string
  decision: Outcome
}

/**
 * Tallies votes in any order: one rejection rejects; `quorum` different approvers approve; strangers never count; no person is
 * counted twice. The approvals of a person who acted for several people count for none of them. `whoseVote` already prevents
 * such votes; this is the last line of defence.
 */
export function tally(votes: readonly CountedVote[], requirement: Requirement): 'pending' | Outcome {
  const named = new Set(requirement.approvers.map((approver) => approver.user_id))
  const counting = votes.filter((vote) => named.has(vote.on_behalf_of))
  if (counting.some((vote) => vote.decision === 'rejected')) return 'rejected'
  const approvals = new Set(
    counting.filter((vote) => actedForOne(counting, vote.user_id)).map((vote) => vote.on_behalf_of),
  )
  return approvals.size >= requirement.quorum ? 'approved' : 'pending'
}

function actedForOne(votes: readonly CountedVote[], actor: string): boolean {
  return new Set(votes.filter((vote) => vote.user_id === actor).map((vote) => vote.on_behalf_of)).size === 1
}
