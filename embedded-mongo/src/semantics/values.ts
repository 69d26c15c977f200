import type { Binary, BSONRegExp, Double, Int32, Long, ObjectId } from 'bson'

/**
 * A BSON document. A Map keeps insertion order even for integer-like names and gives `__proto__` no power.
 * Documents are treated as immutable once stored: nothing under `semantics/` mutates its input.
 */
export type BsonDocument = Map<string, BsonValue>

/**
 * Every BSON value of this store, losslessly: int32, double and int64 stay apart (`Int32`, `Double`, `Long`), a UTC datetime is
 * a `Date`. JavaScript's `undefined` always means "the field is missing".
 */
export type BsonValue =
  | string
  | boolean
  | null
  | Date
  | BsonValue[]
  | BsonDocument
  | Int32
  | Double
  | Long
  | ObjectId
  | Binary
  | BSONRegExp
  | BsonUndefined

/** The three number types. */
export type BsonNumber = Int32 | Double | Long

/** What sorts below null: the index key of an empty array, and a missing value in an expression. Never stored. */
class BsonUndefined {
  readonly _bsontype = 'Undefined'
}

/** The only instance of that value. */
export const bsonUndefined = new BsonUndefined()

/** True for an embedded (or top-level) document. */
export function isDocument(value: BsonValue | undefined): value is BsonDocument {
  return value instanceof Map
}

/** True for int32, double and int64. */
export function isNumber(value: BsonValue | undefined): value is BsonNumber {
  if (value === null || typeof value !== 'object' || !('_bsontype' in value)) return false
  const tag = value._bsontype
  return tag === 'Int32' || tag === 'Double' || tag === 'Long'
}

/** True for a stored regular expression. */
export function isRegex(value: BsonValue | undefined): value is BSONRegExp {
  return (
    typeof value === 'object' && value !== null && '_bsontype' in value && value._bsontype === 'BSONRegExp'
  )
}

/** Builds a document from name/value pairs. */
export function documentOf(...entries: readonly (readonly [string, BsonValue])[]): BsonDocument {
  return new Map(entries)
}
