import { randomUUID } from 'node:crypto'
import type { RequestHandler, Response } from 'express'

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
