import { once } from 'node:events'
import type { Request, RequestHandler, Response } from 'express'
import express from 'express'
import { invalidField, refusal } from '../../domain/errors.ts'

/** Bytes of a body, and of one that may hold attachments. */
const BODY_LIMIT = 64 * 1024
const WITH_ATTACHMENTS = 1.5 * 1024 * 1024

/** Throws on invalid UTF-8: body-parser would replace it silently, and the approver would read a text that was not sent (T64). */
const decoder = new TextDecoder('utf-8', { fatal: true })

function parserOf(limit: number): RequestHandler {
  return express.json({
    limit,
    strict: true,
    type: 'application/json',
    verify: (_request, _response, bytes, charset) => {
      // Under another charset the parser would silently read the same bytes as another text: UTF-7's "+AGE-" is "a".
      if (charset !== 'utf-8') throw Object.assign(new Error('no UTF-8'), { type: 'charset.unsupported' })
      decoder.decode(bytes)
    },
  })
}

/** Parses the body. Parser errors carry a `type`; an error without one comes from zlib: the compressed body is broken. */
function reader(limit: number): RequestHandler {
  const parse = parserOf(limit)
  return function read(request, response, next) {
    parse(request, response, (error?: unknown) => {
      // Discards the rest of a refused body, without inflating it: left unread, it would cause a reset that loses the answer.
      if (error !== undefined) request.unpipe().resume()
      const typed = error instanceof Error && 'type' in error
      next(error === undefined || typed ? error : refusal('invalid_json'))
    })
  }
}

/** Matches the charset `utf8`: many clients leave the hyphen out, but the parser knows only the registered name `utf-8`. */
const UTF8_WITHOUT_HYPHEN = /(;\s*charset\s*=\s*"?)utf8(?="?\s*(?:;|$))/i

const nameUtf8: RequestHandler = ({ headers }, _response, next) => {
  const type = headers['content-type']
  if (type !== undefined) headers['content-type'] = type.replace(UTF8_WITHOUT_HYPHEN, '$1utf-8')
  next()
}

/** Refuses a body of any other type with 415. A request without a body passes; its required fields are then missing. */
const requireJsonType: RequestHandler = async (request, _response, next) => {
  if (!request.is('application/json') && (await hasBody(request))) throw refusal('unsupported_media_type')
  next()
}

/** Waits, if the body is chunked, for its first bytes or its end: it may be empty. @throws Refusal when the client breaks off */
async function hasBody(request: Request): Promise<boolean> {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
  if (coding === undefined) return length !== '0'
  // An empty body that has already arrived emits only `end`.
  await Promise.race([once(request, 'readable'), once(request, 'end')]).catch(() => {
    throw refusal('invalid_json')
  })
  return request.readableLength > 0
}

const bodies = new WeakSet<object>()

/** Checks whether the value is a body that `jsonBody` parsed, rather than a query. */
export function isJsonBody(value: unknown): value is object {
  return value !== null && typeof value === 'object' && bodies.has(value)
}

/** @param longTexts paths of texts that have a limit of their own */
function guard(longTexts?: RegExp): RequestHandler {
  return function guard(request, _response, next) {
    if (request.body !== undefined) {
      guardJson(request.body, longTexts)
      bodies.add(request.body)
    }
    next()
  }
}

const looks = new WeakMap<Response, () => Promise<void>>()

/**
 * Repeats authentication after the body has arrived. It first runs before the body is read, so that the body of an
 * unauthenticated caller is never parsed. But a client can hold its body back until the service cuts it off, and meanwhile
 * its session or key may have been revoked (T23, T54).
 * @param look authenticates again, and throws the refusal if the caller is no longer let in
 */
export function lookAgainAfterBody(request: Request, response: Response, look: () => Promise<void>): void {
  if (!request.complete) looks.set(response, look)
}

/** Runs the check that `lookAgainAfterBody` registered, once the body is there. */
const lookAgain: RequestHandler = async (_request, response, next) => {
  await looks.get(response)?.()
  next()
}

