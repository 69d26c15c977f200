import { compareValues } from './compare.ts'
import { splitFieldPath } from './field-paths.ts'
import { type KeyTuple, keyTuples } from './index-keys.ts'
import { MongoError, mongoError } from './mongo-error.ts'
import { integerValue } from './numbers.ts'
import { type BsonDocument, type BsonValue, isNumber } from './values.ts'

/** One field of a sort. */
export interface SortField {
  readonly path: string
  readonly direction: 1 | -1
}

/** The most fields MongoDB sorts by. */
const maxFields = 32

/**
 * Reads `{path: 1 | -1, …}`. Throws MongoError 15974 or 15975 for another direction, 15998 or 16410 for a bad path,
 * 13103 for too many fields; `$meta` and `$natural` are not supported (238).
 */
export function parseSort(sort: BsonDocument): SortField[] {
  if (sort.size > maxFields) throw new MongoError(13103, 'too many compound keys')
  return Array.from(sort, ([path, value]) => ({ path: checkedPath(path), direction: direction(value) }))
}

function checkedPath(path: string): string {
  if (path === '$natural') throw mongoError('NotImplemented', '$natural sort is not supported by this store')
  splitFieldPath(path)
  return path
}

function direction(value: BsonValue): 1 | -1 {
  if (value instanceof Map) throw mongoError('NotImplemented', '$meta sort is not supported by this store')
  if (!isNumber(value)) throw new MongoError(15974, '$sort key ordering must be specified using a number')
  const integer = integerValue(value)
  if (integer === 1n) return 1
  if (integer === -1n) return -1
  throw new MongoError(15975, '$sort key ordering must be 1 (for ascending) or -1 (for descending)')
}

/** A sort in two steps, for a caller with its own sorting method: reading a document's key, and comparing two keys. */
export interface SortKeys {
  readonly keyOf: (document: BsonDocument) => KeyTuple
  readonly compareKeys: (left: KeyTuple, right: KeyTuple) => number
}

/**
 * Compiles a sort, in full BSON order. An array sorts by its smallest element when ascending and its largest when
 * descending, a missing field as null. `keyOf` throws MongoError 2 for parallel arrays.
 */
export function compileSortKeys(fields: readonly SortField[]): SortKeys {
  const paths = fields.map(({ path }) => path.split('.'))
  const compareKeys = (left: KeyTuple, right: KeyTuple): number => compareTuples(left, right, fields)
  const parallel = (): MongoError => mongoError('BadValue', 'cannot sort with keys that are parallel arrays')
  return {
    compareKeys,
    keyOf: (document) => {
      const tuples = keyTuples(document, paths, parallel)
      return tuples.reduce((best, tuple) => (compareKeys(tuple, best) < 0 ? tuple : best))
    },
  }
}

function compareTuples(left: KeyTuple, right: KeyTuple, fields: readonly SortField[]): number {
  for (const [index, { direction }] of fields.entries()) {
    const result = compareValues(left[index] ?? null, right[index] ?? null)
    if (result !== 0) return result * direction
  }
  return 0
}
