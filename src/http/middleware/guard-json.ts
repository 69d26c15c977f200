import { invalidField, refusal } from '../../domain/errors.ts'

/** Containers inside containers: 16 for `context`, one for the body around it. */
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
 * Walks parsed JSON without recursion, so that depth cannot exhaust the stack, and refuses what would cost much or be seen
 * differently by different readers: deep, wide, huge, `__proto__`, ill-formed Unicode, inexact numbers (T59, T60).
 * @throws Refusal `invalid_json` when it is no object, `invalid_field` naming the place
 */
export function guardJson(body: unknown): void {
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
        throw invalidField(top(current.path), `must not hold more than ${MAX_NODES} values`)
      const path = current.path === '' ? key : `${current.path}.${key}`
      if (!Array.isArray(current.value)) checkKey(key, current.path)
      if (typeof value === 'string') checkString(value, path)
      else if (typeof value === 'number') checkNumber(value, path)
      else if (value !== null && typeof value === 'object') open.push({ value, depth: depth + 1, path })
    }
  }
}

/** `__proto__` would vanish in one view and stay in another. */
function checkKey(key: string, path: string): void {
  const field = top(path === '' ? key : path)
  if (key === '__proto__') throw invalidField(field, 'must not use the key __proto__')
  if (key.length > MAX_KEY)
    throw invalidField(field.slice(0, MAX_KEY), `must not use keys longer than ${MAX_KEY} characters`)
  if (!key.isWellFormed()) throw invalidField('body', 'holds a key that is not well-formed Unicode')
}

function checkString(value: string, path: string): void {
  if (value.length > MAX_STRING)
    throw invalidField(top(path), `must not hold texts longer than ${MAX_STRING} characters`)
  if (!value.isWellFormed()) throw invalidField(top(path), 'holds text that is not well-formed Unicode')
}

/** Beyond 2^53 the parser has already rounded: the approver would see another number than the caller sent (RFC 7493 §2.2). */
function checkNumber(value: number, path: string): void {
  if (!Number.isFinite(value)) throw invalidField(top(path), 'holds a number out of range')
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw invalidField(top(path), 'holds a whole number beyond 2^53, which is not exact; send it as text')
}

/** The body's own field in which the trouble is: what the caller can act on, and never an echo of hostile text. */
function top(path: string): string {
  const field = path.split('.', 1)[0] ?? ''
  return /^[A-Za-z0-9_]{1,64}$/.test(field) ? field : 'body'
}
