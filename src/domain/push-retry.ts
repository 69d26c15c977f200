import { isDelivered, type OutcomeClass, RETRY_DELAYS_MS } from './retry.ts'

/** A push service may ask for more patience, but not park a push for ever. */
const LONGEST_RETRY_AFTER_MS = 3_600_000

/** What happens to a push after an attempt. `gone`: the browser's subscription is over. */
export type PushStep =
  | { state: 'sent' }
  | { state: 'due'; delay_ms: number }
  | { state: 'dead'; gone: boolean }

/**
 * Outcome of the attempt → what next (RFC 8030 §5, §7.3). 404 and 410 say that the subscription is over. Any other 4xx but
 * 408 and 429 would be the same next time. The rest is tried again as deliveries are, never past `leftMs`: news of what is
 * over helps nobody.
 * @param tries attempts with a known outcome so far, this one included
 * @param leftMs milliseconds until it expires
 * @param retryAfter seconds the push service asked for
 */
export function pushStepAfter(
  outcome: OutcomeClass,
  tries: number,
  leftMs: number,
  retryAfter = 0,
): PushStep {
  if (isDelivered(outcome)) return { state: 'sent' }
  if (outcome === 'http_404' || outcome === 'http_410') return { state: 'dead', gone: true }
  if (isFinal(outcome)) return { state: 'dead', gone: false }
  const scheduled = RETRY_DELAYS_MS[tries - 1]
  if (scheduled === undefined) return { state: 'dead', gone: false }
  const delay_ms = Math.max(scheduled, Math.min(retryAfter * 1000, LONGEST_RETRY_AFTER_MS))
  return delay_ms < leftMs ? { state: 'due', delay_ms } : { state: 'dead', gone: false }
}

function isFinal(outcome: OutcomeClass): boolean {
  return outcome === 'unsigned' || (/^http_4\d\d$/.test(outcome) && !/^http_4(08|29)$/.test(outcome))
}
