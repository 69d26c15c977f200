import { z } from 'zod'
import { invalidField } from '../domain/errors.ts'
import { isId } from '../domain/identifier.ts'

/** Latest time that ECMAScript can name; a later one would reach the store as no time at all. */
const MAX_TIME = 8.64e15

const position = z.tuple([z.int().min(0).max(MAX_TIME), z.string().refine((id) => isId('req', id))])

/** Position after this entry of a list, as opaque text. */
export function encodeCursor(last: { created_at: Date; id: string }): string {
  return Buffer.from(JSON.stringify([last.created_at.getTime(), last.id])).toString('base64url')
}

/** @throws Refusal `invalid_field` for anything `encodeCursor` did not make */
export function decodeCursor(text: string): { created_at: Date; id: string } {
  const parsed = position.safeParse(parseJson(Buffer.from(text, 'base64url').toString('utf8')))
  if (!parsed.success) throw invalidField('cursor', 'must be the next_cursor of an earlier page')
  const [time, id] = parsed.data
  return { created_at: new Date(time), id }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
