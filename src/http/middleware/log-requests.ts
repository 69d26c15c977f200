import { randomUUID } from 'node:crypto'
import type { RequestHandler, Response } from 'express'
import type { Log } from '../../flow/ports.ts'
import { clientAddress } from './client-address.ts'

/** The path for the log: without the one secret that the interface puts into an address, in whatever coding it comes. */
export function loggedPath(path: string): string {
  return path
    .split('/')
    .map((part) => (/boot_/i.test(decoded(part)) ? '[redacted]' : part))
    .join('/')
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** One line a request: the path without its query, never a header or a body. */
export function logRequests(log: Log): RequestHandler {
  return (request, response, next) => {
    const started = performance.now()
    const { method } = request
    const path = loggedPath(request.path)
    response.on('finish', () => {
      const ms = Math.round(performance.now() - started)
      const fields = { method, path, status: response.statusCode, ms, address: clientAddress(request) }
      log.debug({ request_id: requestIdOf(response), ...fields }, 'request')
    })
    next()
  }
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
