import { whoseVote, whyNot, whyNotMethod } from '../domain/eligibility.ts'
import { refusal } from '../domain/errors.ts'
import { isId } from '../domain/identifier.ts'
import type { ApproverSnapshot } from '../domain/policy.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import type { User } from '../domain/user.ts'
import { deciderFor } from './people/delegates.ts'
import { settleRequest } from './settle-request.ts'

/** A request that a person may decide now, and whose vote it would be: their own, or that of whom they stand in for. */
export interface ReadyToDecide {
  request: ApprovalRequest
  whose: ApproverSnapshot
}

type ReadyDeps = Parameters<typeof settleRequest>[0] & Parameters<typeof deciderFor>[0]

/**
 * Reads the request up to date and checks, in order, that this person may decide it with this factor.
 * @throws Refusal `not_found` unless they are named or stand in for somebody named, `not_pending`, `sandbox_request`,
 * `already_voted`, `passkey_required`, `method_not_enrolled`
 */
export async function readyToDecide(
  deps: ReadyDeps,
  person: User,
  requestId: string,
  method: 'passkey' | 'totp',
): Promise<ReadyToDecide> {
  const found = isId('req', requestId) ? await deps.requests.find(requestId) : undefined
  if (found === undefined) throw refusal('not_found')
  const decider = await deciderFor(deps, person, found)
  if (whyNot(found, decider)?.code === 'not_found') throw refusal('not_found')
  const request = await settleRequest(deps, found)
  const refused = whyNot(request, decider) ?? whyNotMethod(request, decider, method)
  if (refused !== undefined) throw refused
  const whose = whoseVote(request, decider)
  if (whose === undefined) throw refusal('already_voted')
  return { request, whose }
}
