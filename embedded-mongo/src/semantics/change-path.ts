import { identicalValues, type StringOrder } from './compare.ts'
import { describeValue } from './describe-value.ts'
import { mongoError } from './mongo-error.ts'
import { type BsonDocument, type BsonValue, isDocument } from './values.ts'

/** What an update operator may know besides the field's value. */
export interface UpdateContext {
  /** The store's clock, for `$currentDate`. */
  readonly now: Date
  /** The document before the update, for error messages. */
  readonly document: BsonDocument
  /** The dotted path being changed. */
  readonly path: string
}

/** An update operator with its argument, for one path. */
export interface FieldOperator {
  /** `skip`: a missing field, or a path that cannot exist, is left alone; `create`: the path is made. */
  readonly onMissing: 'skip' | 'create'
  /** The new value of the field (undefined removes it); must not change `current`. Throws MongoError. */
  readonly apply: (current: BsonValue | undefined, context: UpdateContext) => BsonValue | undefined
}

/** Makes an operator of its argument; throws MongoError if the argument is malformed. `order` collates strings. */
export type OperatorFactory = (
  path: string,
  argument: BsonValue,
  order: StringOrder | undefined,
) => FieldOperator

/** MongoDB pads an array with at most this many nulls to reach an index. */
const maxPadding = 1_500_000

const arrayIndex = /^(?:0|[1-9][0-9]*)$/

/**
 * Applies an operator to one path of a document, in a copy that shares what did not change. Returns the same
 * document if nothing changed. Throws MongoError 28 if the path runs through a scalar or names no array index,
 * 34 if it lies too far behind an array's end, and what the operator throws.
 */
export function changePath(
  document: BsonDocument,
  path: readonly string[],
  operator: FieldOperator,
  context: UpdateContext,
): BsonDocument {
  return new PathChange(path, operator, context).inDocument(document, 0)
}

class PathChange {
  readonly #path: readonly string[]
  readonly #operator: FieldOperator
  readonly #context: UpdateContext

  constructor(path: readonly string[], operator: FieldOperator, context: UpdateContext) {
    this.#path = path
    this.#operator = operator
    this.#context = context
  }

  inDocument(document: BsonDocument, depth: number): BsonDocument {
    const name = this.#path[depth] ?? ''
    const current = document.get(name)
    const next = this.#child(current, depth)
    if (next === current) return document
    const copy = new Map(document)
    if (next === undefined) copy.delete(name)
    else copy.set(name, next)
    return copy
  }

  #inArray(array: BsonValue[], depth: number): BsonValue[] {
    const name = this.#path[depth] ?? ''
    if (!arrayIndex.test(name)) {
      if (this.#operator.onMissing === 'skip') return array
      throw this.#notViable(array, depth)
    }
    const index = Number(name)
    const current = array[index]
    const next = this.#child(current, depth)
    if (next === current) return array
    if (index - array.length > maxPadding) {
      throw mongoError('CannotBackfillArray', `can't backfill more than ${maxPadding} elements`)
    }
    const copy = [...array]
    while (copy.length < index) copy.push(null)
    // An array keeps its length: an element that is unset becomes null.
    copy[index] = next ?? null
    return copy
  }

  /** The new value of a child: `current` itself if nothing changes, undefined if it goes. */
  #child(current: BsonValue | undefined, depth: number): BsonValue | undefined {
    if (current === undefined && this.#operator.onMissing === 'skip') return undefined
    if (depth === this.#path.length - 1) {
      const next = this.#operator.apply(current, this.#context)
      const isSame = current !== undefined && next !== undefined && identicalValues(current, next)
      return isSame ? current : next
    }
    if (current === undefined) return this.inDocument(new Map(), depth + 1)
    if (isDocument(current)) return this.inDocument(current, depth + 1)
    if (Array.isArray(current)) return this.#inArray(current, depth + 1)
    if (this.#operator.onMissing === 'skip') return current
    throw this.#notViable(current, depth + 1)
  }

  #notViable(container: BsonValue, depth: number): Error {
    const shown = `{${this.#path[depth - 1] ?? ''}: ${describeValue(container)}}`
    return mongoError('PathNotViable', `Cannot create field '${this.#path[depth] ?? ''}' in element ${shown}`)
  }
}
