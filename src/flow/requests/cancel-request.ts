import type { AuditActor } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import { drawEvent } from '../../domain/event.ts'
import { expiredData } from '../../domain/event-data.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { FlowDeps } from '../deps.ts'
import { type Caller, callerActor } from '../keys/authenticate-caller.ts'
import type { Owner } from '../people/accounts.ts'
import { auditEntry } from './close-request.ts'
import { findOwnRequest } from './read-request.ts'
import { expireIfLapsed } from './settle-request.ts'

/**
 * Withdraws a pending request: it is `expired` at once, marked `cancelled`; nothing is signed and no callback sent.
 * @throws Refusal `not_found`, `not_pending`
 */
export async function cancelRequest(deps: FlowDeps, caller: Caller, id: string): Promise<ApprovalRequest> {
  const request = await expireIfLapsed(deps, await findOwnRequest(deps, caller, id))
  if (request.status !== 'pending') throw refusal('not_pending', { status: request.status })
  const cancelled = await withdraw(deps, request, callerActor(caller))
  if (cancelled === undefined) throw await whyNotCancelled(deps, caller, id)
  return cancelled
}

/**
 * Withdraws requests of the person's own account: those a stolen key made, or that a removed person could still decide (T79).
 * Unknown, foreign and finished requests are left as they are.
 * @returns the ids of the requests that were withdrawn
 */
export async function withdrawForOwner(
  deps: FlowDeps,
  { accountId, actor }: Owner,
  ids: readonly string[],
): Promise<string[]> {
  const found = await deps.requests.findMany(ids)
  const open = found.filter(({ account_id, status }) => account_id === accountId && status === 'pending')
  const withdrawn = await Promise.all(open.map((request) => withdraw(deps, request, actor)))
  return withdrawn.flatMap((request) => request?.id ?? [])
}

/** Withdraws a request in one conditional write. @returns undefined when it is no longer pending */
export async function withdraw(
  deps: FlowDeps,
  request: ApprovalRequest,
  actor: AuditActor,
): Promise<ApprovalRequest | undefined> {
  const at = deps.clock.now()
  const event = drawEvent(deps, 'approval.expired', at, expiredData(request, true))
  const audit = auditEntry(deps, request, 'approval.cancelled', actor, at)
  const cancelled = await deps.requests.cancel(request.id, event, audit)
  if (cancelled !== undefined) deps.changes.changed(request.id)
  return cancelled
}

async function whyNotCancelled(deps: FlowDeps, caller: Caller, id: string): Promise<Error> {
  const { status } = await findOwnRequest(deps, caller, id)
  // Still pending, and yet refused: by the database's clock the request lapsed a moment before it does by ours.
  return refusal('not_pending', { status: status === 'pending' ? 'expired' : status })
}
