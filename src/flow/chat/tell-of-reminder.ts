import { setTimeout as pause } from 'node:timers/promises'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { FlowDeps } from '../deps.ts'
import { followCards } from './follow-cards.ts'

type ReminderDeps = Parameters<typeof followCards>[0] & Pick<FlowDeps, 'log'>

/** How long a caller waits to learn whether a message was accepted. */
const PATIENCE_MS = 3_000
const LOOK_EVERY_MS = 100

/**
 * Queues a reminder under the cards of the request, as the relay is about to do, and waits until a platform has accepted it
 * for an approver, here or in another process. A card that is posted together with it is a message, too.
 * @param eventId of the reminder
 * @returns false when nothing was accepted in time, or nobody can be reached; then it may still be said later
 */
export async function tellOfReminder(
  deps: ReminderDeps,
  request: ApprovalRequest,
  eventId: string,
): Promise<boolean> {
  if (deps.chats.length === 0) return false
  try {
    await followCards(deps, [{ id: request.id, events: request.outbox, audit: request.audit }])
    const end = performance.now() + PATIENCE_MS
    for (;;) {
      const state = await stateOf(deps, request.id, eventId)
      if (state !== 'open' || performance.now() > end) return state === 'said'
      await pause(LOOK_EVERY_MS)
    }
  } catch (error) {
    deps.log.warn({ error, request_id: request.id }, 'whether a reminder was sent is not known')
    return false
  }
}

async function stateOf(
  { cards, clock }: ReminderDeps,
  requestId: string,
  eventId: string,
): Promise<'said' | 'open' | 'nobody'> {
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
  return open ? 'open' : 'nobody'
}
