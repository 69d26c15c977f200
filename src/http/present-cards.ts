import { standingOf } from '../domain/chat-retry.ts'
import type { LoggedCard } from '../flow/webhooks/delivery-log.ts'

/** A card: whom it is for by reference, never who or where they are on the platform. */
export function presentCard({ card, approver }: LoggedCard) {
  return {
    id: card.id,
    platform: card.platform,
    recipient: card.recipient.kind,
    ...(approver === undefined ? {} : { approver }),
    state: standingOf(card),
    next_attempt_at: card.state === 'due' ? card.next_at.toISOString() : null,
    attempts: card.attempts.map(({ at, what, outcome, duration_ms }) => ({
      at: at.toISOString(),
      what,
      outcome,
      duration_ms: Math.round(duration_ms),
    })),
    created_at: card.created_at.toISOString(),
  }
}
