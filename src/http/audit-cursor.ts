import { invalidField } from '../domain/errors.ts'
import type { AuditPosition } from '../flow/audit/walk-audit.ts'

/** Position after this record, as opaque text; with its time where records come in the order of time. */
export function encodeAuditCursor({ seq, at }: AuditPosition): string {
  const text = at === undefined ? String(seq) : `${seq}.${at.getTime()}`
  return Buffer.from(text).toString('base64url')
}

/**
 * @param byTime do the records come in the order of time?
 * @throws Refusal `invalid_field` for anything `encodeAuditCursor` did not make for such a list
 */
export function decodeAuditCursor(text: string, byTime: boolean): AuditPosition {
  const plain = Buffer.from(text, 'base64url').toString('latin1')
  const [, digits, time] = /^([1-9][0-9]{0,15})(?:\.([0-9]{1,16}))?$/.exec(plain) ?? []
  const at = time === undefined ? {} : { at: new Date(Number(time)) }
  const position = { seq: Number(digits), ...at }
  const known = Number.isSafeInteger(position.seq) && !Number.isNaN(at.at?.getTime() ?? 0)
  if (!known || (time !== undefined) !== byTime || encodeAuditCursor(position) !== text)
    throw invalidField('cursor', 'must be the next_cursor of an earlier page')
  return position
}
