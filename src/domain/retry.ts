/**
 * The outcome of one attempt, in coarse classes only: a log that told refused from filtered ports would serve as a port
 * scanner (T7). `interrupted`: the process died before it knew the outcome. `unsigned`: nothing was sent, because the signing
 * secret could not be opened. `bounced`: the relay refused the recipient for good.
 */
export type OutcomeClass =
  | `http_${number}`
  | `smtp_${number}`
  | 'bounced'
  | 'blocked'
  | 'connect_failed'
  | 'timeout'
  | 'interrupted'
  | 'unsigned'

/** Milliseconds until the next attempt after the first, second, third and fourth failure (interface, "Retries"). */
export const RETRY_DELAYS_MS: readonly number[] = [1_000, 5_000, 30_000, 300_000]

/** Attempts in all: the first, and one after each delay. */
export const MAX_TRIES = RETRY_DELAYS_MS.length + 1

/** The longest `Retry-After` honoured: a receiver or push service may ask for patience, but not park a delivery for ever. */
const LONGEST_RETRY_AFTER_MS = 3_600_000

/** What happens to a delivery after an attempt. */
export type NextStep =
  | { state: 'delivered' }
  | { state: 'due'; delay_ms: number }
  | { state: 'dead'; gone: boolean }

/** 2xx is success, everything else is failure; redirects are not followed (T4). */
export function isDelivered(outcome: OutcomeClass): boolean {
  return /^(?:http|smtp)_2\d\d$/.test(outcome)
}

/**
 * Decides what follows an attempt. Per-request callbacks keep the interface's schedule exactly. Only account webhooks
 * honour 410 (`gone`: the receiver wants no more deliveries) and `Retry-After`, which can lengthen a delay but not shorten it.
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

/** What happens to a push after an attempt. `gone`: the browser's subscription is over, or nobody has that address. */
export type PushStep =
  | { state: 'sent' }
  | { state: 'due'; delay_ms: number }
  | { state: 'dead'; gone: boolean }

/**
 * Decides what follows an attempt (RFC 8030 §5, §7.3; RFC 5321 §4.2.1). 404 and 410 say that the subscription is over. Any other 4xx
 * except 408 and 429, and a 5xx of a mail relay, would be the same next time. All else is tried again on the schedule of deliveries, but never past `leftMs`: an
 * expired push is of no use.
 * @param tries attempts with a known outcome so far, this one included
 * @param leftMs milliseconds until the push expires
 * @param retryAfter seconds the push service asked for
 */
export function pushStepAfter(
  outcome: OutcomeClass,
  tries: number,
  leftMs: number,
  retryAfter = 0,
): PushStep {
  if (isDelivered(outcome)) return { state: 'sent' }
  if (outcome === 'http_404' || outcome === 'http_410' || outcome === 'bounced')
    return { state: 'dead', gone: true }
  if (isFinal(outcome)) return { state: 'dead', gone: false }
  const scheduled = RETRY_DELAYS_MS[tries - 1]
  if (scheduled === undefined) return { state: 'dead', gone: false }
  const delay_ms = Math.max(scheduled, Math.min(retryAfter * 1000, LONGEST_RETRY_AFTER_MS))
  return delay_ms < leftMs ? { state: 'due', delay_ms } : { state: 'dead', gone: false }
}

function isFinal(outcome: OutcomeClass): boolean {
  if (outcome === 'unsigned' || /^smtp_5\d\d$/.test(outcome)) return true
  return /^http_4\d\d$/.test(outcome) && !/^http_4(08|29)$/.test(outcome)
}
