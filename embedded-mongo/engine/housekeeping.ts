import type { StoreEngine } from './store-engine.ts'
import { sweepExpired } from './ttl-sweep.ts'

/** How often MongoDB's TTL monitor runs, too. */
const INTERVAL_MS = 60_000

/**
 * Once a minute: removes documents that TTL indexes have expired and forgets idle cursors.
 * Returns a function that stops it.
 */
export function startHousekeeping(
  engine: StoreEngine,
  service: { afterCommit(done: () => void): void },
): () => void {
  let pending: NodeJS.Immediate | undefined
  const sweep = () => {
    const now = new Date()
    engine.cursors.expire(now.getTime())
    const more = sweepExpired(engine, now)
    // A large backlog is worked off in steps, so that commands get their turn in between.
    service.afterCommit(() => {
      if (more) pending = setImmediate(sweep)
    })
  }
  const timer = setInterval(sweep, INTERVAL_MS)
  timer.unref()
  return () => {
    clearInterval(timer)
    clearImmediate(pending)
  }
}
