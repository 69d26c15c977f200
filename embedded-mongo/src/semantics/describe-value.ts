import { type BsonDocument, type BsonValue, isNumber } from './values.ts'

const shownLength = 1_000

/** Formats a value as MongoDB's messages do, for example `{ a: 1, b: "x" }`; long text is cut. */
export function describeValue(value: BsonValue): string {
  const text = describe(value)
  return text.length > shownLength ? `${text.slice(0, shownLength)}...` : text
}

function describe(value: BsonValue): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'boolean') return String(value)
  if (value instanceof Date) return `new Date(${value.getTime()})`
  if (value instanceof Map) return describeFields(value)
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[ ${value.map(describe).join(', ')} ]`
  if (isNumber(value)) return describeNumber(value.toString(), value._bsontype)
  return describeTagged(value)
}

function describeFields(document: BsonDocument): string {
  if (document.size === 0) return '{}'
  const fields = Array.from(document, ([name, value]) => `${name}: ${describe(value)}`)
  return `{ ${fields.join(', ')} }`
}

function describeNumber(text: string, tag: 'Int32' | 'Double' | 'Long'): string {
  return tag === 'Double' && /^-?\d+$/.test(text) ? `${text}.0` : text
}

type Other = Exclude<BsonValue, string | boolean | null | Date | BsonValue[] | BsonDocument>

function describeTagged(value: Other): string {
  switch (value._bsontype) {
    case 'ObjectId':
      return `ObjectId('${value.toHexString()}')`
    case 'Binary':
      return `BinData(${value.sub_type}, ${Buffer.from(value.value()).toString('hex').toUpperCase()})`
    case 'BSONRegExp':
      return `/${value.pattern}/${value.options}`
    default:
      return 'undefined'
  }
}

/** MongoDB's names of the types (manual, "BSON Types"). */
const taggedNames = {
  Int32: 'int',
  Double: 'double',
  Long: 'long',
  ObjectId: 'objectId',
  Binary: 'binData',
  BSONRegExp: 'regex',
  Undefined: 'undefined',
} as const

/** The name of a value's type, as MongoDB's messages have it. */
export function typeNameOf(value: BsonValue): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (value instanceof Map) return 'object'
  if (Array.isArray(value)) return 'array'
  return value instanceof Date ? 'date' : taggedNames[value._bsontype]
}

/** The name of a type as it appears in error messages, where a field may be absent. */
export function shownTypeOf(value: BsonValue | undefined): string {
  return value === undefined ? 'missing' : typeNameOf(value)
}
