import { checkCollation } from './compare.ts'
import { describeValue, shownTypeOf } from './describe-value.ts'
import { dbRefFields } from './field-paths.ts'
import { type CompiledFilter, compileFilter } from './filter.ts'
import type { FilterNode } from './filter-tree.ts'
import type { IndexShape } from './index-keys.ts'
import { MongoError, mongoError } from './mongo-error.ts'
import { exactNumber, integerValue, isZero } from './numbers.ts'
import { type BsonDocument, type BsonValue, isDocument, isNumber } from './values.ts'

/** A checked index description. */
export interface IndexSpec extends IndexShape {
  readonly name: string
  /** The key pattern as given. */
  readonly key: BsonDocument
  readonly unique: boolean
  /** Age in seconds at which documents expire by the date in the index's only field. */
  readonly expireAfterSeconds: number | undefined
}

const maxFields = 32
const maxExpireSeconds = 2_147_483_647n

const knownOptions = new Set([
  'v',
  'key',
  'name',
  'unique',
  'sparse',
  'background',
  'expireAfterSeconds',
  'partialFilterExpression',
  'collation',
])

/** Other options of MongoDB, for kinds of indexes and for guarantees that this store does not have. */
const unsupportedOptions = new Set([
  'ns',
  'hidden',
  'storageEngine',
  'weights',
  'default_language',
  'language_override',
  'textIndexVersion',
  '2dsphereIndexVersion',
  'bits',
  'min',
  'max',
  'bucketSize',
  'wildcardProjection',
  'dropDups',
  'clustered',
  'prepareUnique',
])

/**
 * Checks one element of `createIndexes.indexes`: ascending and descending keys, unique, sparse, partial and TTL.
 * `background` is accepted and, as in MongoDB since 4.2, has no effect. Throws MongoError 67 (CannotCreateIndex),
 * 14, 197 (unknown option) or 238 (a kind of index this store does not have).
 */
export function parseIndexSpec(spec: BsonDocument): IndexSpec {
  for (const name of spec.keys()) {
    if (knownOptions.has(name)) continue
    if (unsupportedOptions.has(name)) {
      throw mongoError('NotImplemented', `The index option '${name}' is not supported by this store`)
    }
    throw mongoError(
      'InvalidIndexSpecificationOption',
      `The field '${name}' is not valid for an index specification. Specification: ${describeValue(spec)}`,
    )
  }
  const key = spec.get('key')
  if (!isDocument(key)) throw mongoError('TypeMismatch', "The field 'key' must be an object")
  const fields = parseKey(key)
  checkVersionAndCollation(spec)
  const parsed: IndexSpec = {
    key,
    fields,
    name: parseName(spec.get('name'), key),
    unique: flag(spec, 'unique'),
    sparse: flag(spec, 'sparse'),
    expireAfterSeconds: parseExpiry(spec.get('expireAfterSeconds'), fields.length),
    partial: parsePartial(spec.get('partialFilterExpression')),
  }
  if (parsed.sparse && parsed.partial) {
    throw mongoError('CannotCreateIndex', "cannot mix 'partialFilterExpression' and 'sparse' options")
  }
  checkIdIndex(parsed)
  return parsed
}

function parseKey(key: BsonDocument): IndexShape['fields'] {
  if (key.size === 0) throw mongoError('CannotCreateIndex', 'Index keys cannot be an empty object.')
  if (key.size > maxFields) throw new MongoError(13103, 'too many compound keys')
  return Array.from(key, ([path, value]) => {
    checkKeyPath(path)
    return { path, direction: keyDirection(value) }
  })
}

function checkKeyPath(path: string): void {
  for (const part of path.split('.')) {
    if (part === '') throw mongoError('CannotCreateIndex', 'Index keys cannot contain an empty field.')
    if (part === '$**') throw mongoError('NotImplemented', 'Wildcard indexes are not supported by this store')
    if (part.startsWith('$') && !dbRefFields.has(part)) {
      throw mongoError(
        'CannotCreateIndex',
        `Index key contains an illegal field name: field name starts with '$'.`,
      )
    }
  }
}

