import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterMongo,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import { type LimitBucket, REQUESTS_A_MINUTE } from '../domain/limits.ts'
import type { Clock, Log, RateLimiter } from '../flow/ports.ts'
import type { StoreConnection } from './connect.ts'
import { diskTrouble, isUnavailable } from './failures.ts'

const WINDOW_SECONDS = 60

/**
 * Rate limits by `rate-limiter-flexible`. `shared`: counters live in the store and hold across processes; otherwise they live
 * in this process's memory, which is exact for a single process. The store's unique index must exist (`indexes.ts`): without
 * it, two first requests at once would make two counters (T66).
 */
export function createRateLimiter(
  connection: StoreConnection,
  clock: Clock,
  log: Log,
  shared: boolean,
): RateLimiter {
  const options = (bucket: LimitBucket) => ({
    points: REQUESTS_A_MINUTE[bucket],
    duration: WINDOW_SECONDS,
    keyPrefix: bucket,
  })
  const inStore = (bucket: LimitBucket): RateLimiterMongo =>
    new RateLimiterMongo({
      ...options(bucket),
      storeClient: connection,
      tableName: 'rate_limits',
      disableIndexesCreation: true,
    })
  const limiter = (bucket: LimitBucket): RateLimiterAbstract =>
    shared ? inStore(bucket) : new RateLimiterMemory(options(bucket))
  const limiters = {
    create: limiter('create'),
    read: limiter('read'),
    key: limiter('key'),
    verify: limiter('verify'),
    auth: limiter('auth'),
    person: limiter('person'),
    export: limiter('export'),
    push_test: limiter('push_test'),
    bootstrap: limiter('bootstrap'),
    poll: limiter('poll'),
  }
  return overLimiters(clock, log, limiters, new RateLimiterMemory(options('read')))
}

function overLimiters(
  clock: Clock,
  log: Log,
  limiters: Record<LimitBucket, RateLimiterAbstract>,
  reads: RateLimiterMemory,
): RateLimiter {
  const consume = (bucket: LimitBucket, subject: string): Promise<RateLimiterRes> =>
    limiters[bucket].consume(subject).catch((error: unknown) => {
      // A store that takes no writes can still serve reads: then each process counts them by itself.
      if (bucket === 'read' && diskTrouble(error) !== undefined) return reads.consume(subject)
      throw error
    })
  return {
    async take(bucket, subject) {
      const limit = REQUESTS_A_MINUTE[bucket]
      const state = (msLeft: number, remaining: number, allowed: boolean) => ({
        allowed,
        limit,
        remaining: Math.max(0, remaining),
        resetAt: new Date(clock.now().getTime() + msLeft),
        retryAfter: Math.max(1, Math.ceil(msLeft / 1000)),
      })
      try {
        const taken = await consume(bucket, subject)
        return state(taken.msBeforeNext, taken.remainingPoints, true)
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return state(refused.msBeforeNext, 0, false)
        // Without the store, the call itself could not do its work either.
        if (isUnavailable(refused)) throw refused
        log.error({ error: refused, bucket }, 'the rate limiter failed')
        return state(WINDOW_SECONDS * 1000, 0, bucket !== 'auth')
      }
    },
  }
}
