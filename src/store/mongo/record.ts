import type { AuditEntry } from '../../domain/audit.ts'
import { outboxToken } from './outbox.ts'

/** The fields of a document that are the store's own. */
interface Kept {
  _id: string
  outbox_token?: string
  /** See `QueueToken`. */
  holder?: string
  /** Deliveries and cards: unique together with the id of the event or request they are about. */
  target_key?: string
  recipient_key?: string
  /** Enrolment links: what the link is for, unique. */
  place?: string
  /** Requests: when the request got its version. */
  moved_at?: Date
}

/** Makes the document of a new record, with the token of its outbox. */
export function documentOf<R extends { id: string; audit: readonly AuditEntry[] }>({ id, ...rest }: R) {
  return { _id: id, ...rest, ...outboxToken(rest) }
}

/** Returns a document's record: with its id as `id`, and without the store's own fields. */
export function recordOf<D extends Kept>(document: D) {
  const {
    _id,
    outbox_token: _t,
    holder: _h,
    target_key: _k,
    recipient_key: _r,
    place: _p,
    moved_at: _m,
    ...rest
  } = document
  return { id: _id, ...rest }
}

/** Returns the record of the document found, if any. */
export function recordIn<D extends Kept>(document: D | null | undefined) {
  return document === null || document === undefined ? undefined : recordOf(document)
}

/** Returns the document found, if any, without its `_id`, which is made of its other fields. */
export function withoutId<D extends { _id: string }>(document: D | null) {
  if (document === null) return undefined
  const { _id, ...rest } = document
  return rest
}

/** Builds the update that sets these fields; `null` removes a field, undefined leaves it as it is. */
export function replacing(fields: object): { $set?: object; $unset?: object } {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  const set = Object.fromEntries(given.filter(([, value]) => value !== null))
  const unset = Object.fromEntries(given.filter(([, value]) => value === null).map(([key]) => [key, 1]))
  return {
    ...(Object.keys(set).length > 0 ? { $set: set } : {}),
    ...(Object.keys(unset).length > 0 ? { $unset: unset } : {}),
  }
}
