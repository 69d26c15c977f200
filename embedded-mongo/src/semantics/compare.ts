import type { Binary, BSONRegExp, ObjectId, Timestamp } from 'bson'
import { mongoError } from './mongo-error.ts'
import { compareNumbers } from './numbers.ts'
import { type BsonDocument, type BsonValue, isDocument, isNumber, type JavaScriptCode } from './values.ts'

type Order = -1 | 0 | 1

const taggedRanks = {
  MinKey: 1,
  Undefined: 2,
  Int32: 10,
  Double: 10,
  Long: 10,
  Decimal128: 10,
  BSONSymbol: 15,
  Binary: 30,
  ObjectId: 35,
  Timestamp: 47,
  BSONRegExp: 50,
  JavaScript: 60,
  MaxKey: 127,
} as const

/**
 * The place of a value's type in BSON order (manual, "Comparison/Sort Order"). Types of one rank compare by
 * value: the four number types together, strings with symbols. Code with a scope ranks after plain code.
 */
export function typeRank(value: BsonValue): number {
  if (value === null) return 5
  if (typeof value === 'string') return 15
  if (typeof value === 'boolean') return 40
  if (value instanceof Map) return 20
  if (Array.isArray(value)) return 25
  if (value instanceof Date) return 45
  if (value._bsontype === 'JavaScript') return value.scope ? 65 : 60
  return taggedRanks[value._bsontype]
}

/**
 * Total BSON order: -1, 0 or 1. Numbers of all types compare exactly, documents by (type, name, value) of each
 * field in turn, strings by code point. Zero means equal to MongoDB's `$eq`.
 */
export function compareValues(left: BsonValue, right: BsonValue): Order {
  if (left === right) return 0
  const rank = typeRank(left)
  const rightRank = typeRank(right)
  if (rank !== rightRank) return rank < rightRank ? -1 : 1
  if (rank === 15) return compareCodePoints(textOf(left), textOf(right))
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right)
  if (left instanceof Map && right instanceof Map) return compareDocuments(left, right)
  if (Array.isArray(left) && Array.isArray(right)) return compareArrays(left, right)
  if (left instanceof Date && right instanceof Date) return sign(left.getTime() - right.getTime())
  if (typeof left === 'boolean') return left === right ? 0 : left ? 1 : -1
  return compareTagged(left, right)
}

/** Strings compare by code point, as the collation `simple` says. @throws MongoError 72 for any other */
export function checkCollation(collation: BsonValue | undefined): void {
  const isSimple = isDocument(collation) && collation.size === 1 && collation.get('locale') === 'simple'
  if (collation === undefined || isSimple) return
  throw mongoError('InvalidOptions', "no collation but {locale: 'simple'} is supported by the embedded store")
}

/** True if MongoDB's `$eq` holds between two whole values: 1 equals 1.0, field order matters. */
export function equalValues(left: BsonValue, right: BsonValue): boolean {
  return compareValues(left, right) === 0
}

/** True if both values are the same BSON bytes: same types, same order. An update that changes nothing is recognised by it. */
export function identicalValues(left: BsonValue, right: BsonValue): boolean {
  if (left === right) return true
  if (left instanceof Map && right instanceof Map) return identicalDocuments(left, right)
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => identicalNext(item, right[index]))
  }
  if (isNumber(left) && isNumber(right)) return identicalNumbers(left, right)
  return tagOf(left) === tagOf(right) && compareValues(left, right) === 0
}

function identicalNext(left: BsonValue, right: BsonValue | undefined): boolean {
  return right !== undefined && identicalValues(left, right)
}

function identicalDocuments(left: BsonDocument, right: BsonDocument): boolean {
  if (left.size !== right.size) return false
  const others = right.entries()
  for (const [name, value] of left) {
    const other = others.next().value
    if (other === undefined || other[0] !== name || !identicalValues(value, other[1])) return false
  }
  return true
}