/**
 * Reads one JSON object of at most 64 KiB (inflated), then checks its shape before anything else looks at it (T59, T60, T64).
 * A caller who was authenticated before the body was complete is checked again afterwards.
 */
export const jsonBody: RequestHandler[] = [nameUtf8, requireJsonType, reader(BODY_LIMIT), guard(), lookAgain]

/** Like `jsonBody`, for a create, also by a tool call: 1.5 MiB, with the texts of attachments. */
export const jsonBodyWithAttachments: RequestHandler[] = [
  nameUtf8,
  requireJsonType,
  reader(WITH_ATTACHMENTS),
  guard(/^(params\.arguments\.)?attachments\.\d+\.(text|base64)$/),
  lookAgain,
]

/** Levels of nested objects and arrays: 16 for `context`, one for the body around it. */
const MAX_DEPTH = 17
const MAX_NODES = 2_000
const MAX_KEY = 128
/** As long as a whole `context` may be; a longer text fits nowhere. */
const MAX_STRING = 16 * 1024

interface Open {
  value: object
  depth: number
  path: string
}

/**
 * Walks parsed JSON without recursion, so that depth cannot exhaust the stack, and refuses what is costly or what readers
 * would see differently: too deep, too wide, too long, `__proto__`, ill-formed Unicode, inexact numbers (T59, T60).
 * @throws Refusal `invalid_json` when the body is not an object, `invalid_field` with the field at fault
 */
function guardJson(body: unknown, longTexts?: RegExp): void {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) throw refusal('invalid_json')
  const open: Open[] = [{ value: body, depth: 1, path: '' }]
  let nodes = 0
  for (let current = open.pop(); current !== undefined; current = open.pop()) {
    const { depth } = current
    if (depth > MAX_DEPTH)
      throw invalidField(top(current.path), `must not be nested deeper than ${MAX_DEPTH - 1} levels`)
    for (const [key, value] of Object.entries(current.value)) {
      nodes += 1
      if (nodes > MAX_NODES)
        throw invalidField(
          top(current.path),
          `must not contain more than ${MAX_NODES} values with the rest of the body`,
        )
      const path = current.path === '' ? key : `${current.path}.${key}`
      if (!Array.isArray(current.value)) checkKey(key, current.path)
      if (typeof value === 'string') checkString(value, path, longTexts?.test(path) ?? false)
      else if (typeof value === 'number') checkNumber(value, path)
      else if (value !== null && typeof value === 'object') open.push({ value, depth: depth + 1, path })
    }
  }
}

/** Checks a key. `__proto__` is refused because it would vanish in one view and stay in another. */
function checkKey(key: string, path: string): void {
  const field = top(path === '' ? key : path)
  if (key === '__proto__') throw invalidField(field, 'must not use the key __proto__')
  if (key.length > MAX_KEY)
    throw invalidField(field.slice(0, MAX_KEY), `must not use keys longer than ${MAX_KEY} characters`)
  if (!key.isWellFormed()) throw invalidField('body', 'contains a key that is not well-formed Unicode')
}

function checkString(value: string, path: string, long: boolean): void {
  if (!long && value.length > MAX_STRING)
    throw invalidField(top(path), `must not contain texts longer than ${MAX_STRING} characters`)
  if (!value.isWellFormed()) throw invalidField(top(path), 'contains text that is not well-formed Unicode')
}

/** Refuses integers from 2^53 on: the parser may round them, and the approver would see another number (RFC 7493 §2.2). */
function checkNumber(value: number, path: string): void {
  if (!Number.isFinite(value)) throw invalidField(top(path), 'contains a number out of range')
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw invalidField(
      top(path),
      'contains a whole number of 2^53 or more, which may not be exact; send it as text',
    )
}

/** Returns the body's field that holds the fault, or `body` for an unusual name, so that hostile text is never echoed. */
function top(path: string): string {
  const field = path.split('.', 1)[0] ?? ''
  return /^[A-Za-z0-9_]{1,64}$/.test(field) ? field : 'body'
}
