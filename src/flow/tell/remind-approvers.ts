import { setTimeout as pause } from 'node:timers/promises'
import { judgeReminder } from '../../domain/attention.ts'
import type { AuditActor, AuditEntry } from '../../domain/audit.ts'
import { isUnreached } from '../../domain/card-standing.ts'
import { refusal } from '../../domain/errors.ts'
import { drawEvent, type OutboxEvent } from '../../domain/event.ts'
import { remindedData } from '../../domain/event-data.ts'
import { tells, volumesOf } from '../../domain/hearing.ts'
import type { PushDevice } from '../../domain/push.ts'
import { type ApprovalRequest, cardSubjectOf } from '../../domain/request.ts'
import type { Reminder } from '../../domain/views.ts'
import type { FlowDeps } from '../deps.ts'
import { type Caller, callerActor } from '../keys/authenticate-caller.ts'
import { pendingApprovers } from '../people/delegates.ts'
import { auditEntry } from '../requests/close-request.ts'
import { findReadableRequest } from '../requests/read-request.ts'
import { expireIfLapsed, settleDue } from '../requests/settle-request.ts'
import { batchesOf, reminderId } from './card-batch.ts'
import { followCards } from './follow-cards.ts'
import { followPushes, placesOf } from './follow-pushes.ts'

/** Seconds between two reminders of one request (interface, "Limits"). */
const GAP_SECONDS = 60

/**
 * Reminds the approvers of a pending request; the request and its TTL stay as they are. A no-op on pending sandbox requests. At
 * most one a minute per request: the service's own reminders are not the caller's and do not count.
 * @throws Refusal `not_found`, `not_pending`, `remind_rate_limited`, `held_after_restore`
 */
export async function remindApprovers(deps: FlowDeps, caller: Caller, id: string): Promise<Reminder> {
  const request = await expireIfLapsed(deps, await findReadableRequest(deps, caller, id))
  const at = deps.clock.now()
  if (request.sandbox) {
    if (request.status !== 'pending') throw refusal('not_pending', { status: request.status })
    return { request, reachable: false, accepted: false, remindedAt: at }
  }
  if (request.status === 'pending' && (await deps.restores.isHeld(request)))
    throw refusal('held_after_restore')
  const reminder = reminderOf(deps, request, at, callerActor(caller))
  const reminded = await deps.requests.recordReminder(id, GAP_SECONDS, reminder)
  if (reminded === undefined) throw await whyNotReminded(deps, caller, id, at)
  const accepted = await tellOfReminder(deps, reminded, reminder.event)
  return {
    request: reminded,
    reachable: accepted || (await isReachable(deps, reminded)),
    accepted,
    remindedAt: at,
  }
}

async function whyNotReminded(deps: FlowDeps, caller: Caller, id: string, at: Date): Promise<Error> {
  const request = await findReadableRequest(deps, caller, id)
  if (request.status !== 'pending') return refusal('not_pending', { status: request.status })
  // Never reminded, and yet refused: by the database's clock the request lapsed a moment before it does by ours.
  const last = request.caller_reminded_at
  if (last === undefined) return refusal('not_pending', { status: 'expired' })
  const left = Math.ceil((GAP_SECONDS * 1000 - (at.getTime() - last.getTime())) / 1000)
  return refusal('remind_rate_limited', { retry_after: Math.min(GAP_SECONDS, Math.max(1, left)), limit: 1 })
}

/**
 * Records every automatic reminder that is due, or skips it as the rules say (`domain/attention.ts`). Safe to run in
 * any process, any number of times at once: each reminder is one conditional write.
 * @returns when the next reminder is due
 */
export async function remindAutomatically(deps: FlowDeps): Promise<Date | undefined> {
  const { nextReminder: next, remindable: read } = deps.requests
  return settleDue(deps, { next, read }, (request) => settleReminder(deps, request))
}

async function settleReminder(deps: FlowDeps, request: ApprovalRequest): Promise<void> {
  const at = deps.clock.now()
  const { remind, next } = judgeReminder(request, at)
  if (!remind) {
    await deps.requests.settleReminder(request.id, request.version, next)
    return
  }
  const { audit, ...told } = reminderOf(deps, request, at, { kind: 'service' }, true)
  const itself = audit.map((entry) => ({ ...entry, detail: { automatic: true } }))
  const reminder = { ...told, audit: [...itself, ...(await unheardEntries(deps, request, at))] }
  const reminded = await deps.requests.settleReminder(request.id, request.version, next, reminder)
  if (reminded !== undefined) deps.changes.changed(request.id)
}

/**
 * Makes the entry by which the account's owner is told that the first reminder reaches nobody; none where it reaches somebody, or
 * the owner cannot be told either.
 */
