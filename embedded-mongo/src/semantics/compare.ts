import { Binary, type Double, type Int32, ObjectId } from 'bson'
import { encodeBson } from '../bson-writer.ts'
import { encodeValue, typeRank } from './key-encoding.ts'
import { mongoError } from './mongo-error.ts'
import {
  type BsonDocument,
  type BsonNumber,
  type BsonValue,
  documentOf,
  isDocument,
  isNumber,
} from './values.ts'

type Order = -1 | 0 | 1

/**
 * Total BSON order: -1, 0 or 1. Numbers of all types compare exactly, documents by (type, name, value) of each
 * field in turn, strings by code point. Zero means equal to MongoDB's `$eq`.
 */
export function compareValues(left: BsonValue, right: BsonValue): Order {
  if (left === right) return 0
  const ranks = sign(typeRank(left) - typeRank(right))
  if (ranks !== 0) return ranks
  if (typeof left === 'string' && typeof right === 'string') return compareCodePoints(left, right)
  if (left instanceof Map && right instanceof Map) return compareDocuments(left, right)
  if (Array.isArray(left) && Array.isArray(right)) return compareArrays(left, right)
  if (left instanceof Date && right instanceof Date) return sign(left.getTime() - right.getTime())
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right)
  if (left instanceof ObjectId && right instanceof ObjectId) return compareBytes(left.id, right.id)
  if (left instanceof Binary && right instanceof Binary) return compareBinary(left, right)
  return compareKeys(left, right)
}

/** Compares values of rarely compared types by their index keys, which have the same order. */
function compareKeys(left: BsonValue, right: BsonValue): Order {
  const [leftKey, rightKey] = [encodeValue(left), encodeValue(right)]
  return leftKey < rightKey ? -1 : leftKey > rightKey ? 1 : 0
}

/** Accepts only the collation `simple`: strings compare by code point. @throws MongoError 72 for any other collation */
export function checkCollation(collation: BsonValue | undefined): void {
  const isSimple = isDocument(collation) && collation.size === 1 && collation.get('locale') === 'simple'
  if (collation === undefined || isSimple) return
  throw mongoError('InvalidOptions', "no collation but {locale: 'simple'} is supported by the embedded store")
}

/** True if MongoDB's `$eq` holds between two whole values: 1 equals 1.0, field order matters. */
export function equalValues(left: BsonValue, right: BsonValue): boolean {
  return compareValues(left, right) === 0
}

/** True if both values are the same BSON bytes: same types, same order. Detects an update that changes nothing. */
export function identicalValues(left: BsonValue, right: BsonValue): boolean {
  if (left === right) return true
  // Most changes show without encoding both: another text, an array that grew by `$push`, a document with one field more.
  if (typeof left === 'string' || typeof right === 'string') return false
  if (Array.isArray(left) && Array.isArray(right) && left.length !== right.length) return false
  if (left instanceof Map && right instanceof Map && left.size !== right.size) return false
  return typeRank(left) === typeRank(right) && bsonOf(left).equals(bsonOf(right))
}

function bsonOf(value: BsonValue): Buffer {
  return encodeBson(isDocument(value) ? value : documentOf(['', value]))
}

function sign(difference: number): Order {
  return difference < 0 ? -1 : difference > 0 ? 1 : 0
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

/** Compares numbers without rounding; NaN equals NaN and precedes every other number. */
function compareNumbers(left: BsonNumber, right: BsonNumber): Order {
  if (isInDouble(left) && isInDouble(right)) {
    if (left.value === right.value) return 0
    if (left.value < right.value) return -1
    if (left.value > right.value) return 1
  }
  if (left._bsontype === 'Long' && right._bsontype === 'Long') {
    return sign(left.high - right.high) || sign((left.low >>> 0) - (right.low >>> 0))
  }
  return compareKeys(left, right)
}

function isInDouble(value: BsonNumber): value is Int32 | Double {
  return value._bsontype === 'Int32' || value._bsontype === 'Double'
}
