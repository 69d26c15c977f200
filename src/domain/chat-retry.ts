import type { Card, CardAttempt } from './chat.ts'
import { RETRY_DELAYS_MS } from './retry.ts'

/** The longest `Retry-After` honoured: a platform may ask for patience, but not park a card for ever. */
const LONGEST_RETRY_AFTER_MS = 3_600_000
const SHORTEST_RETRY_AFTER_MS = 1_000

/** The longest pause between attempts; later ones stay at it, since a platform may be down for days. */
const LONGEST_PAUSE_MS = 900_000
/** The longest pause for a card that still asks about a request that is over, since such a card misleads. */
const LONGEST_WHILE_WRONG_MS = 300_000
/** The pauses after refusals that may pass: long ones, because most do not. After the last one a card rests as unreachable. */
const PASSING_PAUSES_MS: readonly number[] = [1, 5, 15, 60, 360, 1_440].map((minutes) => minutes * 60_000)
/** Attempts after such a refusal; one that follows them all is final. */
export const PASSING_TRIES = PASSING_PAUSES_MS.length
/** Up to this share of a pause is cut at random, so that cards that failed together are not retried together. */
const JITTER = 0.25

/** What happens to a card after a call that was not accepted. */
export type CardStep =
  | { state: 'unreachable'; tries: number }
  | { state: 'due'; tries: number; delay_ms: number; ask_patience: boolean }

/** The facts that determine the pause before the next attempt. */
interface Trouble {
  /** Failed attempts in a row before this one. */
  tries: number
  /** Seconds of pause that the platform asked for. */
  retryAfter?: number | undefined
  /** The refusal may pass, although the platform calls it final. */
  passing?: boolean | undefined
  /** The card's message asks about a request that is over. */
  misleads?: boolean
  /** Random number from 0 to 1, drawn for this attempt. */
  luck: number
}

/**
 * Decides what follows a failed call. A card is never given up because calls fail. Neither a rate limit nor a process that
 * stops in the middle counts as a failure, so neither lengthens the later pauses.
 */
export function cardStepAfter(
  outcome: Exclude<CardAttempt['outcome'], 'accepted'>,
  { tries, retryAfter = 0, passing = false, misleads = false, luck }: Trouble,
): CardStep {
  const again = (pause: number): CardStep => {
    const delay_ms = Math.round(pause * (1 - JITTER * luck))
    return { state: 'due', tries: tries + 1, delay_ms, ask_patience: false }
  }
  if (outcome === 'unreachable') {
    const pause = passing ? PASSING_PAUSES_MS[tries] : undefined
    // After the long pauses it is as if refused once: an edit is still due when its channel takes a post again.
    if (pause === undefined) return { state: 'unreachable', tries: tries < PASSING_TRIES ? tries + 1 : 1 }
    return again(pause)
  }
  if (outcome === 'interrupted') return { state: 'due', tries, delay_ms: 0, ask_patience: false }
  if (outcome === 'rate_limited') {
    const asked = Math.min(retryAfter * 1000, LONGEST_RETRY_AFTER_MS)
    return { state: 'due', tries, delay_ms: Math.max(asked, SHORTEST_RETRY_AFTER_MS), ask_patience: true }
  }
  const most = misleads ? LONGEST_WHILE_WRONG_MS : LONGEST_PAUSE_MS
  return again(Math.min(RETRY_DELAYS_MS[tries] ?? LONGEST_PAUSE_MS, most))
}

/** The longest pause of the card that probes an outage. With the time that a hanging call takes, others wait 30 s at most. */
export const PROBE_MS = 15_000
/** Failed attempts in a row after which a card probes no more: it may fail alone, and for ever. Over an hour. */
const MOST_PROBES = 250

/** Shortens the pause of a card that probes for all cards of an account whether the platform is back. */
export function probeStep(step: CardStep, tries: number): CardStep {
  if (step.state !== 'due' || tries >= MOST_PROBES) return step
  return { ...step, delay_ms: Math.min(step.delay_ms, PROBE_MS) }
}

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
