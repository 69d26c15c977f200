import mongoose from 'mongoose'
import { given } from '../../domain/given.ts'

const { trusted } = mongoose

/** Conditions for `$expr`: the store's own clock judges expiry, in the same operation that acts on it (T75, T77). */
export const UNEXPIRED = trusted({ $gt: ['$expires_at', '$$NOW'] })
export const EXPIRED = trusted({ $lte: ['$expires_at', '$$NOW'] })

/** Milliseconds by which our clock may lag behind the database's without hiding what has expired. */
const CLOCK_MARGIN_MS = 5_000

/** A plain bound to use beside `EXPIRED`: it is looser, but lets an index find the lapsed ones among many that wait. */
export function expiredAround(now: Date) {
  return trusted({ $lte: new Date(now.getTime() + CLOCK_MARGIN_MS) })
}

/** A keyset-paging position: the `created_at` and id of the last entry read. */
export interface ListPosition {
  created_at: Date
  id: string
}

export const NEWEST_FIRST = { created_at: -1, _id: -1 } as const
export const OLDEST_FIRST = { created_at: 1, _id: 1 } as const

/** Merges several reads of at most `limit` rows into one list in `NEWEST_FIRST` order, without duplicates. */
export function mergeNewest<Row extends ListPosition>(reads: readonly Row[][], limit: number): Row[] {
  const all = new Map(reads.flat().map((row) => [row.id, row]))
  return [...all.values()].sort(newestFirst).slice(0, limit)
}

function newestFirst(a: ListPosition, b: ListPosition): number {
  const later = b.created_at.getTime() - a.created_at.getTime()
  if (later !== 0) return later
  return a.id < b.id ? 1 : -1
}

/** The filter for entries after this position in `NEWEST_FIRST` order. */
export function beforePosition(before: ListPosition | undefined) {
  return before === undefined ? {} : beyond('$lt', 'created_at', before.created_at, before.id)
}

/** A keyset-paging position in a list in `ENDING_FIRST` order. */
export interface EndPosition {
  expires_at: Date
  id: string
}

export const ENDING_FIRST = { expires_at: 1, _id: 1 } as const

/** The filter for entries after this position in `ENDING_FIRST` order. */
export function endingAfter(after: EndPosition | undefined) {
  return after === undefined ? {} : beyond('$gt', 'expires_at', after.expires_at, after.id)
}

/** The filter for entries after that position in a list sorted by this field and then by id. */
export function beyond(than: '$lt' | '$gt', field: string, at: Date, id: string | number) {
  const later = { [field]: trusted({ [than]: at }) }
  return { $or: [later, { [field]: at, _id: trusted({ [than]: id }) }] }
}

/** The filter for a time in this field at or after `from`, before `to` and, for paging, at or before `before`. */
export function during(field: string, from?: Date, to?: Date, before?: Date) {
  // `$lte` is looser than `beyond`, but an index scan can begin at it.
  const times = given({ $gte: from, $lt: to, $lte: before })
  return Object.keys(times).length === 0 ? {} : { [field]: times }
}
