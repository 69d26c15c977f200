import type { z } from 'zod'
import { fieldRequired, invalidField } from '../domain/errors.ts'

/**
 * Parses a body or query field by field; unknown fields are dropped (T58).
 * @throws Refusal `<field> required` for a missing field, else `invalid_field` with the field and what is wrong
 */
export function parseBody<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const body = input ?? {}
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const path = issue?.path ?? []
  const field = path.join('.') || 'body'
  if (valueAt(body, path) === undefined && path.length > 0) throw fieldRequired(field)
  throw invalidField(field, issue?.message ?? 'is not valid')
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input
  for (const step of path) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) return undefined
    value = Reflect.get(value, step)
  }
  return value
}