async function unheardEntries(deps: FlowDeps, request: ApprovalRequest, at: Date): Promise<AuditEntry[]> {
  if ((request.reminder_count ?? 0) > 0 || (await isReachable(deps, request))) return []
  const owner_id = (await deps.accounts.find(request.account_id))?.owner_id
  const owner = owner_id === undefined ? undefined : await deps.users.find(owner_id)
  if (owner === undefined) return []
  const isHeard = owner.chat.length > 0 || (await placesOf(deps, [owner.id])).length > 0
  const entry = auditEntry(deps, request, 'approval.unheard', { kind: 'service' }, at)
  return isHeard ? [{ ...entry, detail: { owner_id: owner.id } }] : []
}

/** Builds the event and the audit entry of a reminder. */
function reminderOf(deps: FlowDeps, request: ApprovalRequest, at: Date, actor: AuditActor, automatic?: true) {
  const event = drawEvent(deps, 'approval.reminded', at, remindedData(request, automatic))
  return { at, event, audit: [auditEntry(deps, request, 'approval.reminded', actor, at)] }
}

/** How long a caller waits to learn whether a message was accepted. */
const PATIENCE_MS = 3_000
const LOOK_EVERY_MS = 100

/**
 * Queues a reminder under the cards of the request and to its approvers' browsers, as the relay is about to do, and waits
 * until a platform or a push service has accepted it for an approver, here or in another process. A card that is posted
 * together with the reminder counts as a message as well.
 * @returns false when nothing was accepted in time, or no approver can be reached; the reminder may still be sent later
 */
async function tellOfReminder(
  deps: FlowDeps,
  request: ApprovalRequest,
  event: OutboxEvent,
): Promise<boolean> {
  try {
    const reminder = { ...request, events: request.outbox.filter(({ id }) => id === event.id) }
    const batch = (await batchesOf(deps, [request])).get(cardSubjectOf(request))
    const news = reminderId(batch, event)
    const told = [await followCards(deps, [reminder]), await followPushes(deps, [reminder])]
    if (!told.includes(true)) return false
    const end = performance.now() + PATIENCE_MS
    for (;;) {
      const states = [await stateInChat(deps, request, news), await stateOfPushes(deps, news)]
      if (states.includes('said')) return true
      if (!states.includes('open') || performance.now() > end) return false
      await pause(LOOK_EVERY_MS)
    }
  } catch (error) {
    deps.log.warn(
      { error, request_id: request.id },
      'recording a reminder failed; it may or may not have been sent',
    )
    return false
  }
}

/** Checks whether any approver for whom the request waits can be told of it somewhere, whatever became of this reminder. */
async function isReachable(deps: FlowDeps, request: ApprovalRequest): Promise<boolean> {
  const people = await pendingApprovers(deps, request, deps.clock.now())
  const places = await placesOf(deps, people)
  if (places.length > 0) {
    const account = await deps.accounts.find(request.account_id)
    const persons = new Map((await deps.users.findMany(people)).map((person) => [person.id, person]))
    const isHeard = ({ user_id, kind }: PushDevice) =>
      tells(volumesOf(persons.get(user_id), account)[kind ?? 'browser'], request) !== 'never'
    if (places.some(isHeard)) return true
  }
  if (deps.chats.length === 0) return false
  return (await deps.cards.ofRequest(cardSubjectOf(request))).some(
    ({ recipient, ...card }) =>
      recipient.kind === 'approver' && people.includes(recipient.user_id) && !isUnreached(card),
  )
}

type State = 'said' | 'open' | 'none'

async function stateInChat(
  { cards, chats, clock }: FlowDeps,
  request: ApprovalRequest,
  news: string,
): Promise<State> {
  if (chats.length === 0) return 'none'
  const found = await cards.ofRequest(cardSubjectOf(request))
  const asked = found.filter(({ recipient }) => recipient.kind === 'approver')
  const reminded = asked.flatMap((card) => {
    const reply = card.replies.find(({ id }) => id === news)
    return reply === undefined ? [] : [{ card, reply }]
  })
  if (reminded.some(({ reply }) => reply.state === 'said')) return 'said'
  return anyOpen(
    reminded.filter(({ reply }) => reply.state === 'due').map(({ card }) => card),
    clock.now(),
  )
}

async function stateOfPushes({ pushes, clock }: FlowDeps, news: string): Promise<State> {
  const sent = await pushes.ofEvent(news)
  return sent.some(({ state }) => state === 'sent') ? 'said' : anyOpen(sent, clock.now())
}

/** Returns whether any of them is being sent, or will be while the caller waits. */
function anyOpen(queued: readonly { state: string; next_at: Date }[], now: Date): State {
  const soon = now.getTime() + PATIENCE_MS
  const open = queued.some(
    ({ state, next_at }) => state === 'leased' || (state === 'due' && next_at.getTime() <= soon),
  )
  return open ? 'open' : 'none'
}
