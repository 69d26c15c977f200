import { type LimitBucket, limitState, REQUESTS_A_MINUTE } from '../domain/limits.ts'
import type { Clock, Log, RateLimiter } from '../ports/ports.ts'
import { beyond } from './clock.ts'
import type { StoreConnection } from './mongo/connect.ts'
import { diskTrouble, isDuplicateKey, isUnavailable } from './mongo/failures.ts'

const WINDOW_MS = 60_000

/** Counts so many more requests by this key. @returns how many its window has now, and the milliseconds until that ends */
type Count = (key: string, times: number) => Promise<{ taken: number; msLeft: number }>

/**
 * Rate limits in fixed windows. `shared`: the counters live in the store and hold across processes; otherwise they live in this
 * process's memory, which is exact for a single process. The store's unique index must exist (`indexes.ts`): without it, two first
 * requests at once would make two counters (T66).
 */
export function createRateLimiter(
  connection: StoreConnection,
  clock: Clock,
  log: Log,
  shared: boolean,
): RateLimiter {
  const inMemory = countInMemory(clock)
  const counts = shared ? countInStore(connection, clock) : inMemory
  const count = (bucket: LimitBucket, key: string, times: number): ReturnType<Count> =>
    counts(key, times).catch((error: unknown) => {
      // A store that takes no writes can still serve reads: then each process counts them by itself.
      if (bucket === 'read' && diskTrouble(error) !== undefined) return inMemory(key, times)
      throw error
    })
  return {
    async take(bucket, subject, times = 1) {
      const limit = REQUESTS_A_MINUTE[bucket]
      try {
        const counted = await count(bucket, `${bucket}:${subject}`, times)
        return limitState(limit, { ...counted, now: clock.now() })
      } catch (error) {
        // Without the store, the call itself could not do its work either.
        if (isUnavailable(error)) throw error
        log.error({ error, bucket }, 'the rate limiter failed')
        return limitState(limit, { taken: limit, now: clock.now(), msLeft: WINDOW_MS }, bucket !== 'auth')
      }
    },
  }
}

/** By the steady clock. */
function countInMemory(clock: Pick<Clock, 'steady'>): Count {
  // In the order in which they end.
  const windows = new Map<string, { taken: number; ends: number }>()
  return async (key, times) => {
    const now = clock.steady()
    for (const [old, { ends }] of windows) {
      if (ends > now) break
      windows.delete(old)
    }
    const window = windows.get(key) ?? { taken: 0, ends: now + WINDOW_MS }
    window.taken += times
    windows.set(key, window)
    return { taken: window.taken, msLeft: window.ends - now }
  }
}

interface Counter {
  key: string
  points: number
  expire: Date
}

/** Tries of one count; it is only tried again when another process has begun a window, or ended one, at the same moment. */
const MAX_TRIES = 16

/**
 * By the store's time, whatever the clocks of the processes say (T75). A window that ends later than any window can was begun
 * before the store's clock was set back, and is over.
 */
function countInStore(connection: StoreConnection, clock: Pick<Clock, 'now'>): Count {
  const counters = connection.collection<Counter>('rate_limits')
  const after = { returnDocument: 'after' } as const
  return async (key, times) => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const now = clock.now()
      const expire = new Date(now.getTime() + WINDOW_MS)
      const latest = beyond(expire)
      const running = { key, expire: { $gt: now, $lte: latest } }
      const over = { key, $or: [{ expire: { $lte: now } }, { expire: { $gt: latest } }] }
      const one = { $inc: { points: times }, $setOnInsert: { expire } }
      const counted =
        (await counters.findOneAndUpdate(running, one, { ...after, upsert: true }).catch(unlessOver)) ??
        (await counters.findOneAndUpdate(over, { $set: { points: times, expire } }, after))
      if (counted === null) continue
      const msLeft = Math.min(WINDOW_MS, counted.expire.getTime() - now.getTime())
      return { taken: counted.points, msLeft }
    }
    throw new Error('a request could not be counted')
  }
}

/** The counter of a window that is over is in the way of a new one. */
function unlessOver(error: unknown): null {
  if (!isDuplicateKey(error)) throw error
  return null
}
