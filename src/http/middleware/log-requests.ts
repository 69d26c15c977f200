import { randomUUID } from 'node:crypto'
import type { Request, RequestHandler, Response } from 'express'
import { given } from '../../domain/given.ts'
import { readTraceparent } from '../../domain/trace-parent.ts'
import type { Log } from '../../ports/ports.ts'
import type { AnsweredSpan, Tracing } from '../../ports/tracing.ts'
import { clientAddress } from './client-address.ts'
import { whoCalled } from './session.ts'

/** Returns the path for the log, without bootstrap ids: the only secrets in an address, redacted also when percent-encoded. */
export function loggedPath(path: string): string {
  return path
    .split('/')
    .map((part) => (/boot_/i.test(decoded(part) ?? part) ? '[redacted]' : part))
    .join('/')
}

/** Decodes a part of an address; undefined if its percent-encoding is invalid. */
export function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

const refused = new WeakMap<Response, string>()

/** Records the error code that the caller got, for the log line of this request. */
export function noteRefused(response: Response, code: string): void {
  refused.set(response, code)
}

/** The outcome of a request, for metrics. */
export interface Answered {
  method: string
  /** The pattern of the route, of which there are few; `none` for a request that reached no route. */
  route: string
  /** 499: the caller hung up before there was an answer. */
  status: number
  seconds: number
  /** The error code of a refusal. */
  error?: string
}

interface RequestLog {
  log: Log
  /** The level of a line; health checks are always logged at `debug`. */
  requestLevel: 'info' | 'debug'
  tracing: Tracing
  onAnswered?: ((answered: Answered) => void) | undefined
}

/** Logs one line per request and traces it: route and path without query, ids of the caller, error code of a refusal; never a header or a body. */
export function logRequests({ log, requestLevel, tracing, onAnswered }: RequestLog): RequestHandler {
  return function logRequests(request, response, next) {
    const started = performance.now()
    const { method } = request
    const path = loggedPath(request.path)
    const traceparent = readTraceparent(request.get('traceparent'))
    const request_id = requestIdOf(response)
    let ended = (_answered: AnsweredSpan): void => undefined
    // `close` also comes when the caller hangs up, which a caller that waits for a decision may do.
    response.on('close', () => {
      const seconds = (performance.now() - started) / 1000
      const status = response.headersSent ? response.statusCode : UNANSWERED
      const route = routeOf(request, path)
      const error = refused.get(response)
      onAnswered?.({ method, route, status, seconds, ...given({ error }) })
      ended({ method, route, status, request_id, ...given({ error }) })
      const left = response.writableFinished ? {} : { cut_off: true }
      const fields = { method, route, path, status, ms: Math.round(seconds * 1000), ...left }
      const trace_id = traceparent?.split('-')[1]
      const who = { address: clientAddress(request), ...whoCalled(response) }
      const level = HEALTH.has(path) ? 'debug' : requestLevel
      log[level]({ request_id, ...fields, ...given({ error, trace_id }), ...who }, 'request')
    })
    if (HEALTH.has(path)) next()
    else ended = tracing.request(traceparent, next)
  }
}

/** The status nginx logs when the caller hung up before there was an answer. */
const UNANSWERED = 499

const HEALTH: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/**
 * Returns the route's pattern with its mount path. After an error Express has dropped the mount path, so it is taken from the
 * request's path: mount paths have no parameters, and Express matches them in any case, hence the lower case.
 */
function routeOf({ route }: Request, path: string): string {
  const pattern: unknown = route?.path
  if (Array.isArray(pattern)) return 'pages'
  if (typeof pattern !== 'string') return 'none'
  const own = partsOf(pattern)
  const parts = partsOf(path.toLowerCase())
  return `/${[...parts.slice(0, Math.max(0, parts.length - own.length)), ...own].join('/')}`
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '')
}

const HEADER = 'X-Request-Id'

/** Gives every answer an id that this service draws, for the caller to quote and for searching the log. */
export const requestId: RequestHandler = (_request, response, next) => {
  response.setHeader(HEADER, randomUUID())
  next()
}

/** Returns the id of this answer. */
export function requestIdOf(response: Response): string {
  return String(response.getHeader(HEADER) ?? '')
}