function identicalNumbers(left: BsonValue, right: BsonValue): boolean {
  if (!isNumber(left) || !isNumber(right) || left._bsontype !== right._bsontype) return false
  // -0 and 0, and 1.0 and 1.00 as decimals, are equal but not the same bytes.
  if (left._bsontype === 'Double' && right._bsontype === 'Double') return Object.is(left.value, right.value)
  if (left._bsontype === 'Decimal128' && right._bsontype === 'Decimal128') {
    return compareBytes(left.bytes, right.bytes) === 0
  }
  return compareNumbers(left, right) === 0
}

function tagOf(value: BsonValue): string {
  if (value === null || typeof value !== 'object') return typeof value
  return '_bsontype' in value ? value._bsontype : 'plain'
}

function sign(difference: number): Order {
  return difference < 0 ? -1 : difference > 0 ? 1 : 0
}

function textOf(value: BsonValue): string {
  if (typeof value === 'string') return value
  return value !== null &&
    typeof value === 'object' &&
    '_bsontype' in value &&
    value._bsontype === 'BSONSymbol'
    ? value.value
    : ''
}

/** Orders strings by code point, which is the byte order of their UTF-8; JavaScript's `<` orders by UTF-16 unit. */
export function compareCodePoints(left: string, right: string): Order {
  const shared = Math.min(left.length, right.length)
  for (let index = 0; index < shared; index++) {
    const a = left.charCodeAt(index)
    const b = right.charCodeAt(index)
    if (a === b) continue
    const surrogateA = a >= 0xd800 && a <= 0xdfff
    const surrogateB = b >= 0xd800 && b <= 0xdfff
    if (surrogateA !== surrogateB) return surrogateA ? 1 : -1
    return a < b ? -1 : 1
  }
  return sign(left.length - right.length)
}

function compareDocuments(left: BsonDocument, right: BsonDocument): Order {
  const others = right.entries()
  for (const [name, value] of left) {
    const other = others.next().value
    if (other === undefined) return 1
    const ranks = sign(typeRank(value) - typeRank(other[1]))
    if (ranks !== 0) return ranks
    const names = compareCodePoints(name, other[0])
    if (names !== 0) return names
    const values = compareValues(value, other[1])
    if (values !== 0) return values
  }
  return left.size < right.size ? -1 : 0
}

function compareArrays(left: BsonValue[], right: BsonValue[]): Order {
  for (const [index, value] of left.entries()) {
    const other = right[index]
    if (other === undefined) return 1
    const result = compareValues(value, other)
    if (result !== 0) return result
  }
  return left.length < right.length ? -1 : 0
}

type Tagged = Binary | ObjectId | Timestamp | BSONRegExp | JavaScriptCode

function compareTagged(left: BsonValue, right: BsonValue): Order {
  if (!isTagged(left) || !isTagged(right)) return 0
  if (left._bsontype === 'ObjectId' && right._bsontype === 'ObjectId') return compareBytes(left.id, right.id)
  if (left._bsontype === 'Binary' && right._bsontype === 'Binary') return compareBinary(left, right)
  if (left._bsontype === 'Timestamp' && right._bsontype === 'Timestamp') {
    return sign((left.high >>> 0) - (right.high >>> 0)) || sign((left.low >>> 0) - (right.low >>> 0))
  }
  if (left._bsontype === 'BSONRegExp' && right._bsontype === 'BSONRegExp') {
    return compareCodePoints(left.pattern, right.pattern) || compareCodePoints(left.options, right.options)
  }
  if (left._bsontype === 'JavaScript' && right._bsontype === 'JavaScript') {
    const codes = compareCodePoints(left.code, right.code)
    return codes || compareDocuments(left.scope ?? new Map(), right.scope ?? new Map())
  }
  return 0
}

function isTagged(value: BsonValue): value is Tagged {
  return value !== null && typeof value === 'object' && '_bsontype' in value
}

/** Binary data compares by length, then subtype, then bytes. */
function compareBinary(left: Binary, right: Binary): Order {
  return (
    sign(left.position - right.position) ||
    sign(left.sub_type - right.sub_type) ||
    compareBytes(left.value(), right.value())
  )
}

function compareBytes(left: Uint8Array, right: Uint8Array): Order {
  return sign(Buffer.compare(left, right))
}
