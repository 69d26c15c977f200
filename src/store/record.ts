import type { AuditEntry } from '../domain/audit.ts'
import { outboxToken } from './outbox.ts'

/** What a document has besides its record. */
interface Kept {
  _id: string
  outbox_token?: string
  /** Who holds it for an attempt. */
  holder?: string
  /** Of deliveries and cards: with the id of what they are about the name under which they exist once. */
  target_key?: string
  recipient_key?: string
  /** Of requests: when it got its version. */
  moved_at?: Date
}

/** The document of a new record, with the token of what it leaves for the relay. */
export function documentOf<R extends { id: string; audit: readonly AuditEntry[] }>({ id, ...rest }: R) {
  return { _id: id, ...rest, ...outboxToken(rest) }
}

/** The record that a document keeps: with its id as `id`, and nothing that is the store's own. */
export function recordOf<D extends Kept>(document: D) {
  const {
    _id,
    outbox_token: _t,
    holder: _h,
    target_key: _k,
    recipient_key: _r,
    moved_at: _m,
    ...rest
  } = document
  return { id: _id, ...rest }
}

/** The record of what was found, if anything was. */
export function recordIn<D extends Kept>(document: D | null | undefined) {
  return document === null || document === undefined ? undefined : recordOf(document)
}

/** The update that sets these fields; `null` removes one, undefined leaves it. */
export function replacing(fields: object): { $set?: object; $unset?: object } {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  const set = Object.fromEntries(given.filter(([, value]) => value !== null))
  const unset = Object.fromEntries(given.filter(([, value]) => value === null).map(([key]) => [key, 1]))
  return {
    ...(Object.keys(set).length > 0 ? { $set: set } : {}),
    ...(Object.keys(unset).length > 0 ? { $unset: unset } : {}),
  }
}
