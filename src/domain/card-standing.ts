import type { Card } from './chat.ts'

/** The standing of a card, for its log. `behind`: the card cannot be edited; `not_sent`: nothing was posted while it mattered. */
export type CardStanding = 'due' | 'sending' | 'shown' | 'behind' | 'not_sent' | 'unreachable'

/** Returns the standing of a card. */
export function standingOf(card: Card): CardStanding {
  if (card.state === 'due' || card.state === 'unreachable') return card.state
  if (card.state === 'leased') return 'sending'
  if (card.message === undefined) return 'not_sent'
  return card.shown < card.wanted ? 'behind' : 'shown'
}

/** Checks whether the platform last said that there is no one to send the card to, although it may be asked again. */
export function isUnreached({ state, attempts }: Pick<Card, 'state' | 'attempts'>): boolean {
  return state === 'unreachable' || (state !== 'idle' && attempts.at(-1)?.outcome === 'unreachable')
}

/**
 * Lists approvers who have cards, but no message delivered or under way; the caller has to reach them another way.
 * @returns user ids
 */
export function notReachable(cards: readonly Card[]): string[] {
  const reached = new Map<string, boolean>()
  for (const card of cards) {
    if (card.recipient.kind !== 'approver') continue
    const { user_id } = card.recipient
    const nowhere =
      isUnreached(card) || card.state === 'idle' || card.attempts.at(-1)?.outcome === 'unavailable'
    const lost = card.message === undefined && nowhere
    reached.set(user_id, (reached.get(user_id) ?? false) || !lost)
  }
  return [...reached].filter(([, is]) => !is).map(([userId]) => userId)
}
