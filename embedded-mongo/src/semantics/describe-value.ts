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

function describeNumber(text: string, tag: 'Int32' | 'Double' | 'Long' | 'Decimal128'): string {
  if (tag === 'Decimal128') return `Decimal128('${text}')`
  return tag === 'Double' && /^-?\d+$/.test(text) ? `${text}.0` : text
}

type Other = Exclude<BsonValue, string | boolean | null | Date | BsonValue[] | BsonDocument>

function describeTagged(value: Other): string {
  switch (value._bsontype) {
    case 'ObjectId':
      return `ObjectId('${value.toHexString()}')`
    case 'Binary':
      return `BinData(${value.sub_type}, ${Buffer.from(value.value()).toString('hex').toUpperCase()})`
    case 'Timestamp':
      return `Timestamp(${value.high >>> 0}, ${value.low >>> 0})`
    case 'BSONRegExp':
      return `/${value.pattern}/${value.options}`
    case 'BSONSymbol':
      return JSON.stringify(value.value)
    case 'JavaScript':
      return value.code
    case 'Undefined':
      return 'undefined'
    default:
      return value._bsontype
  }
}

/** MongoDB's `$type` aliases (manual, "BSON Types"). */
export const typeNames = [
  'double',
  'string',
  'object',
  'array',
  'binData',
  'undefined',
  'objectId',
  'bool',
  'date',
  'null',
  'regex',
  'dbPointer',
  'javascript',
  'symbol',
  'javascriptWithScope',
  'int',
  'timestamp',
  'long',
  'decimal',
  'minKey',
  'maxKey',
] as const

/** The alias of a BSON type. */
export type BsonTypeName = (typeof typeNames)[number]

/** Returns the BSON type number of an alias; `typeNames` is in this order, except `minKey` and `maxKey`. */
export function typeNumberOf(name: BsonTypeName): number {
  if (name === 'minKey') return -1
  return name === 'maxKey' ? 127 : typeNames.indexOf(name) + 1
}

const taggedNames = {
  Int32: 'int',
  Double: 'double',
  Long: 'long',
  Decimal128: 'decimal',
  ObjectId: 'objectId',
  Binary: 'binData',
  Timestamp: 'timestamp',
  BSONRegExp: 'regex',
  BSONSymbol: 'symbol',
  Undefined: 'undefined',
  MinKey: 'minKey',
  MaxKey: 'maxKey',
} as const satisfies Record<string, BsonTypeName>

/** The `$type` alias of a value. */
export function typeNameOf(value: BsonValue): BsonTypeName {
  if (value === null) return 'null'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (value instanceof Map) return 'object'
  if (Array.isArray(value)) return 'array'
  if (value instanceof Date) return 'date'
  if (value._bsontype === 'JavaScript') return value.scope ? 'javascriptWithScope' : 'javascript'
  return taggedNames[value._bsontype]
}

/** The type alias as it appears in error messages, where a field may be absent. */
export function shownTypeOf(value: BsonValue | undefined): string {
  return value === undefined ? 'missing' : typeNameOf(value)
}
