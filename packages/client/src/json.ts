import { Invalid } from './errors.ts'

/** What JSON can hold, and what therefore can be asked about. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [name: string]: Json
}

/**
 * Copies a value of JSON's forms: what is asked about, compared and run is this copy, so whoever still holds the original cannot
 * change it in between. Properties that are undefined are left out, as JSON does.
 * @param at names the value in the error
 * @throws Invalid for what JSON would lose or turn into something else: NaN, a Date, a Map, a class, a function, `undefined` in a list
 */
export function copyJson(value: unknown, at: string, depth = 0): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  // JSON has no negative zero.
  if (typeof value === 'number' && Number.isFinite(value)) return value + 0
  // Deeper than the service accepts (16 levels), or a value that contains itself. A toJSON would send something else than runs.
  if (typeof value === 'object' && depth < 64 && !('toJSON' in value)) {
    const names = Object.keys(value)
    if (Array.isArray(value)) {
      if (names.length === value.length)
        return value.map((item, index) => copyJson(item, `${at}[${index}]`, depth + 1))
    } else if (isPlain(value)) {
      const entries = names.map((name) => [name, Reflect.get(value, name)] as const)
      return Object.fromEntries(
        entries.flatMap(([name, item]) =>
          item === undefined ? [] : [[name, copyJson(item, `${at}.${name}`, depth + 1)]],
        ),
      )
    }
  }
  throw new Invalid(`JSON cannot hold ${at} (${Object.prototype.toString.call(value).slice(8, -1)}).`)
}

/** The prototype of plain objects, also of another realm, is the one that has none itself. */
function isPlain(value: object): boolean {
  const parent = Object.getPrototypeOf(value)
  return !Object.getOwnPropertySymbols(value).length && (!parent || !Object.getPrototypeOf(parent))
}

/** RFC 8785 text, so that equal values have one: another client, in another language, finds the same request by it. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`
  const held: JsonObject = Object(value)
  if (held !== value) return JSON.stringify(value)
  // Not the order of the properties: JavaScript puts names like "10" first.
  const names = Object.keys(held).sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(held[name] as Json)}`)}}`
}

/** SHA-256 of the value's text, in base64url: 43 characters. */
export async function digest(value: Json): Promise<string> {
  const hash = base64(await sha256(encode(canonical(value))))
  return hash.replace(/\+/g, '-').replace(/\//g, '_').slice(0, 43)
}

export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

/** In UTF-8. */
export function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

/** RFC 4648 section 4, with padding. */
export function base64(bytes: Uint8Array): string {
  return btoa(spell(bytes, (byte) => String.fromCharCode(byte)))
}

export function hex(bytes: Uint8Array): string {
  return spell(bytes, (byte) => byte.toString(16).padStart(2, '0'))
}

/** Not by spreading the bytes as arguments, of which there may be too many. */
function spell(bytes: Uint8Array, one: (byte: number) => string): string {
  return Array.from(bytes, one).join('')
}
