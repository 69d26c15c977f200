import type { Binary } from 'bson'
import { exactNumber } from './numbers.ts'
import type { BsonDocument, BsonNumber, BsonValue } from './values.ts'

// An encoded key is a string of bytes: every character is U+0000–U+00FF, so JavaScript's `<`, memcmp of its latin1
// bytes and SQLite's BLOB order agree. No encoding is a prefix of another, so keys may be joined field after field.

const end = '\x00'
const TWO_32 = 2 ** 32

const taggedRanks = {
  Undefined: 2,
  Int32: 10,
  Double: 10,
  Long: 10,
  Binary: 30,
  ObjectId: 35,
  BSONRegExp: 50,
} as const

/**
 * Returns the rank of a value's type in BSON order (manual, "Comparison/Sort Order"). Types of one rank compare by
 * value: the three number types.
 */
export function typeRank(value: BsonValue): number {
  if (value === null) return 5
  if (typeof value === 'string') return 15
  if (typeof value === 'boolean') return 40
  if (value instanceof Map) return 20
  if (Array.isArray(value)) return 25
  if (value instanceof Date) return 45
  return taggedRanks[value._bsontype]
}

/**
 * Encodes a value so that the byte order of encodings is `compareValues` order and equal values encode alike.
 * The encoding loses the number type (1 and 1.0 are one key), so a value cannot be read back from it.
 */
export function encodeValue(value: BsonValue): string {
  return String.fromCharCode(typeRank(value)) + encodeBody(value)
}

/** Reverses the order: the larger the value, the smaller its key. For the descending fields of an index. */
export function invertKey(key: string): string {
  let inverted = ''
  for (let index = 0; index < key.length; index++)
    inverted += String.fromCharCode(255 - key.charCodeAt(index))
  return inverted
}

function encodeBody(value: BsonValue): string {
  if (value === null) return ''
  if (typeof value === 'string') return encodeText(value)
  if (typeof value === 'boolean') return value ? '\x01' : '\x00'
  if (value instanceof Date) return encodeTime(value.getTime())
  if (value instanceof Map) return encodeDocument(value)
  if (Array.isArray(value)) return value.map(encodeValue).join('') + end
  return encodeTagged(value)
}

function encodeDocument(document: BsonDocument): string {
  let encoded = ''
  for (const [name, value] of document) {
    encoded += String.fromCharCode(typeRank(value)) + encodeText(name) + encodeBody(value)
  }
  return encoded + end
}

type Tagged = Exclude<BsonValue, string | boolean | null | Date | BsonValue[] | BsonDocument>

function encodeTagged(value: Tagged): string {
  switch (value._bsontype) {
    case 'Int32':
    case 'Double':
    case 'Long':
      return encodeNumber(value)
    case 'ObjectId':
      return Buffer.from(value.id).toString('latin1')
    case 'Binary':
      return encodeBinary(value)
    case 'BSONRegExp':
      return encodeText(value.pattern) + encodeText(value.options)
    default:
      return ''
  }
}

/** UTF-8 with NUL written 00 FF and the end written 00 00, so that "a" sorts before "a\0" and "ab". */
function encodeText(text: string): string {
  const hasNul = text.includes('\x00')
  if (!hasNul && Buffer.byteLength(text, 'utf8') === text.length) return `${text}\x00\x00`
  const bytes = Buffer.from(text, 'utf8').toString('latin1')
  return `${bytes.replaceAll('\x00', '\x00\xff')}\x00\x00`
}

function encodeBinary(value: Binary): string {
  return (
    encodeUint32(value.position) +
    String.fromCharCode(value.sub_type) +
    Buffer.from(value.value()).toString('latin1')
  )
}

function encodeUint32(value: number): string {
  return String.fromCharCode(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255)
}

/** Encodes a time in 64 bits with the sign bit inverted. */
function encodeTime(milliseconds: number): string {
  const high = Math.floor(milliseconds / TWO_32)
  return encodeUint32(high ^ 0x80000000) + encodeUint32(milliseconds - high * TWO_32)
}

const nanKey = '\x01'
const negativeInfinityKey = '\x02'
const negativeKey = '\x03'
const zeroKey = '\x04'
const positiveKey = '\x05'
const positiveInfinityKey = '\x06'
const exponentBias = 0x8000

/** Encodes sign, decimal exponent and significant digits: exact for every number type, so 1, 1.0 and 1.00 share one key. */
function encodeNumber(value: BsonNumber): string {
  if (value._bsontype === 'Int32' || (value._bsontype === 'Double' && Number.isSafeInteger(value.value))) {
    return encodeDigits(value.value < 0, String(Math.abs(value.value)), 0)
  }
  const exact = exactNumber(value)
  if (exact.kind === 'nan') return nanKey
  if (exact.kind === 'infinite') return exact.negative ? negativeInfinityKey : positiveInfinityKey
  const negative = exact.coefficient < 0n
  const magnitude = negative ? -exact.coefficient : exact.coefficient
  return encodeDigits(negative, magnitude.toString(), exact.exponent)
}

function encodeDigits(negative: boolean, digits: string, exponent: number): string {
  if (digits === '0') return zeroKey
  const scale = digits.length + exponent + exponentBias
  let body = String.fromCharCode(scale >> 8, scale & 255)
  let last = digits.length
  while (digits[last - 1] === '0') last--
  for (let index = 0; index < last; index += 2) {
    const pair = (digits[index] ?? '0') + (index + 1 < last ? digits[index + 1] : '0')
    body += String.fromCharCode(Number(pair) + 1)
  }
  body += end
  return negative ? negativeKey + invertKey(body) : positiveKey + body
}
