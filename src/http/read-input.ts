import type { Request } from 'express'
import { z } from 'zod'
import { fieldRequired, invalidField, refusal } from '../domain/errors.ts'
import { type IdPrefix, isId } from '../domain/identifier.ts'
import { parseJson } from '../domain/parse-json.ts'
import type { PresenceProof } from '../flow/requests/prove-presence.ts'
import { idempotencyKey } from './api/approvals-create.ts'
import { WRONG_CURSOR } from './api/shared/input.ts'
import { eitherProof } from './api/shared/proofs.ts'
import { refuseNearMisses } from './unknown-fields.ts'

/**
 * Parses a body or query field by field. Unknown fields are dropped (T58), but a name that looks like a known field is refused.
 * A required field that is null counts as missing: many languages send unset values as null.
 * @throws Refusal `<field> required` for a missing field of the call, else `invalid_field` with the field and what is wrong
 */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const body = input ?? {}
  refuseNearMisses(schema, body)
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const path = issue?.path ?? []
  const field = path.join('.') || 'body'
  const value = valueAt(body, path)
  if (path.length === 1 && (value === undefined || (value === null && isNeeded(schema, body, path))))
    throw fieldRequired(field)
  // Codes are for the fields of the call: a code for each part of a field or list would be none to branch on.
  if (path.length > 1 && value === undefined) throw invalidField(field, 'is missing')
  throw invalidField(field, issue?.message ?? 'is not valid')
}

/** Checks whether the body would also be refused if this field were left out. */
function isNeeded(schema: z.ZodType, body: object, path: readonly PropertyKey[]): boolean {
  const [name] = path
  if (name === undefined) return false
  const without = schema.safeParse({ ...body, [name]: undefined })
  return !without.success && without.error.issues[0]?.path[0] === name
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input
  for (const step of path) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) return undefined
    value = Reflect.get(value, step)
  }
  return value
}

/**
 * Reads the proof in the body of a decision: exactly one of `passkey` and `totp`.
 * @throws Refusal `proof_required` for none, `invalid_field` for both or an ill-formed one
 */
export function readProof(body: unknown, address: string): PresenceProof {
  const { passkey, totp } = parseInput(eitherProof, body)
  if (passkey !== undefined && totp !== undefined)
    throw invalidField('passkey', 'must not be sent together with totp')
  if (passkey !== undefined) return { method: 'passkey', response: passkey }
  if (totp !== undefined) return { method: 'totp', code: totp, address }
  throw refusal('proof_required')
}

/** Reads the header `Idempotency-Key`. @throws Refusal `invalid_field` */
export function idempotencyKeyOf(request: Request): string | undefined {
  const { success, data } = idempotencyKey.safeParse(request.get('Idempotency-Key'))
  if (!success) throw invalidField('Idempotency-Key', 'must be 1 to 255 visible ASCII characters')
  return data
}

/** The latest time that ECMAScript can represent; a later one would reach the store as an invalid date. */
const MAX_TIME = 8.64e15

const position = z.tuple([z.int().min(0).max(MAX_TIME), z.string()])

/** Encodes the position after this entry of a list as an opaque cursor. */
export function encodeCursor(last: { created_at: Date; id: string }): string {
  return Buffer.from(JSON.stringify([last.created_at.getTime(), last.id])).toString('base64url')
}

/**
 * Decodes a cursor that a client sent back.
 * @param prefix of the ids in that list
 * @throws Refusal `invalid_field` for anything `encodeCursor` did not make for such a list
 */
export function decodeCursor(text: string, prefix: IdPrefix = 'req'): { created_at: Date; id: string } {
  const parsed = position.safeParse(parseJson(Buffer.from(text, 'base64url').toString('utf8')))
  if (!parsed.success || !isId(prefix, parsed.data[1])) throw invalidField('cursor', WRONG_CURSOR)
  const [time, id] = parsed.data
  return { created_at: new Date(time), id }
}
