/**
 * What became of one attempt, told in coarse classes only: a log that told refused from filtered ports would be a port
 * scanner (T7). `interrupted`: the process died before it knew. `unsigned`: nothing was sent, since the signing secret could
 * not be opened.
 */
export type OutcomeClass =
  | `http_${number}`
  | 'blocked'
  | 'connect_failed'
  | 'timeout'
  | 'interrupted'
  | 'unsigned'

/** Milliseconds until the next attempt after the first, second, third and fourth failure (interface, "Retries"). */
export const RETRY_DELAYS_MS: readonly number[] = [1_000, 5_000, 30_000, 300_000]

/** The first attempt and one after each delay. */
export const MAX_TRIES = RETRY_DELAYS_MS.length + 1

/** A receiver may ask for more patience, but not park a delivery for ever. */
const LONGEST_RETRY_AFTER_MS = 3_600_000

/** What happens to a delivery after an attempt. */
export type NextStep =
  | { state: 'delivered' }
  | { state: 'due'; delay_ms: number }
  | { state: 'dead'; gone: boolean }

/** 2xx is success, everything else is failure; redirects are not followed (T4). */
export function isDelivered(outcome: OutcomeClass): boolean {
  return /^http_2\d\d$/.test(outcome)
}

/**
 * Outcome of the attempt → what next. Per-request callbacks keep the interface's schedule exactly; only account webhooks
 * know 410 (`gone`: nobody wants this any more) and `Retry-After`, which can lengthen a delay but not shorten it.
 * @param tries attempts with a known outcome so far, this one included
 * @param retryAfter seconds the receiver asked for
 */
export function nextStep(
  kind: 'callback' | 'webhook',
  tries: number,
  outcome: OutcomeClass,
  retryAfter?: number,
): NextStep {
  if (isDelivered(outcome)) return { state: 'delivered' }
  if (kind === 'webhook' && outcome === 'http_410') return { state: 'dead', gone: true }
  const scheduled = RETRY_DELAYS_MS[tries - 1]
  if (scheduled === undefined) return { state: 'dead', gone: false }
  const asked = kind === 'webhook' ? Math.min((retryAfter ?? 0) * 1000, LONGEST_RETRY_AFTER_MS) : 0
  return { state: 'due', delay_ms: Math.max(scheduled, asked) }
}
