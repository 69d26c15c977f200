import { z } from 'zod'
import { invalidField } from '../domain/errors.ts'
import { type IdPrefix, isId } from '../domain/identifier.ts'

/** Latest time that ECMAScript can name; a later one would reach the store as no time at all. */
const MAX_TIME = 8.64e15

const position = z.tuple([z.int().min(0).max(MAX_TIME), z.string()])

/** Position after this entry of a list, as opaque text. */
export function encodeCursor(last: { created_at: Date; id: string }): string {
  return Buffer.from(JSON.stringify([last.created_at.getTime(), last.id])).toString('base64url')
}

/**
 * @param prefix of the ids in that list
 * @throws Refusal `invalid_field` for anything `encodeCursor` did not make for such a list
 */
export function decodeCursor(text: string, prefix: IdPrefix = 'req'): { created_at: Date; id: string } {
  const parsed = position.safeParse(parseJson(Buffer.from(text, 'base64url').toString('utf8')))
  if (!parsed.success || !isId(prefix, parsed.data[1]))
    throw invalidField('cursor', 'must be the next_cursor of an earlier page')
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
