import type { CompiledFilter } from './filter.ts'
import { encodeValue, invertKey } from './key-encoding.ts'
import { MongoError, mongoError } from './mongo-error.ts'
import { type BsonDocument, type BsonValue, bsonUndefined, isDocument } from './values.ts'

/** The part of an index specification that `indexKeys` needs; `parseIndexSpec` returns a complete one. */
export interface IndexShape {
  /** The key pattern, for example `{a: 1, b: -1}`; a negative number means descending. */
  readonly fields: readonly { readonly path: string; readonly direction: 1 | -1 }[]
  readonly sparse: boolean
  readonly partial: CompiledFilter | undefined
}

/** Partial filters cannot read the clock, so the time they are run with does not matter. */
const anyTime = new Date(0)

/**
 * Returns the keys of a document in an index, each once. Keys are strings of bytes (`key-encoding.ts`) whose order
 * is the index's order, directions included. No keys: the document is not in the sparse or partial index. Throws
 * MongoError 171 for parallel arrays.
 */
export function indexKeys(document: BsonDocument, shape: IndexShape): string[] {
  const keys = heldTuples(document, shape).map((tuple) => encodeBound(tuple, shape))
  return keys.length > 1 ? [...new Set(keys)] : keys
}

/** Returns the values that one of these keys stands for (for E11000). */
export function valuesOfKey(key: string, document: BsonDocument, shape: IndexShape): KeyTuple | undefined {
  return heldTuples(document, shape).find((tuple) => encodeBound(tuple, shape) === key)
}

function heldTuples(document: BsonDocument, { fields, sparse, partial }: IndexShape): KeyTuple[] {
  if (partial && !partial.matches(document, anyTime)) return []
  const tuples = keyTuples(document, splitPaths(fields), () => {
    const names = fields.map(({ path }) => `[${path}]`).join(' ')
    return mongoError('CannotIndexParallelArrays', `cannot index parallel arrays ${names}`)
  })
  return sparse ? tuples.filter((tuple) => tuple.some((value) => value !== undefined)) : tuples
}

const splitBefore = new WeakMap<IndexShape['fields'], string[][]>()

/** Cached, since an index needs the paths for every document. */
function splitPaths(fields: IndexShape['fields']): string[][] {
  const paths = splitBefore.get(fields) ?? fields.map(({ path }) => path.split('.'))
  splitBefore.set(fields, paths)
  return paths
}

/**
 * Encodes values for the first fields of an index: a whole key, or a prefix P of keys. The keys that begin
 * with P are those from P up to, not including, P + '\xff'.
 */
export function encodeBound(values: KeyTuple, { fields }: Pick<IndexShape, 'fields'>): string {
  let key = ''
  for (const [index, value] of values.entries())
    key += encodeField(value ?? null, fields[index]?.direction ?? 1)
  return key
}

/** Encodes one field of a key in the field's direction. */
export function encodeField(value: BsonValue, direction: 1 | -1): string {
  const key = encodeValue(value)
  return direction === 1 ? key : invertKey(key)
}

/** One value per path; undefined where the field is missing. */
export type KeyTuple = readonly (BsonValue | undefined)[]

/** What a path leads to in a document: a value, or an array with `rest` of the path still to go. */
type Slot =
  | { readonly value: BsonValue | undefined }
  | { readonly array: readonly BsonValue[]; readonly rest: readonly string[] }

/**
 * Returns the values an index or a sort reads in a document, one tuple per array element (manual, "Multikey
 * Indexes"). An empty array counts as BSON undefined. `onParallelArrays` makes the error for two arrays in one
 * compound key.
 */
export function keyTuples(
  document: BsonDocument,
  paths: readonly (readonly string[])[],
  onParallelArrays: () => MongoError,
): KeyTuple[] {
  return expanded(
    paths.map((path) => follow(document, path)),
    onParallelArrays,
  )
}

function expanded(slots: readonly Slot[], onParallelArrays: () => MongoError): KeyTuple[] {
  let array: readonly BsonValue[] | undefined
  for (const slot of slots) {
    if (!('array' in slot)) continue
    // Two different arrays would need the product of their elements, which MongoDB refuses to store.
    if (array !== undefined && array !== slot.array) throw onParallelArrays()
    array = slot.array
  }
  if (array === undefined) return [slots.map((slot) => ('value' in slot ? slot.value : undefined))]
  const inside = (element: BsonValue | undefined): KeyTuple[] =>
    expanded(
      slots.map((slot) => ('array' in slot ? enter(slot, element) : slot)),
      onParallelArrays,
    )
  return array.length === 0 ? inside(undefined) : array.flatMap(inside)
}

/** Follows a path through documents until it ends, breaks off, or meets an array. */
function follow(start: BsonValue, path: readonly string[]): Slot {
  let value: BsonValue | undefined = start
  for (const [depth, name] of path.entries()) {
    if (!isDocument(value)) return { value: undefined }
    value = value.get(name)
    if (Array.isArray(value)) return { array: value, rest: path.slice(depth + 1) }
  }
  return { value }
}

/** Follows the rest of a path from one element of an array; undefined stands for the missing element of an empty array. */
function enter({ array, rest }: Extract<Slot, { array: unknown }>, element: BsonValue | undefined): Slot {
  const [component] = rest
  if (component === undefined) return { value: element === undefined ? bsonUndefined : element }
  if (element === undefined) return { value: undefined }
  const positioned = /^(?:0|[1-9][0-9]*)$/.test(component) ? array[Number(component)] : undefined
  if (positioned === undefined) return follow(element, rest)
  if (isDocument(element) && element.has(component)) {
    throw new MongoError(
      16746,
      `Ambiguous field name found in array (do not use numeric field names): '${component}'`,
    )
  }
  return rest.length === 1 ? { value: positioned } : follow(asDocument(positioned), rest.slice(1))
}

function asDocument(value: BsonValue): BsonValue {
  if (!Array.isArray(value)) return value
  return new Map(value.map((item, index) => [String(index), item]))
}
