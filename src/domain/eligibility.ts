import { type Refusal, refusal } from './errors.ts'
import { allowedMethods } from './policy.ts'
import type { ApprovalRequest } from './request.ts'

/** What the check needs of the person who wants to decide. */
export interface Decider {
  user_id: string
  has_passkey: boolean
  has_totp: boolean
}

/** Ordered checks: named, still pending, no dry-run, not voted yet, has a permitted factor. @returns the first that fails. */
export function whyNot(request: ApprovalRequest, person: Decider): Refusal | undefined {
  if (!isNamed(request, person.user_id)) return refusal('not_found')
  if (request.status !== 'pending') return refusal('not_pending', { status: request.status })
  // A person's proof under the sandbox mark would be a receipt that is neither one nor the other (T72).
  if (request.sandbox) return refusal('sandbox_request')
  if (hasVoted(request, person.user_id)) return refusal('already_voted')
  if (methodsFor(request, person).length === 0) return refusal('passkey_required')
  return undefined
}

/** The factors this person may use on this request; see `allowedMethods`. */
export function methodsFor(request: ApprovalRequest, person: Decider): ('passkey' | 'totp')[] {
  return allowedMethods(
    { passkey_only: request.requirement.passkey_only, high_impact: request.high_impact },
    person,
  )
}

/** Is this way of proving presence open to the person? @returns the refusal if not. */
export function whyNotMethod(
  request: ApprovalRequest,
  person: Decider,
  method: 'passkey' | 'totp',
): Refusal | undefined {
  if (method === 'passkey' && !person.has_passkey) return refusal('method_not_enrolled')
  if (method === 'totp' && !person.has_totp) return refusal('method_not_enrolled')
  if (!methodsFor(request, person).includes(method)) return refusal('passkey_required')
  return undefined
}

/** Is the person one of the approvers fixed at creation? Later changes of policy or membership do not matter (T79). */
export function isNamed(request: ApprovalRequest, userId: string): boolean {
  return request.requirement.approvers.some((approver) => approver.user_id === userId)
}

/** Has a vote of this person, or for this person, been counted? */
function hasVoted(request: ApprovalRequest, userId: string): boolean {
  return request.votes.some((vote) => vote.on_behalf_of === userId)
}
