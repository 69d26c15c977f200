import { isIndexComponent } from './field-paths.ts'
import type { CompiledFilter } from './filter.ts'
import { encodeValue, invertKey } from './key-encoding.ts'
import { MongoError, mongoError } from './mongo-error.ts'
import { type BsonDocument, type BsonValue, bsonUndefined, isDocument } from './values.ts'

/** What `indexKeys` needs of an index; `parseIndexSpec` makes a whole one. */
export interface IndexShape {
  /** The key pattern, for example `{a: 1, b: -1}`; a negative number means descending. */
  readonly fields: readonly { readonly path: string; readonly direction: 1 | -1 }[]
  readonly sparse: boolean
  readonly partial: CompiledFilter | undefined
}

/** One key a document has in an index: the encoding, and the values it stands for (for E11000). */
export interface IndexEntry {
  readonly key: string
  readonly values: readonly BsonValue[]
}

/** Partial filters cannot read the clock, so the time they are run with does not matter. */
const anyTime = new Date(0)

/**
 * The keys of a document in an index, each once. Keys are strings of bytes (`key-encoding.ts`) whose order is the
 * index's order, directions included. No keys: the document is not in the sparse or partial index.
 * Throws MongoError 171 for parallel arrays.
 */
export function indexKeys(document: BsonDocument, shape: IndexShape): string[] {
  const keys = heldTuples(document, shape).map((tuple) => encodeBound(tuple, shape))
  return keys.length > 1 ? [...new Set(keys)] : keys
}

/** As `indexKeys`, with the values that each stands for. */
export function indexEntries(document: BsonDocument, shape: IndexShape): IndexEntry[] {
  const entries = new Map<string, IndexEntry>()
  for (const tuple of heldTuples(document, shape)) {
    const key = encodeBound(tuple, shape)
    if (!entries.has(key)) entries.set(key, { key, values: tuple.map((value) => value ?? null) })
  }
  return [...entries.values()]
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

/** An index asks this of every document. */
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

type Slot =
  | { readonly done: true; readonly value: BsonValue | undefined }
  | { readonly done: false; readonly base: BsonValue | undefined; readonly depth: number }

/**
 * The values an index or a sort sees in a document, one tuple per array element (manual, "Multikey Indexes").
 * An empty array counts as BSON undefined. `onParallelArrays` makes the error for two arrays in one compound key.
 */
export function keyTuples(
  document: BsonDocument,
  paths: readonly (readonly string[])[],
  onParallelArrays: () => MongoError,
): KeyTuple[] {
  const plain = plainTuple(document, paths)
  if (plain !== undefined) return [plain]
  const tuples: KeyTuple[] = []
  const slots = paths.map((): Slot => ({ done: false, base: document, depth: 0 }))
  new TupleCollector(paths, onParallelArrays, tuples).collect(slots)
  return tuples
}

/** The one tuple of a document without an array on these paths. */
function plainTuple(
  document: BsonDocument,
  paths: readonly (readonly string[])[],
): (BsonValue | undefined)[] | undefined {
  const tuple: (BsonValue | undefined)[] = []
  for (const path of paths) {
    let value: BsonValue | undefined = document
    for (const name of path) {
      value = isDocument(value) ? value.get(name) : undefined
      if (Array.isArray(value)) return undefined
    }
    tuple.push(value)
  }
  return tuple
}

class TupleCollector {
  readonly #paths: readonly (readonly string[])[]
  readonly #onParallelArrays: () => MongoError
  readonly #tuples: KeyTuple[]

  constructor(paths: readonly (readonly string[])[], onParallelArrays: () => MongoError, tuples: KeyTuple[]) {
    this.#paths = paths
    this.#onParallelArrays = onParallelArrays
    this.#tuples = tuples
  }

  collect(slots: readonly Slot[]): void {
    let array: BsonValue[] | undefined
    const next = slots.map((slot, index): Slot => {
      if (slot.done) return slot
      const reached = this.#descend(slot.base, slot.depth, index)
      if (!reached.done && Array.isArray(reached.base)) {
        // Two different arrays would need the product of their elements, which MongoDB refuses to store.
        if (array !== undefined && array !== reached.base) throw this.#onParallelArrays()
        array = reached.base
      }
      return reached
    })
    if (array === undefined) this.#tuples.push(next.map((slot) => (slot.done ? slot.value : undefined)))
    else this.#expand(next, array)
  }

  /** Follows a path through documents until it ends, breaks off, or meets an array. */
  #descend(base: BsonValue | undefined, start: number, pathIndex: number): Slot {
    const path = this.#paths[pathIndex] ?? []
    let value = base
    for (let depth = start; depth < path.length; depth++) {
      if (!isDocument(value)) return { done: true, value: undefined }
      value = value.get(path[depth] ?? '')
      if (Array.isArray(value)) return { done: false, base: value, depth: depth + 1 }
    }
    return { done: true, value }
  }

  #expand(slots: readonly Slot[], array: BsonValue[]): void {
    if (array.length === 0) {
      this.collect(slots.map((slot, index) => (slot.done ? slot : this.#emptyArray(slot.depth, index))))
      return
    }
    for (const element of array) {
      this.collect(
        slots.map((slot, index) => (slot.done ? slot : this.#enter(element, array, slot.depth, index))),
      )
    }
  }

  #emptyArray(depth: number, pathIndex: number): Slot {
    const atEnd = depth === this.#paths[pathIndex]?.length
    return { done: true, value: atEnd ? bsonUndefined : undefined }
  }

  #enter(element: BsonValue, array: BsonValue[], depth: number, pathIndex: number): Slot {
    const component = this.#paths[pathIndex]?.[depth]
    if (component === undefined) return { done: true, value: element }
    const positioned = isIndexComponent(component) ? array[Number(component)] : undefined
    const isField = isDocument(element) && element.has(component)
    if (positioned === undefined || !/^(?:0|[1-9][0-9]*)$/.test(component)) {
      return { done: false, base: element, depth }
    }
    if (isField) {
      throw new MongoError(
        16746,
        `Ambiguous field name found in array (do not use numeric field names): '${component}'`,
      )
    }
    if (depth + 1 === this.#paths[pathIndex]?.length) return { done: true, value: positioned }
    return { done: false, base: asDocument(positioned), depth: depth + 1 }
  }
}

function asDocument(value: BsonValue): BsonValue {
  if (!Array.isArray(value)) return value
  return new Map(value.map((item, index) => [String(index), item]))
}
