import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterMongo,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import type { Clock, LimitBucket, Log, RateLimiter } from '../flow/ports.ts'
import type { StoreConnection } from './connect.ts'

/** Points a minute (interface, "Limits"; `auth` covers sign-in and enrolment per address). */
export const LIMITS: Readonly<Record<LimitBucket, number>> = { create: 60, read: 120, verify: 300, auth: 60 }

const WINDOW_SECONDS = 60

/**
 * Rate limits by `rate-limiter-flexible`. `shared`: counters live in the store and hold across processes; otherwise in
 * this process's memory, which is exact while it is the only one.
 */
export function createRateLimiter(
  connection: StoreConnection,
  clock: Clock,
  log: Log,
  shared: boolean,
): RateLimiter {
  const limiter = (bucket: LimitBucket): RateLimiterAbstract => {
    const options = { points: LIMITS[bucket], duration: WINDOW_SECONDS, keyPrefix: bucket }
    return shared
      ? new RateLimiterMongo({ ...options, storeClient: connection, tableName: 'rate_limits' })
      : new RateLimiterMemory(options)
  }
  const limiters: Record<LimitBucket, RateLimiterAbstract> = {
    create: limiter('create'),
    read: limiter('read'),
    verify: limiter('verify'),
    auth: limiter('auth'),
  }
  return {
    async take(bucket, subject) {
      const limit = LIMITS[bucket]
      const state = (result: RateLimiterRes, allowed: boolean) => ({
        allowed,
        limit,
        remaining: Math.max(0, result.remainingPoints),
        resetAt: new Date(clock.now().getTime() + result.msBeforeNext),
      })
      try {
        return state(await limiters[bucket].consume(subject), true)
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return state(refused, false)
        log.error({ error: refused, bucket }, 'the rate limiter does not answer')
        const resetAt = new Date(clock.now().getTime() + WINDOW_SECONDS * 1000)
        return { allowed: bucket !== 'auth', limit, remaining: 0, resetAt }
      }
    },
  }
}
