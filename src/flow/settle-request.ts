import { buildEvent } from '../domain/event.ts'
import { expiredData } from '../domain/event-data.ts'
import { drawId } from '../domain/identifier.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import { autoDecideSandbox } from './auto-decide-sandbox.ts'
import { auditEntry } from './close-request.ts'
import type { FlowDeps } from './deps.ts'

type SettleDeps = Pick<FlowDeps, 'requests' | 'clock' | 'random' | 'changes' | 'signer' | 'settings'>

/** Brings a request that was read up to date: a due sandbox decision is made, a lapsed request expires. */
export async function settleRequest(deps: SettleDeps, request: ApprovalRequest): Promise<ApprovalRequest> {
  const current = await expireIfLapsed(deps, request)
  return current.status === 'pending' && current.sandbox ? autoDecideSandbox(deps, current) : current
}

type ExpireDeps = Pick<FlowDeps, 'requests' | 'clock' | 'random' | 'changes'>

/** Expires a request whose time seems to be up; any other stays as it is. */
export async function expireIfLapsed(deps: ExpireDeps, request: ApprovalRequest): Promise<ApprovalRequest> {
  if (request.status !== 'pending' || request.expires_at > deps.clock.now()) return request
  return expireLapsed(deps, request)
}

/** Makes a lapsed request `expired`: no signature, no callback, one event. Whether it lapsed is the database's word. */
export async function expireLapsed(deps: ExpireDeps, request: ApprovalRequest): Promise<ApprovalRequest> {
  const now = deps.clock.now()
  const event = buildEvent({
    id: drawId(deps, 'evt'),
    type: 'approval.expired',
    at: now,
    data: expiredData(request),
  })
  const audit = auditEntry(deps, request, 'approval.expired', { kind: 'service' }, now)
  const expired = await deps.requests.expire(request.id, event, audit)
  if (expired !== undefined) deps.changes.changed(request.id)
  return expired ?? (await deps.requests.find(request.id)) ?? request
}
