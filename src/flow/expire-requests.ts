import type { FlowDeps } from './deps.ts'
import { expireLapsed } from './settle-request.ts'

/** Requests expired at a time: enough to keep the store busy, few enough to leave it to others in between. */
const BATCH = 32

/** Batches of one run; the rest is the next run's, so that no run outlives its lock. */
const BATCHES = 60

/**
 * Expires every request whose time is up, also those that nobody ever reads again. Safe to run anywhere, any number of
 * times at once: each expiry is one conditional write.
 * @returns when the next one is due
 */
export async function expireRequests(
  deps: Pick<FlowDeps, 'requests' | 'clock' | 'random' | 'changes'>,
): Promise<Date | undefined> {
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const lapsed = await deps.requests.lapsed(deps.clock.now(), BATCH)
    await Promise.all(lapsed.map((request) => expireLapsed(deps, request)))
    if (lapsed.length < BATCH) break
  }
  return deps.requests.nextExpiry()
}
