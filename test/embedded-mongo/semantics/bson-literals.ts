import { Decimal128, Double, EJSON, Int32, Long, ObjectId } from 'bson'
import {
  type BsonDocument,
  type BsonValue,
  JavaScriptCode,
} from '../../../embedded-mongo/semantics/values.ts'

/** Turns what `EJSON.parse(…, {relaxed: false})` gives into this store's values: documents become Maps. */
export function fromEjson(value: unknown): BsonValue {
  if (value === null || value === undefined) return null
  if (typeof value === 'string' || typeof value === 'boolean' || value instanceof Date) return value
  if (typeof value === 'number') return Number.isInteger(value) ? new Int32(value) : new Double(value)
  if (Array.isArray(value)) return value.map(fromEjson)
  if (isTagged(value)) return value._bsontype === 'Code' ? new JavaScriptCode(value.code) : value
  return new Map(Object.entries(Object(value)).map(([name, item]) => [name, fromEjson(item)]))
}

type Tagged = Extract<BsonValue, { _bsontype: string }> | { _bsontype: 'Code'; code: string }

function isTagged(value: unknown): value is Tagged {
  return typeof value === 'object' && value !== null && '_bsontype' in value
}

/** Reads a document written as canonical Extended JSON; plain whole numbers are int32, others double. */
export function doc(source: object): BsonDocument {
  const value = bson(source)
  if (value instanceof Map) return value
  throw new TypeError('not a document')
}

/** Reads any value written as Extended JSON. Keys keep their order, except integer-like ones. */
export function bson(source: unknown): BsonValue {
  return fromEjson(EJSON.parse(JSON.stringify(source), { relaxed: false }))
}

/** Writes a value as canonical Extended JSON, with field order kept, so that two values can be compared with types. */
export function shown(value: BsonValue | undefined): unknown {
  if (value === undefined) return '(missing)'
  if (value instanceof Map) return Array.from(value, ([name, item]) => [name, shown(item)])
  if (Array.isArray(value)) return { array: value.map(shown) }
  if (value instanceof JavaScriptCode)
    return { code: value.code, scope: value.scope ? shown(value.scope) : null }
  if (
    value !== null &&
    typeof value === 'object' &&
    '_bsontype' in value &&
    value._bsontype === 'Undefined'
  ) {
    return { undefined: true }
  }
  const canonical: unknown = JSON.parse(EJSON.stringify({ value }, { relaxed: false }))
  return canonical !== null && typeof canonical === 'object' && 'value' in canonical
    ? canonical.value
    : canonical
}

export const int = (value: number): Int32 => new Int32(value)
export const double = (value: number): Double => new Double(value)
export const long = (value: bigint | number): Long => Long.fromBigInt(BigInt(value))
export const decimal = (value: string): Decimal128 => Decimal128.fromString(value)
export const id = (last: number): ObjectId => new ObjectId(last.toString(16).padStart(24, '0'))
