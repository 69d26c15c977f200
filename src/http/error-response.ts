import type { ErrorRequestHandler, RequestHandler, Response } from 'express'
import { Refusal, refusal } from '../domain/errors.ts'
import type { HttpDeps } from './http-deps.ts'
import { loggedPath, noteRefused, requestIdOf } from './middleware/log-requests.ts'

/** The one place where an error becomes an answer. Unknown errors: a bland 500 with a request id, or 503; details go to the log. */
export function errorResponse({
  log,
  clock,
  storeIsDown,
  storeIsDamaged,
}: Pick<HttpDeps, 'log' | 'clock' | 'storeIsDown' | 'storeIsDamaged'>): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error)
      return
    }
    const known = error instanceof Refusal ? error : fromLibrary(error)
    if (known !== undefined) {
      sendRefusal(response, known, clock.now())
      return
    }
    const request_id = requestIdOf(response)
    log.error({ error, request_id, method: request.method, path: loggedPath(request.path) }, 'request failed')
    if (storeIsDown(error)) {
      sendRefusal(response, refusal('storage_unavailable'), clock.now())
      return
    }
    const bland = refusal(storeIsDamaged(error) ? 'storage_damaged' : 'internal_error')
    noteRefused(response, bland.code)
    response.status(bland.status).json({ error: bland.code, message: bland.publicMessage, request_id })
  }
}

/** Sends `{error, message, …details}`, with its headers. */
function sendRefusal(response: Response, refused: Refusal, now: Date): void {
  const { limit: _inHeaders, ...details } = refused.details
  setRefusalHeaders(response, refused, now)
  noteRefused(response, refused.code)
  response.status(refused.status).json({ error: refused.code, message: refused.publicMessage, ...details })
}

/**
 * What a refusal says in headers, whatever its body is. The rate-limit headers of a 429 speak of the limit that refused, not of
 * the other one that had let the request through: a client that goes by them would come back in vain.
 */
export function setRefusalHeaders(response: Response, { status, details }: Refusal, now: Date): void {
  const { limit, retry_after } = details
  if (status === 429 && retry_after !== undefined) {
    if (limit !== undefined) response.setHeader('X-RateLimit-Limit', String(limit))
    response.setHeader('X-RateLimit-Remaining', '0')
    response.setHeader('X-RateLimit-Reset', String(Math.ceil(now.getTime() / 1000) + retry_after))
  }
  if (retry_after !== undefined) response.setHeader('Retry-After', String(retry_after))
  if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer') // RFC 9110 section 15.5.2
}

/** 404 in the same form for every path that nothing answers. */
export const unknownPath: RequestHandler = () => {
  throw refusal('not_found')
}

/** Errors of Express and its parsers that have a meaning of their own, by their documented `type`; everything else is ours. */
function fromLibrary(error: unknown): Refusal | undefined {
  if (error === null || typeof error !== 'object' || !('type' in error)) return undefined
  switch (error.type) {
    case 'entity.parse.failed':
    case 'entity.verify.failed':
    case 'request.size.invalid':
    case 'request.aborted':
      return refusal('invalid_json')
    case 'entity.too.large':
      return refusal('payload_too_large')
    case 'encoding.unsupported':
      return refusal('unsupported_media_type', {
        detail: 'Content-Encoding must be gzip, deflate or br, or left out',
      })
    case 'charset.unsupported':
      return refusal('unsupported_media_type', { detail: 'charset must be utf-8, or left out' })
    default:
      return undefined
  }
}
