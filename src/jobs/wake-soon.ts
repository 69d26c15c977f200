import type { Wakeups } from '../flow/delivery-ports.ts'
import type { Clock } from '../flow/ports.ts'

/** Later than the time itself, which the store may still call future. */
const AFTER_MS = 5

/** What is due within this is also waited for here. */
const SOON_MS = 60_000

/**
 * Agenda looks every 200 ms, and wakes any process. The process that asked is there anyhow: it wakes itself too, on the
 * millisecond, so that a retry after one second comes after one second.
 */
export function wakeSoon(wakeups: Wakeups, wake: () => void, clock: Clock): Wakeups {
  return {
    at(sweep, time) {
      wakeups.at(sweep, time)
      const wait = time.getTime() - clock.now().getTime() + AFTER_MS
      if (wait <= SOON_MS) setTimeout(wake, Math.max(0, wait)).unref()
    },
  }
}
