import { z } from 'zod'
import { invalidField } from '../domain/errors.ts'
import { meantField } from '../domain/near-miss.ts'
import { isJsonBody } from './middleware/json-body.ts'

/**
 * Refuses an unknown field whose name looks like a known one: if it were dropped silently, a protection that the caller meant to
 * set would be missing, and no one would notice (T58). Other unknown fields pass, and `ignoredIn` names them.
 * @throws Refusal `invalid_field` with the right name
 */
export function refuseNearMisses(schema: z.ZodType, body: unknown, path = ''): void {
  if (schema instanceof z.ZodArray && Array.isArray(body)) {
    const { element } = schema
    if (!(element instanceof z.ZodType)) return
    for (const [index, item] of body.entries()) refuseNearMisses(element, item, `${path}${index}.`)
    return
  }
  const shape = shapeOf(schema)
  if (shape === undefined || body === null || typeof body !== 'object' || Array.isArray(body)) return
  const known = Object.keys(shape)
  checkFieldCount(body, known.length)
  for (const [name, value] of Object.entries(body)) {
    const part = Object.hasOwn(shape, name) ? shape[name] : undefined
    if (part instanceof z.ZodType) refuseNearMisses(part, value, `${path}${name}.`)
    const meant = part === undefined ? meantField(name, known) : undefined
    if (meant !== undefined)
      throw invalidField(shown(`${path}${name}`), `is not known; send \`${path}${meant}\``)
  }
}

/**
 * Refuses a query parameter that the call does not have: an answer without its filter, from the first page again, or without the
 * comparison that the caller asked for, would be to another question.
 * @throws Refusal `invalid_field` with what was meant, or what there is
 */
export function refuseUnknownNames(query: object, known: readonly string[]): void {
  const name = Object.keys(query).find((one) => !known.includes(one))
  if (name === undefined) return
  const meant = meantField(name, known)
  const all = known.length === 0 ? 'this call has no parameters' : `the parameters are ${known.join(', ')}`
  const told = meant === undefined ? all : `send \`${meant}\``
  if (isPlain(name)) throw invalidField(name, `is not known; ${told}`)
  throw invalidField('query', `holds an unknown parameter; ${told}`)
}

/** Far more unknown fields than any caller sends; comparing thousands with every known name would hold up all other callers. */
const MOST_UNKNOWN = 100
/** More than the fields that any call has. */
const MOST_KNOWN = 50

function checkFieldCount(body: object, known: number): void {
  if (Object.keys(body).length > known + MOST_UNKNOWN)
    throw invalidField('body', `has more than ${MOST_UNKNOWN} unknown fields`)
}

/** The fields that determine who must approve. */
const POLICY_FIELDS = ['approvers', 'quorum', 'passkey_only', 'confirmed_only', 'authenticators', 'policy']

/**
 * Refuses policy fields where they have no effect: otherwise a caller who believes they demanded two approvals would proceed
 * with one (T58).
 * @throws Refusal `invalid_field`
 */
export function refusePolicyFields(body: object, detail: string, others: readonly string[] = []): void {
  const fields = [...POLICY_FIELDS, ...others]
  checkFieldCount(body, MOST_KNOWN)
  const field = Object.keys(body).find((name) => meantField(name, fields) !== undefined)
  if (field !== undefined) throw invalidField(shown(field), detail)
}

/**
 * Returns the part of an answer that names the unknown fields of the body; empty when there are none. Sorted: a repeated call may
 * have them in another order, and gets the same answer.
 */
export function ignoredIn(schema: z.ZodType, body: unknown): { ignored_fields?: string[] } {
  return isJsonBody(body) ? ignoredOf(schema, body) : {}
}

/** Does the same as `ignoredIn` for a part of a body. */
export function ignoredOf(schema: z.ZodType, body: object): { ignored_fields?: string[] } {
  const shape = shapeOf(schema)
  if (shape === undefined) return {}
  const ignored = Object.keys(body).filter((name) => !Object.hasOwn(shape, name))
  return ignored.length === 0 ? {} : { ignored_fields: ignored.map(shown).sort().slice(0, MOST_NAMED) }
}

const MOST_NAMED = 50

/** Returns a name that is safe to show; `body` in place of others. */
function shown(name: string): string {
  return isPlain(name) ? name : 'body'
}

/** Checks whether a name is safe to show: hostile text is never echoed. */
function isPlain(name: string): boolean {
  return /^[\w.[\]-]{1,64}$/.test(name)
}

/** Returns the fields of an object schema, also if it is optional or nullable; undefined for any other schema. */
function shapeOf(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  if (schema instanceof z.ZodObject) return schema.shape
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return shapeOf(schema.unwrap())
  return undefined
}
