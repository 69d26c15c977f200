import type { BsonValue } from './values.ts'

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

/** The BSON type number of an alias; the aliases are listed in this order, save the two ends. */
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
