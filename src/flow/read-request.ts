import { refusal } from '../domain/errors.ts'
import { isId } from '../domain/identifier.ts'
import type { ApprovalRequest, RequestStatus } from '../domain/request.ts'
import type { ListQuery } from '../store/requests.ts'
import type { Caller } from './authenticate-caller.ts'
import type { FlowDeps } from './deps.ts'
import { expireIfLapsed, settleRequest } from './settle-request.ts'

type ReadDeps = Pick<FlowDeps, 'requests' | 'clock' | 'random' | 'changes' | 'signer' | 'settings'>

/**
 * The caller's own request, up to date: reading is what makes a due sandbox decision.
 * @throws Refusal `not_found` for malformed, unknown and foreign ids alike (T55)
 */
export async function readOwnRequest(deps: ReadDeps, caller: Caller, id: string): Promise<ApprovalRequest> {
  return settleRequest(deps, await findOwnRequest(deps, caller, id))
}

/** As `readOwnRequest`, without bringing it up to date. */
export async function findOwnRequest(
  deps: Pick<FlowDeps, 'requests'>,
  caller: Caller,
  id: string,
): Promise<ApprovalRequest> {
  const request = isId('req', id) ? await deps.requests.find(id) : undefined
  if (request === undefined || request.api_key_id !== caller.key.id) throw refusal('not_found')
  return request
}

/** A page of the caller's own requests, newest first, lapsed ones expired; `more` tells whether another page follows. */
export async function listOwnRequests(
  deps: ReadDeps,
  caller: Caller,
  query: { status?: RequestStatus; limit: number; before?: NonNullable<ListQuery['before']> },
): Promise<{ requests: ApprovalRequest[]; more: boolean }> {
  const found = await deps.requests.list({ ...query, limit: query.limit + 1, api_key_id: caller.key.id })
  const page = found.slice(0, query.limit)
  const requests = await Promise.all(page.map((request) => expireIfLapsed(deps, request)))
  return { requests, more: found.length > query.limit }
}
