import type {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from 'bson'

/**
 * A BSON document. A Map keeps insertion order even for integer-like names and gives `__proto__` no power.
 * Documents are treated as immutable once stored: nothing under `semantics/` mutates its input.
 */
export type BsonDocument = Map<string, BsonValue>

/**
 * Every BSON value, losslessly: int32, double, int64 and decimal128 stay apart (`Int32`, `Double`, `Long`,
 * `Decimal128`), a UTC datetime is a `Date`, and BSON's own "undefined" (type 6) is `bsonUndefined`,
 * so that JavaScript's `undefined` always means "the field is missing".
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
  | Decimal128
  | ObjectId
  | Binary
  | Timestamp
  | BSONRegExp
  | BSONSymbol
  | JavaScriptCode
  | BsonUndefined
  | MinKey
  | MaxKey

/** The four number types. */
export type BsonNumber = Int32 | Double | Long | Decimal128

/** BSON type 6, deprecated but storable. Use the one instance `bsonUndefined`. */
class BsonUndefined {
  readonly _bsontype = 'Undefined'
}

/** The only instance of BSON type 6 ("undefined"). */
export const bsonUndefined = new BsonUndefined()

/** JavaScript code (BSON type 13) or, with a scope, BSON type 15. Stored and compared, never run. */
export class JavaScriptCode {
  readonly _bsontype = 'JavaScript'
  readonly code: string
  readonly scope: BsonDocument | undefined

  constructor(code: string, scope?: BsonDocument) {
    this.code = code
    this.scope = scope
  }
}

/** True for an embedded (or top-level) document. */
export function isDocument(value: BsonValue | undefined): value is BsonDocument {
  return value instanceof Map
}

/** True for int32, double, int64 and decimal128. */
export function isNumber(value: BsonValue | undefined): value is BsonNumber {
  if (value === null || typeof value !== 'object' || !('_bsontype' in value)) return false
  const tag = value._bsontype
  return tag === 'Int32' || tag === 'Double' || tag === 'Long' || tag === 'Decimal128'
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
