import { randomUUID } from 'node:crypto'
import type { Request, RequestHandler, Response } from 'express'
import { given } from '../../domain/given.ts'
import type { Log } from '../../flow/ports.ts'
import { clientAddress } from './client-address.ts'
import { whoCalled } from './session.ts'

/** The path for the log: without the one secret that the interface puts into an address, in whatever coding it comes. */
export function loggedPath(path: string): string {
  return path
    .split('/')
    .map((part) => (/boot_/i.test(decoded(part) ?? part) ? '[redacted]' : part))
    .join('/')
}

/** Of a part of an address; undefined where it is no percent-encoding. */
export function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

const refused = new WeakMap<Response, string>()

/** The line of this request names the error that the caller got. */
export function noteRefused(response: Response, code: string): void {
  refused.set(response, code)
}

/** How a request went, for who counts. */
export interface Answered {
  method: string
  /** The pattern of the route: few, however many addresses are called. `none` for a request that reached no route. */
  route: string
  /** 499: the caller hung up before there was an answer. */
  status: number
  seconds: number
}

interface RequestLog {
  log: Log
  /** What a line is logged as; those of health checks are for debugging only. */
  requestLevel: 'info' | 'debug'
  onAnswered?: ((answered: Answered) => void) | undefined
}

/** One line a request: the path without its query, who asked as ids, what was refused; never a header or a body. */
export function logRequests({ log, requestLevel, onAnswered }: RequestLog): RequestHandler {
  return (request, response, next) => {
    const started = performance.now()
    const { method } = request
    const path = loggedPath(request.path)
    // Also when the caller hangs up, as one that waits for a decision may.
    response.on('close', () => {
      const seconds = (performance.now() - started) / 1000
      const status = response.headersSent ? response.statusCode : UNANSWERED
      onAnswered?.({ method, route: routeOf(request, path), status, seconds })
      const left = response.writableFinished ? {} : { cut_off: true }
      const fields = { method, path, status, ms: Math.round(seconds * 1000), ...left }
      const error = refused.get(response)
      const who = { address: clientAddress(request), ...whoCalled(response) }
      const level = HEALTH.has(path) ? 'debug' : requestLevel
      log[level]({ request_id: requestIdOf(response), ...fields, ...given({ error }), ...who }, 'request')
    })
    next()
  }
}

/** The caller hung up before there was an answer; nginx's number for it. */
const UNANSWERED = 499

const HEALTH: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/**
 * An error has let go of the part that a router was mounted at, so that is taken from the address: it has no parameters, and
 * Express takes it in any case.
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

/** Gives every answer an id of our own making, for the caller to quote and the log to be searched by. */
export const requestId: RequestHandler = (_request, response, next) => {
  response.setHeader(HEADER, randomUUID())
  next()
}

/** The id given to this answer. */
export function requestIdOf(response: Response): string {
  return String(response.getHeader(HEADER) ?? '')
}
