import type { Card, CardAttempt } from './chat.ts'
import { RETRY_DELAYS_MS } from './retry.ts'

/** A platform may ask for more patience, but not park a card for ever. */
const LONGEST_RETRY_AFTER_MS = 3_600_000
const SHORTEST_RETRY_AFTER_MS = 1_000

/** What happens to a card after a call that was not accepted. `exhausted`: it rests until the next change. */
export type CardStep =
  | { state: 'unreachable'; tries: number }
  | { state: 'due'; tries: number; delay_ms: number; ask_patience: boolean }
  | { state: 'idle'; tries: number; exhausted: true }

/**
 * Outcome of the call → what next. Being asked for patience is no failure, so it uses up no try; neither does a process that
 * stops in the middle.
 * @param tries failed attempts in a row before this one
 * @param retryAfter seconds the platform asked for
 */
export function cardStepAfter(
  outcome: Exclude<CardAttempt['outcome'], 'accepted'>,
  tries: number,
  retryAfter = 0,
): CardStep {
  if (outcome === 'unreachable') return { state: 'unreachable', tries: 0 }
  if (outcome === 'interrupted') return { state: 'due', tries, delay_ms: 0, ask_patience: false }
  if (outcome === 'rate_limited') {
    const asked = Math.min(retryAfter * 1000, LONGEST_RETRY_AFTER_MS)
    return { state: 'due', tries, delay_ms: Math.max(asked, SHORTEST_RETRY_AFTER_MS), ask_patience: true }
  }
  const delay = RETRY_DELAYS_MS[tries]
  if (delay === undefined) return { state: 'idle', tries: 0, exhausted: true }
  return { state: 'due', tries: tries + 1, delay_ms: delay, ask_patience: false }
}

/**
 * How a card stands, in words for its log. `behind`: given up until the next change; `not_sent`: the request was over before
 * anything was posted, or posting was given up.
 */
export type CardStanding = 'due' | 'sending' | 'shown' | 'behind' | 'not_sent' | 'unreachable'

/** Says how a card stands. */
export function standingOf(card: Card): CardStanding {
  if (card.state === 'due' || card.state === 'unreachable') return card.state
  if (card.state === 'leased') return 'sending'
  if (card.message === undefined) return 'not_sent'
  return card.shown < card.wanted ? 'behind' : 'shown'
}

/**
 * Approvers with cards but without a delivered or pending message; the caller has to reach them another way.
 * @returns user ids
 */
export function notReachable(cards: readonly Card[]): string[] {
  const reached = new Map<string, boolean>()
  for (const card of cards) {
    if (card.recipient.kind !== 'approver') continue
    const { user_id } = card.recipient
    const lost = card.message === undefined && (card.state === 'unreachable' || card.state === 'idle')
    reached.set(user_id, (reached.get(user_id) ?? false) || !lost)
  }
  return [...reached].filter(([, is]) => !is).map(([userId]) => userId)
}
