import { identicalValues } from './compare.ts'
import { describeValue } from './describe-value.ts'
import { dbRefFields } from './field-paths.ts'
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
  /**
   * What happens to a missing field. `create`: the path is created. `skip`: nothing, but a path that cannot be created is
   * refused. `ignore`: nothing.
   */
  readonly onMissing: 'create' | 'skip' | 'ignore'
  /** The new value of the field (undefined removes it); must not change `current`. Throws MongoError. */
  readonly apply: (current: BsonValue | undefined, context: UpdateContext) => BsonValue | undefined
}

/** Creates an operator from its argument; throws MongoError if the argument is malformed. */
export type OperatorFactory = (path: string, argument: BsonValue) => FieldOperator

/** MongoDB pads an array with at most this many nulls to reach an index. */
const maxPadding = 1_500_000

const arrayIndex = /^(?:0|[1-9][0-9]*)$/

/** Checks whether a value can have a child of this name: a field, or an array element by index. */
function isViable(container: BsonValue, name: string): boolean {
  return isDocument(container) || (Array.isArray(container) && arrayIndex.test(name))
}

/** Returns the value of a field or an array element; undefined if there is none. */
export function childOf(value: BsonValue | undefined, name: string): BsonValue | undefined {
  if (isDocument(value)) return value.get(name)
  return Array.isArray(value) && arrayIndex.test(name) ? value[Number(name)] : undefined
}

/**
 * A document while an update is applied to it. Each changed part is copied once, however many of its fields change; the
 * rest is shared with the original document, which is never altered.
 */
export class DocumentDraft {
  readonly #before: BsonDocument
  readonly #now: Date
  readonly #insert: boolean
  /** Values that this draft created and may therefore change in place. */
  readonly #own = new Set<BsonValue>()
  #document: BsonDocument

  /** `insert`: the document is new, so fields beginning with `$` may be created in it. */
  constructor(document: BsonDocument, now: Date, insert: boolean) {
    this.#before = document
    this.#document = document
    this.#now = now
    this.#insert = insert
  }

  /** The document as changed so far; the original object if nothing changed. */
  get document(): BsonDocument {
    return this.#document
  }

  /**
   * Applies an operator to one path. Throws MongoError 28 if the path runs through a scalar or names no array index,
   * 34 if it lies too far behind an array's end, 52 for a new `$` field of a stored document, and what the operator throws.
   */
  change(path: readonly string[], operator: FieldOperator): void {
    const context = { now: this.#now, document: this.#before, path: path.join('.') }
    this.#document = this.#inDocument(this.#document, { path, operator, context }, 0)
  }

  #inDocument(document: BsonDocument, change: PathChange, depth: number): BsonDocument {
    const name = change.path[depth] ?? ''
    const current = document.get(name)
    const next = this.#child(current, change, depth)
    if (next === current) return document
    if (depth === 0 && !this.#insert) refuseDollarField(name, current, change)
    const own = this.#own.has(document) ? document : this.#owned(new Map(document))
    if (next === undefined) own.delete(name)
    else own.set(name, next)
    return own
  }

  #inArray(array: BsonValue[], change: PathChange, depth: number): BsonValue[] {
    const index = Number(change.path[depth])
    const current = array[index]
    const next = this.#child(current, change, depth)
    if (next === current) return array
    if (index - array.length > maxPadding) {
      throw mongoError('CannotBackfillArray', `can't backfill more than ${maxPadding} elements`)
    }
    const own = this.#own.has(array) ? array : this.#owned([...array])
    while (own.length < index) own.push(null)
    // An array keeps its length: an element that is unset becomes null.
    own[index] = next ?? null
    return own
  }

  #owned<T extends BsonValue>(copy: T): T {
    this.#own.add(copy)
    return copy
  }

  /** Returns the new value of a child: `current` itself if nothing changes, undefined if it is removed. */
  #child(current: BsonValue | undefined, change: PathChange, depth: number): BsonValue | undefined {
    const { path, operator } = change
    if (current === undefined && operator.onMissing !== 'create') return undefined
    if (depth === path.length - 1) {
      const next = operator.apply(current, change.context)
      const isSame = current !== undefined && next !== undefined && identicalValues(current, next)
      return isSame ? current : next
    }
    if (current === undefined) return this.#inDocument(this.#owned(new Map()), change, depth + 1)
    const name = path[depth + 1] ?? ''
    if (isDocument(current)) return this.#inDocument(current, change, depth + 1)
    if (Array.isArray(current) && isViable(current, name)) return this.#inArray(current, change, depth + 1)
    if (operator.onMissing === 'ignore') return current
    const shown = `{${path[depth] ?? ''}: ${describeValue(current)}}`
    throw mongoError('PathNotViable', `Cannot create field '${name}' in element ${shown}`)
  }
}

interface PathChange {
  readonly path: readonly string[]
  readonly operator: FieldOperator
  readonly context: UpdateContext
}

/** The document's `_id` as update errors show it. */
export function shownId(document: BsonDocument): string {
  const id = document.get('_id')
  return id === undefined ? '{_id: (missing)}' : `{_id: ${describeValue(id)}}`
}

/** Refuses to create a field that begins with `$` in a stored document; it may only be inserted or removed. */
function refuseDollarField(name: string, current: BsonValue | undefined, change: PathChange): void {
  if (!name.startsWith('$') || dbRefFields.has(name) || change.operator.onMissing !== 'create') return
  if (change.path.length > 1 && current !== undefined) return
  throw mongoError(
    'DollarPrefixedFieldName',
    `The dollar ($) prefixed field '${name}' in '${change.context.path}' is not valid for storage.`,
  )
}
