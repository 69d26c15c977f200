import { setTimeout as pause } from 'node:timers/promises'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { FlowDeps } from '../deps.ts'
import { followPushes } from '../push/follow-pushes.ts'
import { followCards } from './follow-cards.ts'

type ReminderDeps = Parameters<typeof followCards>[0] &
  Parameters<typeof followPushes>[0] &
  Pick<FlowDeps, 'log'>

/** How long a caller waits to learn whether a message was accepted. */
const PATIENCE_MS = 3_000
const LOOK_EVERY_MS = 100

/**
 * Queues a reminder under the cards of the request and to its approvers' browsers, as the relay is about to do, and waits
 * until a platform or a push service has accepted it for an approver, here or in another process. A card that is posted
 * together with it is a message, too.
 * @param eventId of the reminder
 * @returns false when nothing was accepted in time, or no approver can be reached; then it may still be said later
 */
export async function tellOfReminder(
  deps: ReminderDeps,
  request: ApprovalRequest,
  eventId: string,
): Promise<boolean> {
  try {
    const reminder = { ...request, events: request.outbox.filter(({ id }) => id === eventId) }
    const told = [await followCards(deps, [reminder]), await followPushes(deps, [reminder])]
    if (!told.includes(true)) return false
    const end = performance.now() + PATIENCE_MS
    for (;;) {
      const states = [await stateInChat(deps, request.id, eventId), await stateOfPushes(deps, eventId)]
      if (states.includes('said')) return true
      if (!states.includes('open') || performance.now() > end) return false
      await pause(LOOK_EVERY_MS)
    }
  } catch (error) {
    deps.log.warn({ error, request_id: request.id }, 'whether a reminder was sent is not known')
    return false
  }
}

type State = 'said' | 'open' | 'none'

async function stateInChat(
  { cards, chats, clock }: ReminderDeps,
  requestId: string,
  eventId: string,
): Promise<State> {
  if (chats.length === 0) return 'none'
  const soon = clock.now().getTime() + PATIENCE_MS
  const asked = (await cards.ofRequest(requestId)).filter(({ recipient }) => recipient.kind === 'approver')
  const replies = asked.flatMap((card) => {
    const reply = card.replies.find(({ id }) => id === eventId)
    return reply === undefined ? [] : [{ card, reply }]
  })
  if (replies.some(({ reply }) => reply.state === 'said')) return 'said'
  const open = replies.some(
    ({ card, reply }) =>
      reply.state === 'due' &&
      (card.state === 'leased' || (card.state === 'due' && card.next_at.getTime() <= soon)),
  )
  return open ? 'open' : 'none'
}

async function stateOfPushes({ pushes, clock }: ReminderDeps, eventId: string): Promise<State> {
  const soon = clock.now().getTime() + PATIENCE_MS
  const asked = await pushes.ofEvent(eventId)
  if (asked.some(({ state }) => state === 'sent')) return 'said'
  const open = asked.some(
    ({ state, next_at }) => state === 'leased' || (state === 'due' && next_at.getTime() <= soon),
  )
  return open ? 'open' : 'none'
}
