/** The value has no RFC 8785 form, so it must never be signed or hashed. */
export class CanonicalError extends Error {
  override readonly name = 'CanonicalError'
}

/** Deepest accepted nesting of arrays and objects; bounds the recursion (and catches cycles). */
const MAX_DEPTH = 64

/** A surrogate without its partner has no UTF-8 form, so two different texts would become the same bytes. */
export const LONE_SURROGATE = /\p{Surrogate}/u

/**
 * RFC 8785 (JCS) text of a JSON value. Keys named `toJSON` or `__proto__` are data like any other.
 * @throws CanonicalError for everything JSON cannot express exactly: NaN, infinities, lone surrogates, undefined, array
 * holes, functions, symbols, bigint, class instances (Date, Map, Buffer …) and nesting deeper than 64.
 */
export function canonicalize(value: unknown): string {
  return write(value, 0)
}

/** Parses a text that is exactly the RFC 8785 form of its value, so that one statement has only one spelling; else undefined. */
export function parseCanonical(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return canonicalize(value) === text ? value : undefined
  } catch {
    return undefined
  }
}

function write(value: unknown, depth: number): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'number') return number(value)
  if (typeof value !== 'object') throw new CanonicalError(`a ${typeof value} has no JSON form`)
  if (depth >= MAX_DEPTH) throw new CanonicalError(`nested deeper than ${MAX_DEPTH} levels`)
  // Array.from visits holes (as undefined, which is refused); map would skip them.
  if (Array.isArray(value)) return `[${Array.from(value, (item) => write(item, depth + 1)).join(',')}]`
  return `{${members(value, depth).join(',')}}`
}

function members(value: object, depth: number): string[] {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null)
    throw new CanonicalError('only plain objects have a JSON form')
  if (Object.getOwnPropertySymbols(value).length > 0)
    throw new CanonicalError('a symbol key has no JSON form')
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1)) // UTF-16 code units, RFC 8785 section 3.2.3
    .map(([key, item]) => `${quote(key)}:${write(item, depth + 1)}`)
}

function quote(text: string): string {
  if (LONE_SURROGATE.test(text)) throw new CanonicalError('text contains a lone surrogate')
  return JSON.stringify(text)
}

/** RFC 8785 section 3.2.2.3: the ECMAScript form, which writes minus zero as `0`. */
function number(value: number): string {
  if (!Number.isFinite(value)) throw new CanonicalError(`${value} has no JSON form`)
  return String(value)
}
