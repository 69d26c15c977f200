import { Invalid } from './errors.ts'

/** What JSON can hold, and what therefore can be asked about. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** Far deeper than the service accepts (16 levels), and reached by a value that contains itself. */
const DEPTH = 64

/**
 * Copies a value of JSON's forms: what is asked about, compared and run is this copy, so whoever still holds the original cannot
 * change it in between. Properties that are undefined are left out, as JSON does.
 * @param at names the value in the error
 * @throws Invalid for what JSON would lose or turn into something else: NaN, a Date, a Map, a class, a function, `undefined` in a list
 */
export function copyJson(value: unknown, at: string, depth = 0): Json {
  const refuse = (what: string): never => {
    throw new Invalid(
      `${at} ${what}, which JSON cannot hold. It was not done. Send plain text, numbers, lists and objects.`,
    )
  }
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  // JSON has no negative zero.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : refuse(`is ${value}`)
  if (typeof value !== 'object') return refuse(`is ${value === undefined ? '' : 'a '}${typeof value}`)
  // Own, inherited, or given to all objects: what is sent would not be what runs.
  if ('toJSON' in value && !(value instanceof Date)) return refuse('has a toJSON')
  if (depth > DEPTH) return refuse('is too deep or contains itself')
  if (Array.isArray(value)) {
    if (Object.keys(value).length !== value.length) return refuse('is a list with holes or names')
    return value.map((item, index) => copyJson(item, `${at}[${index}]`, depth + 1))
  }
  const parent = Object.getPrototypeOf(value)
  // The prototype of plain objects, also of another realm, is the one that has none itself.
  if (parent !== null && Object.getPrototypeOf(parent) !== null)
    return refuse(`is a ${parent.constructor?.name}`)
  if (Object.getOwnPropertySymbols(value).length > 0) return refuse('has a symbol as a name')
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  return Object.fromEntries(entries.map(([name, item]) => [name, copyJson(item, `${at}.${name}`, depth + 1)]))
}

/** The RFC 8785 text of a value of `copyJson`: equal values have equal texts. */
export function canonicalText(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`
  const entries = Object.entries(value as { readonly [name: string]: Json })
  // By UTF-16 code units, as the RFC wants and as `<` does; names are never equal.
  entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([name, item]) => `${JSON.stringify(name)}:${canonicalText(item)}`).join()}}`
}

/** SHA-256 of a text's UTF-8 bytes, in base64url: 43 characters. */
export async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=/g, '')
}
