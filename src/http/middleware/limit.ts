import type { Request, RequestHandler, Response } from 'express'
import { refusal } from '../../domain/errors.ts'
import { type LimitBucket, type LimitState, limitSubject } from '../../domain/limits.ts'
import type { RateLimiter } from '../../ports/ports.ts'
import { callerOf } from './authenticate.ts'
import { clientAddress } from './client-address.ts'
import { refuseUnknownParameters } from './known-parameters.ts'
import { sessionOf } from './session.ts'

/** Makes the checks that count a request against a key, an address or a person, and then `check` it. */
function limitBy(
  subjectOf: (request: Request, response: Response) => string,
  check: (request: Request) => void = () => {},
) {
  return ({ limiter }: { limiter: RateLimiter }, bucket: LimitBucket): RequestHandler =>
    async function limit(request, response, next) {
      applyLimit(response, await limiter.take(bucket, subjectOf(request, response)))
      check(request)
      next()
    }
}

/** Counts the request against the key that makes it (interface, "Limits"). */
export const limitByKey = limitBy((_request, response) => callerOf(response).key.id)

/** Counts the request against the network address it comes from. Such routes are open, so no 401 goes before a wrong parameter. */
export const limitByAddress = limitBy((request) => {
  return limitSubject(clientAddress(request))
}, refuseUnknownParameters)

/** Counts the request against the person who is signed in, over all their sessions. Only behind `requireSession`. */
export const limitByPerson = limitBy((_request, response) => sessionOf(response).user.id)

/**
 * Sets the rate-limit headers; `X-RateLimit-Reset` is Unix time in seconds. If two limits count the same request, the headers
 * describe the limit with less left, which will refuse first. @throws Refusal `rate limit exceeded`
 */
export function applyLimit(response: Response, state: LimitState): void {
  const earlier = Number(response.getHeader('X-RateLimit-Remaining') ?? Number.POSITIVE_INFINITY)
  if (state.allowed && earlier < state.remaining) return
  const reset = Math.ceil(state.resetAt.getTime() / 1000)
  response.setHeader('X-RateLimit-Limit', String(state.limit))
  response.setHeader('X-RateLimit-Remaining', String(state.remaining))
  response.setHeader('X-RateLimit-Reset', String(reset))
  if (state.allowed) return
  const { retryAfter: retry_after, limit, resetAt: resets_at } = state
  throw refusal('rate limit exceeded', { retry_after, limit, resets_at })
}
