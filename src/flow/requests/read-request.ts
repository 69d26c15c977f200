import { refusal } from '../../domain/errors.ts'
import { isId } from '../../domain/identifier.ts'
import type { ApprovalRequest, RequestStatus } from '../../domain/request.ts'
import type { ListPosition } from '../../store/mongo/filters.ts'
import type { ListQuery } from '../../store/requests/requests.ts'
import type { FlowDeps } from '../deps.ts'
import type { Caller } from '../keys/authenticate-caller.ts'
import { settleRequest } from './settle-request.ts'

/**
 * Reads a request that the caller may read, and brings it up to date: it is reading that makes a due sandbox decision.
 * @throws Refusal `not_found` for malformed, unknown and foreign ids alike (T55)
 */
export async function readOwnRequest(deps: FlowDeps, caller: Caller, id: string): Promise<ApprovalRequest> {
  return settleRequest(deps, await findReadableRequest(deps, caller, id))
}

/**
 * Finds a request that the caller may read and remind of: one that its key made or, with the internal token, one that any key
 * of the named user's account made (interface, "Authentication", rule 2).
 * @throws Refusal `not_found` for malformed, unknown and foreign ids alike (T55)
 */
export async function findReadableRequest(
  deps: FlowDeps,
  caller: Caller,
  id: string,
): Promise<ApprovalRequest> {
  if (caller.internal_user_id === undefined) return findOwnRequest(deps, caller, id)
  const request = isId('req', id) ? await deps.requests.find(id) : undefined
  if (request === undefined || request.account_id !== caller.key.account_id) throw refusal('not_found')
  return request
}

/** Finds a request that the caller's own key made. @throws Refusal as `findReadableRequest` */
export async function findOwnRequest(deps: FlowDeps, caller: Caller, id: string): Promise<ApprovalRequest> {
  const request = isId('req', id) ? await deps.requests.find(id) : undefined
  if (request === undefined || request.api_key_id !== caller.key.id) throw refusal('not_found')
  return request
}

/** Pending dry-runs that are brought up to date, at most, before a list by another status is read. */
const MOST_DUE = 100

/**
 * Returns a page of the caller's own requests, newest first and up to date, due dry-runs decided; `next`: where the next page
 * begins. A page with fewer than `limit` is not always the last: a request can change while it is read.
 */
export async function listOwnRequests(
  deps: FlowDeps,
  caller: Caller,
  query: { status?: RequestStatus; limit: number; before?: NonNullable<ListQuery['before']> },
): Promise<{ requests: ApprovalRequest[]; next: ListPosition | undefined }> {
  const { id: api_key_id, sandbox } = caller.key
  const settleAll = (found: ApprovalRequest[]) =>
    Promise.all(found.map((request) => settleRequest(deps, request)))
  if (sandbox && query.status !== undefined && query.status !== 'pending')
    await settleAll(await deps.requests.list({ api_key_id, status: 'pending', limit: MOST_DUE }))
  const found = await deps.requests.list({ ...query, limit: query.limit + 1, api_key_id })
  const page = await settleAll(found.slice(0, query.limit))
  const requests = page.filter(({ status }) => query.status === undefined || status === query.status)
  return { requests, next: found.length > page.length ? page.at(-1) : undefined }
}
