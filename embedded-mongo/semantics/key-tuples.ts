import { MongoError } from './mongo-error.ts'
import { type BsonDocument, type BsonValue, bsonUndefined, isDocument } from './values.ts'
import { isIndexComponent } from './walk-path.ts'

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
  const tuples: KeyTuple[] = []
  const slots = paths.map((): Slot => ({ done: false, base: document, depth: 0 }))
  new TupleCollector(paths, onParallelArrays, tuples).collect(slots)
  return tuples
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
