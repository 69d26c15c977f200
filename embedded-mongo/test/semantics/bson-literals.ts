import { Binary, BSONRegExp, Double, EJSON, Int32, Long, ObjectId } from 'bson'
import type { BsonDocument, BsonValue } from '../../src/semantics/values.ts'

/**
 * Readers of the tagged forms of canonical Extended JSON. Not `EJSON.parse`: it also takes `{$regex, $options}`
 * and `{$ref, $id}`, which here are filters, for values.
 */
const tagged = new Map<string, (content: unknown) => BsonValue>([
  ['$numberInt', (content) => new Int32(Number(content))],
  ['$numberLong', (content) => Long.fromString(String(content))],
  ['$numberDouble', (content) => new Double(Number(content))],
  ['$oid', (content) => new ObjectId(String(content))],
  ['$date', (content) => dateOf(content)],
  [
    '$binary',
    (content) =>
      new Binary(
        Buffer.from(part(content, 'base64'), 'base64'),
        Number.parseInt(part(content, 'subType'), 16),
      ),
  ],
  ['$regularExpression', (content) => new BSONRegExp(part(content, 'pattern'), part(content, 'options'))],
])

function part(content: unknown, name: string): string {
  return String(Object(content)[name])
}

function dateOf(content: unknown): Date {
  return typeof content === 'string' ? new Date(content) : new Date(Number(part(content, '$numberLong')))
}

/** Reads canonical Extended JSON, already parsed. Plain whole numbers are int32, others double. */
export function bson(source: unknown): BsonValue {
  if (source === null || typeof source === 'string' || typeof source === 'boolean') return source
  if (typeof source === 'number') return Number.isInteger(source) ? new Int32(source) : new Double(source)
  if (Array.isArray(source)) return source.map(bson)
  const entries = Object.entries(Object(source))
  const [first] = entries
  const read = first && entries.length === 1 ? tagged.get(first[0]) : undefined
  if (first && read) return read(first[1])
  return new Map(entries.map(([name, value]) => [name, bson(value)]))
}

/** Reads a document as `bson` does. */
export function doc(source: object): BsonDocument {
  const value = bson(source)
  if (value instanceof Map) return value
  throw new TypeError('not a document')
}

/** Writes a value with types and field order visible, so that two values can be compared. */
export function shown(value: BsonValue | undefined): unknown {
  if (value === undefined) return '(missing)'
  if (value instanceof Map) return Array.from(value, ([name, item]) => [name, shown(item)])
  if (Array.isArray(value)) return { array: value.map(shown) }
  if (
    value !== null &&
    typeof value === 'object' &&
    '_bsontype' in value &&
    value._bsontype === 'Undefined'
  ) {
    return { undefined: true }
  }
  const canonical: unknown = JSON.parse(EJSON.stringify({ value }, { relaxed: false }))
  return Object(canonical).value
}

export const int = (value: number): Int32 => new Int32(value)
export const double = (value: number): Double => new Double(value)
export const long = (value: bigint | number): Long => Long.fromBigInt(BigInt(value))
