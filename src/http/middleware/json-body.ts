import express, { type Request, type RequestHandler, type Response } from 'express'
import { refusal } from '../../domain/errors.ts'
import { guardJson } from './guard-json.ts'

const BODY_LIMIT = '64kb'

/** body-parser replaces invalid UTF-8 silently; the approver would read another text than the caller sent (T64). */
const decoder = new TextDecoder('utf-8', { fatal: true })

const parse = express.json({
  limit: BODY_LIMIT,
  strict: true,
  type: 'application/json',
  verify: (_request, _response, bytes) => void decoder.decode(bytes),
})

/** Errors of the parser carry a `type`; those of a damaged compressed body come from zlib and carry none. */
const read: RequestHandler = (request, response, next) => {
  parse(request, response, (error?: unknown) => {
    const typed = error instanceof Error && 'type' in error
    next(error === undefined || typed ? error : refusal('invalid_json'))
  })
}

/** 415 for a body of any other type. No body at all passes: the fields then are missing. */
const requireJsonType: RequestHandler = (request, _response, next) => {
  const length = request.headers['content-length']
  const hasBody =
    request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
  if (hasBody && !request.is('application/json')) throw refusal('unsupported_media_type')
  next()
}

const guard: RequestHandler = (request, _response, next) => {
  if (request.body !== undefined) guardJson(request.body)
  next()
}

const looks = new WeakMap<Response, () => Promise<void>>()

/**
 * Who is let in is asked before the body is read, so that strangers' bodies are not. A client can hold its body back until
 * the service cuts it off; what was true of its session or key at the head may not be at the end (T23, T54).
 * @param look asks again, and throws the refusal if the answer is another
 */
export function lookAgainAfterBody(request: Request, response: Response, look: () => Promise<void>): void {
  if (!request.complete) looks.set(response, look)
}

/** Once the body is there: a caller who sent it late is checked again. */
const lookAgain: RequestHandler = async (_request, response, next) => {
  await looks.get(response)?.()
  next()
}

/**
 * Reads one JSON object of at most 64 KiB (inflated), then checks its shape before anything else looks at it (T59, T60, T64).
 * A caller who was let in before the body came is checked again if it came late.
 */
export const jsonBody: RequestHandler[] = [requireJsonType, read, guard, lookAgain]
