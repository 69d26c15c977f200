import mongoose from 'mongoose'
import { given } from '../domain/given.ts'

const { trusted } = mongoose

/** Expiry is judged by the store's own clock in the same operation that acts on it (T75, T77): conditions for `$expr`. */
export const UNEXPIRED = trusted({ $gt: ['$expires_at', '$$NOW'] })
export const EXPIRED = trusted({ $lte: ['$expires_at', '$$NOW'] })

/** How far our clock may lag behind the database's without hiding what is due. */
const CLOCK_MARGIN_MS = 5_000

/** A plain bound beside `EXPIRED`: it says less, but lets an index find what has lapsed among many that wait. */
export function expiredAround(now: Date) {
  return trusted({ $lte: new Date(now.getTime() + CLOCK_MARGIN_MS) })
}

/** A place in a list: after the entry made then, with that id. */
export interface ListPosition {
  created_at: Date
  id: string
}

export const NEWEST_FIRST = { created_at: -1, _id: -1 } as const
export const OLDEST_FIRST = { created_at: 1, _id: 1 } as const

/** What several reads of at most `limit` rows found, as one list that is sorted `NEWEST_FIRST`; no row twice. */
export function mergeNewest<Row extends ListPosition>(reads: readonly Row[][], limit: number): Row[] {
  const all = new Map(reads.flat().map((row) => [row.id, row]))
  return [...all.values()].sort(newestFirst).slice(0, limit)
}

function newestFirst(a: ListPosition, b: ListPosition): number {
  const later = b.created_at.getTime() - a.created_at.getTime()
  if (later !== 0) return later
  return a.id < b.id ? 1 : -1
}

/** Only what stands after this position in a list that is sorted `NEWEST_FIRST`. */
export function beforePosition(before: ListPosition | undefined) {
  return before === undefined ? {} : beyond('$lt', 'created_at', before.created_at, before.id)
}

/** A place in a list that is sorted `ENDING_FIRST`. */
export interface EndPosition {
  expires_at: Date
  id: string
}

export const ENDING_FIRST = { expires_at: 1, _id: 1 } as const

/** Only what stands after this position in a list that is sorted `ENDING_FIRST`. */
export function endingAfter(after: EndPosition | undefined) {
  return after === undefined ? {} : beyond('$gt', 'expires_at', after.expires_at, after.id)
}

/** Only what stands after that place in a list that is sorted by this field and then by id. */
export function beyond(than: '$lt' | '$gt', field: string, at: Date, id: string | number) {
  const later = { [field]: trusted({ [than]: at }) }
  return { $or: [later, { [field]: at, _id: trusted({ [than]: id }) }] }
}

/** Only what has, in this field, the time `from` or a later one, and one before `to`. */
export function during(field: string, from?: Date, to?: Date, before?: Date) {
  // `$lte` says less than `beyond` does, but in a way that an index can begin at.
  const times = given({ $gte: from, $lt: to, $lte: before })
  return Object.keys(times).length === 0 ? {} : { [field]: times }
}