function keyDirection(value: BsonValue): 1 | -1 {
  if (typeof value === 'string') {
    throw mongoError('NotImplemented', `Index type '${value}' is not supported by this store`)
  }
  if (!isNumber(value)) {
    throw mongoError(
      'CannotCreateIndex',
      `Values in v:2 index key pattern cannot be of type ${shownTypeOf(value)}. ` +
        'Only numbers > 0, numbers < 0, and strings are allowed.',
    )
  }
  const exact = exactNumber(value)
  if (isZero(value) || exact.kind === 'nan') {
    throw mongoError('CannotCreateIndex', 'Values in the index key pattern cannot be 0 or NaN.')
  }
  const negative = exact.kind === 'infinite' ? exact.negative : exact.coefficient < 0n
  return negative ? -1 : 1
}

function checkVersionAndCollation(spec: BsonDocument): void {
  const version = spec.get('v')
  if (version !== undefined && integerValue(version) !== 2n) {
    throw mongoError(
      'CannotCreateIndex',
      `Invalid index specification: only v: 2 is supported, found ${describeValue(version)}`,
    )
  }
  checkCollation(spec.get('collation'))
}

function parseName(name: BsonValue | undefined, key: BsonDocument): string {
  if (name === undefined) {
    return Array.from(key, ([path, value]) => `${path}_${isNumber(value) ? value.toString() : ''}`).join('_')
  }
  if (typeof name !== 'string') throw mongoError('TypeMismatch', "The field 'name' must be a string")
  if (name === '' || name === '*' || name.includes('\0'))
    throw mongoError('CannotCreateIndex', `Invalid index name: '${name}'`)
  return name
}

function flag(spec: BsonDocument, name: string): boolean {
  const value = spec.get(name)
  if (value === undefined) return false
  if (typeof value === 'boolean') return value
  if (isNumber(value)) return !isZero(value)
  throw mongoError(
    'TypeMismatch',
    `The field '${name}' has value ${describeValue(value)}, which is not convertible to bool`,
  )
}

function parseExpiry(value: BsonValue | undefined, fieldCount: number): number | undefined {
  if (value === undefined) return undefined
  const seconds = integerValue(value)
  if (seconds === undefined || seconds < 0n || seconds > maxExpireSeconds) {
    throw mongoError(
      'CannotCreateIndex',
      `TTL index 'expireAfterSeconds' option must be within 0 and ${maxExpireSeconds}`,
    )
  }
  if (fieldCount > 1) {
    throw mongoError(
      'CannotCreateIndex',
      'TTL indexes are single-field indexes, compound indexes do not support TTL',
    )
  }
  return Number(seconds)
}

function parsePartial(value: BsonValue | undefined): CompiledFilter | undefined {
  if (value === undefined) return undefined
  if (!isDocument(value))
    throw mongoError('TypeMismatch', "The field 'partialFilterExpression' must be an object")
  const partial = compileFilter(value)
  checkPartialNode(partial.tree)
  return partial
}

const partialTests = new Set(['eq', 'gt', 'gte', 'lt', 'lte', 'in', 'exists'])

/** MongoDB takes only positive conditions in a partial index (manual, "Partial Indexes"). */
function checkPartialNode(node: FilterNode): void {
  if (node.kind === 'and' || node.kind === 'or') {
    for (const child of node.children) checkPartialNode(child)
  } else if (node.kind !== 'field' || !partialTests.has(node.test.op)) {
    const shown = node.kind === 'field' ? node.test.op : node.kind
    throw mongoError('CannotCreateIndex', `Expression not supported in partial index: ${shown}`)
  }
}

/** Checks whether an index is on `_id` alone. */
export function isIdKey({ fields }: IndexShape): boolean {
  return fields.length === 1 && fields[0]?.path === '_id'
}

function checkIdIndex(spec: IndexSpec): void {
  if (!isIdKey(spec)) return
  if (spec.expireAfterSeconds !== undefined) {
    throw mongoError(
      'InvalidIndexSpecificationOption',
      "The field 'expireAfterSeconds' is not valid for an _id index specification.",
    )
  }
  if (spec.sparse || spec.partial) {
    throw mongoError('InvalidIndexSpecificationOption', 'An _id index cannot be sparse or partial.')
  }
}
