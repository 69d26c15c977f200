import { type BsonDocument, type BsonValue, isNumber } from './values.ts'

const shownLength = 1_000

/** A value as MongoDB's messages show it, for example `{ a: 1, b: "x" }`; long text is cut. */
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
