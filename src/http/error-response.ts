import type { ErrorRequestHandler, RequestHandler, Response } from 'express'
import { Refusal, refusal } from '../domain/errors.ts'
import { given } from '../domain/given.ts'
import type { HttpDeps } from './http-deps.ts'
import { loggedPath, noteRefused, requestIdOf } from './middleware/log-requests.ts'

type StoreFailures = Pick<HttpDeps, 'storeIsDown'>

/** Turns every error into an answer. An unknown error becomes a bland 500 with a request id, or a 503; details go to the log. */
export function errorResponse(deps: Pick<HttpDeps, 'log' | 'clock'> & StoreFailures): ErrorRequestHandler {
  const { log, clock } = deps
  return function errorResponse(error: unknown, request, response, _next) {
    const known = error instanceof Refusal ? error : fromLibrary(error)
    if (known !== undefined && !response.headersSent) {
      sendRefusal(response, known, clock.now())
      return
    }
    const request_id = requestIdOf(response)
    log.error({ error, request_id, method: request.method, path: loggedPath(request.path) }, 'request failed')
    // The rest of an answer that has begun cannot be told in words: the client sees it cut short.
    if (response.headersSent) {
      response.destroy()
      return
    }
    sendRefusal(response, failureOf(deps, error, request_id), clock.now())
  }
}

/** Returns the refusal that stands for an error of ours, whose own words are for the log, under `request_id`. */
export function failureOf({ storeIsDown }: StoreFailures, error: unknown, request_id?: string): Refusal {
  return storeIsDown(error)
    ? refusal('storage_unavailable')
    : refusal('internal_error', given({ request_id }))
}

/** Sends `{error, message, …details}`, with its headers. */
function sendRefusal(response: Response, refused: Refusal, now: Date): void {
  const { limit: _inHeaders, resets_at: _too, ...details } = refused.details
  setRefusalHeaders(response, refused, now)
  noteRefused(response, refused.code)
  response.status(refused.status).json({ error: refused.code, message: refused.publicMessage, ...details })
}

/**
 * Sets the headers of a refusal, whatever its body is. The rate-limit headers of a 429 describe the limit that refused, not
 * another limit that let the request pass: a client that relied on the latter would retry in vain.
 */
export function setRefusalHeaders(response: Response, { status, details }: Refusal, now: Date): void {
  const { limit, resets_at, retry_after } = details
  if (status === 429 && retry_after !== undefined) {
    if (limit !== undefined) response.setHeader('X-RateLimit-Limit', String(limit))
    response.setHeader('X-RateLimit-Remaining', '0')
    const at = resets_at?.getTime() ?? now.getTime() + retry_after * 1000
    response.setHeader('X-RateLimit-Reset', String(Math.ceil(at / 1000)))
  }
  if (retry_after !== undefined) response.setHeader('Retry-After', String(retry_after))
  if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer') // RFC 9110 section 15.5.2
}

/** Answers 404, in the form of every refusal, for a path that no route handles. */
export const unknownPath: RequestHandler = () => {
  throw refusal('not_found')
}

/** The parser's error names its limit. */
function sizeOf(error: object): { limit?: number } {
  return 'limit' in error && typeof error.limit === 'number' ? { limit: error.limit / 1024 } : {}
}

/** Translates errors of Express and its parsers by their documented `type`; undefined for any other error, which is our fault. */
function fromLibrary(error: unknown): Refusal | undefined {
  if (error === null || typeof error !== 'object' || !('type' in error)) return undefined
  switch (error.type) {
    case 'entity.parse.failed':
    case 'entity.verify.failed':
    case 'request.size.invalid':
    case 'request.aborted':
      return refusal('invalid_json')
    case 'entity.too.large':
      return refusal('payload_too_large', sizeOf(error))
    case 'encoding.unsupported':
      return refusal('unsupported_media_type', {
        detail: 'Leave `Content-Encoding` out, or send gzip, deflate or br.',
      })
    case 'charset.unsupported':
      return refusal('unsupported_media_type', { detail: 'Leave the charset out, or send utf-8.' })
    default:
      return undefined
  }
}
