import { refusal } from '../domain/errors.ts'
import { buildEvent } from '../domain/event.ts'
import { remindedData } from '../domain/event-data.ts'
import { drawId } from '../domain/identifier.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import type { Caller } from './authenticate-caller.ts'
import { tellOfReminder } from './chat/tell-of-reminder.ts'
import { auditEntry } from './close-request.ts'
import type { FlowDeps } from './deps.ts'
import { findOwnRequest } from './read-request.ts'
import { expireIfLapsed } from './settle-request.ts'

/** Seconds between two reminders of one request (interface, "Limits"). */
const GAP_SECONDS = 60

/** What a reminder did. `pushSent`: at least one message to an approver was accepted within three seconds. */
export interface Reminder {
  request: ApprovalRequest
  pushSent: boolean
  remindedAt: Date
}

/**
 * Reminds the approvers of a pending request; request and TTL stay as they are. On sandbox requests a no-op.
 * @throws Refusal `not_found`, `not_pending`, `remind_rate_limited`
 */
export async function remindApprovers(
  deps: Pick<FlowDeps, 'requests' | 'clock' | 'random' | 'changes'> & Parameters<typeof tellOfReminder>[0],
  caller: Caller,
  id: string,
): Promise<Reminder> {
  const found = await findOwnRequest(deps, caller, id)
  const at = deps.clock.now()
  if (found.sandbox) return { request: found, pushSent: false, remindedAt: at }
  const request = await expireIfLapsed(deps, found)
  const event = buildEvent({
    id: drawId(deps, 'evt'),
    type: 'approval.reminded',
    at,
    data: remindedData(request),
  })
  const actor = {
    kind: caller.internal_user_id === undefined ? 'api_key' : 'internal',
    id: caller.key.id,
  } as const
  const audit = auditEntry(deps, request, 'approval.reminded', { ...actor, address: caller.address }, at)
  const reminded = await deps.requests.recordReminder(id, GAP_SECONDS, { at, event, audit })
  if (reminded === undefined) throw await whyNotReminded(deps, caller, id, at)
  return { request: reminded, pushSent: await tellOfReminder(deps, reminded, event.id), remindedAt: at }
}

async function whyNotReminded(
  deps: Pick<FlowDeps, 'requests'>,
  caller: Caller,
  id: string,
  at: Date,
): Promise<Error> {
  const request = await findOwnRequest(deps, caller, id)
  if (request.status !== 'pending') return refusal('not_pending', { status: request.status })
  // Never reminded, and yet refused: by the database's clock the time ran out a moment before ours.
  if (request.reminded_at === undefined) return refusal('not_pending', { status: 'expired' })
  const left = Math.ceil((GAP_SECONDS * 1000 - (at.getTime() - request.reminded_at.getTime())) / 1000)
  return refusal('remind_rate_limited', { retry_after: Math.min(GAP_SECONDS, Math.max(1, left)) })
}
