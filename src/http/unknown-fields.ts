import { z } from 'zod'
import { invalidField } from '../domain/errors.ts'
import { meantField } from '../domain/near-miss.ts'
import { isJsonBody } from './middleware/json-body.ts'

/**
 * Refuses a field that is no field but looks like one: dropped in silence, what was meant to protect would be missing, and no one
 * would know (T58). Other unknown fields are let pass, and named by `ignoredIn`.
 * @throws Refusal `invalid_field` with the right name
 */
export function refuseNearMisses(schema: z.ZodType, body: unknown, path = ''): void {
  const shape = shapeOf(schema)
  if (shape === undefined || body === null || typeof body !== 'object' || Array.isArray(body)) return
  const known = Object.keys(shape)
  for (const [name, value] of Object.entries(body)) {
    const part = Object.hasOwn(shape, name) ? shape[name] : undefined
    if (part instanceof z.ZodType) refuseNearMisses(part, value, `${path}${name}.`)
    const meant = part === undefined ? meantField(name, known) : undefined
    if (meant !== undefined)
      throw invalidField(shown(`${path}${name}`), `is not known; send \`${path}${meant}\``)
  }
}

/** What decides who must agree. */
const POLICY_FIELDS = ['approvers', 'quorum', 'passkey_only', 'confirmed_only', 'authenticators', 'policy']

/**
 * Refuses what would narrow who decides where it has no effect: the caller who believes to have asked for two approvals would
 * go on with one (T58).
 * @throws Refusal `invalid_field`
 */
export function refusePolicyFields(body: object, detail: string, others: readonly string[] = []): void {
  const fields = [...POLICY_FIELDS, ...others]
  const field = Object.keys(body).find((name) => meantField(name, fields) !== undefined)
  if (field !== undefined) throw invalidField(shown(field), detail)
}

/** What an answer says of fields of the body that were not understood: nothing when there are none. */
export function ignoredIn(schema: z.ZodType, body: unknown): { ignored_fields?: string[] } {
  const shape = shapeOf(schema)
  if (shape === undefined || !isJsonBody(body)) return {}
  const ignored = Object.keys(body).filter((name) => !Object.hasOwn(shape, name))
  return ignored.length === 0 ? {} : { ignored_fields: ignored.map(shown).slice(0, MOST_NAMED) }
}

const MOST_NAMED = 50

/** Short, and never an echo of hostile text. */
function shown(name: string): string {
  return /^[\w.[\]-]{1,64}$/.test(name) ? name : 'body'
}

/** The fields of an object, also of one that may be left out or null; undefined for anything else. */
function shapeOf(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  if (schema instanceof z.ZodObject) return schema.shape
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return shapeOf(schema.unwrap())
  return undefined
}
