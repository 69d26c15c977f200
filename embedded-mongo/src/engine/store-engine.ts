import { MongoError } from '../semantics/mongo-error.ts'
import { Collection, type CollectionHost, decodeIndexes } from './collection.ts'
import { Cursors } from './cursors.ts'
import { type DurableFile, MAX_COLLECTIONS, type StoredCollection } from './durable-file.ts'
import { Slice, type Steps } from './slice.ts'
import { RecordCache } from './store-record.ts'

/** Rows of dropped collections and indexes that are removed between two looks at the clock. */
const PURGE_ROWS = 200

/** How a statement found its documents. */
export interface PlanReport {
  command: string
  namespace: string
  /** The fields of the filter, without their values. */
  fields: string[]
  /** The index that was read; undefined for a scan of the collection. */
  index: string | undefined
  /** The number of documents read, or of index entries where those were enough. */
  examined: number
  /** The number of documents in the collection. */
  size: number
}

/**
 * All collections of one data directory. Commands run on it one at a time, in slices; a write of one document is
 * never interrupted, which is what makes a conditional update atomic. {@link commit} makes everything since the
 * last commit durable.
 */
export class StoreEngine implements CollectionHost {
  readonly file: DurableFile
  readonly cache = new RecordCache()
  readonly cursors = new Cursors()
  readonly slice = new Slice()
  /** Called with the plan of each statement. */
  onPlan: ((report: PlanReport) => void) | undefined
  /** Grows when uncommitted changes are undone: a command that began before that cannot go on. */
  epoch = 0
  /** Why changes were last undone. */
  undoneBy: unknown
  /** Whether there is garbage for {@link purge}. */
  untidy = false
  #collections = new Map<string, Collection>()
  /** Collections with documents inserted, changed or removed since the last commit. */
  readonly #changed = new Set<Collection>()
  /** Whether anything else changed since then: the set of collections or indexes, or the file's own bookkeeping. */
  #rearranged = false
  #lastTree = 0
  /** Whether a change has begun and not ended; {@link recover} undoes one that broke off. */
  writing = false
  #failure: { error: unknown; lasting: boolean } | undefined
  /** Whether the last write could not be made durable. */
  #failing = false

  /** Reads the definitions of all collections and indexes. @throws Error if they are not readable, after closing the file */
  constructor(file: DurableFile) {
    this.file = file
    try {
      this.#load()
    } catch (error) {
      try {
        file.close()
      } catch {
        // The first error says what is wrong with the file, not that it cannot be closed either.
      }
      throw error
    }
  }

  collection(namespace: string): Collection | undefined {
    return this.#collections.get(namespace)
  }

  /** Returns the collection, created empty if it does not exist. @throws MongoError 73 for a bad name */
  ensureCollection(namespace: string): Collection {
    const existing = this.#collections.get(namespace)
    if (existing !== undefined) return existing
    checkCollectionName(namespace)
    const id = this.#freeId()
    this.change(() => this.#collections.set(namespace, Collection.create(this, id, namespace)))
    return this.ensureCollection(namespace)
  }

  dropCollection(collection: Collection): void {
    collection.dropped = true
    this.#collections.delete(collection.namespace)
    this.#changed.delete(collection)
    this.cache.clear()
    this.change(() => {
      this.file.removeCollection(collection.id)
      this.file.addGarbage({ kind: 'documents', id: collection.id })
      for (const index of collection.indexes) this.file.addGarbage({ kind: 'entries', id: index.tree })
    })
    this.forget(collection)
  }

  /**
   * Ends the cursors of a collection that was dropped, or lost an index they may read; {@link purge} removes the rows left
   * behind.
   */
  forget({ namespace }: Collection): void {
    this.untidy = true
    this.cursors.killNamespaces((other) => other === namespace)
  }

  /** Returns the collections of a database, sorted by name. */
  collectionsOf(database: string): Collection[] {
    const prefix = `${database}.`
    return [...this.#collections.values()]
      .filter((collection) => collection.namespace.startsWith(prefix))
      .sort((a, b) => (a.namespace < b.namespace ? -1 : 1))
  }

  collections(): Collection[] {
    return [...this.#collections.values()]
  }

  databases(): string[] {
    const names = new Set<string>()
    for (const namespace of this.#collections.keys()) names.add(namespace.slice(0, namespace.indexOf('.')))
    return [...names].sort()
  }

  nextTree(): number {
    this.#lastTree += 1
    return this.#lastTree
  }

  change(write: () => void, collection?: Collection): void {
    this.#throwFailure()
    this.writing = true
    write()
    this.writing = false
    if (collection === undefined) this.#rearranged = true
    else this.#changed.add(collection)
  }

  /** Whether a reply has to wait for {@link commit}, which may also have a failure to report. */
  get dirty(): boolean {
    return this.file.changing || this.#failure !== undefined
  }

  /** Whether a crash could undo what a read of this collection has just seen. */
  unsettled(namespace: string): boolean {
    const collection = this.#collections.get(namespace)
    const changed = this.#rearranged || (collection !== undefined && this.#changed.has(collection))
    return this.#failure !== undefined || (this.file.changing && changed)
  }

  /**
   * Makes all changes since the last commit durable. If that fails they are undone.
   * @throws Error the cause of the failure
   */
  commit(): void {
    this.#throwFailure()
    if (!this.file.changing) return
    try {
      for (const collection of this.#changed) collection.persistSize()
      this.#changed.clear()
      this.file.commit()
      this.#rearranged = false
      this.#failing = false
    } catch (error) {
      this.#undo(error)
      throw error
    }
  }

  /** After a failed write, tests whether the file can be written again; the next {@link commit} shows the result. */
  probe(): void {
    if (this.#failing) this.change(() => this.file.probe())
  }

  /**
   * Handles an error that broke off a command: in the middle of a write, everything since the last commit is undone, and the
   * next {@link commit} throws, so that none of it is acknowledged. Returns whether that was so.
   */
  recover(error: unknown): boolean {
    if (!this.writing) return false
    this.#failure ??= { error, lasting: false }
    this.#undo(error)
    return true
  }

  /**
   * Removes the rows that dropped collections and indexes left in the file. The list is read again before each step: another
   * purge may have finished an item, whose id a new collection may then have.
   */
  *purge(): Steps<void> {
    for (let [garbage] = this.file.garbage(1); garbage !== undefined; [garbage] = this.file.garbage(1)) {
      const next = garbage
      this.change(() => this.file.purge(next, PURGE_ROWS))
      if (this.slice.over) yield
    }
  }

  close(): void {
    try {
      this.commit()
    } finally {
      this.file.close()
    }
  }

  #throwFailure(): void {
    const failure = this.#failure
    if (failure === undefined) return
    this.#failure = undefined
    // This command relied on state that could not be read: it is refused, and the next one finds out whether that passed.
    if (failure.lasting) this.#undo(failure.error)
    throw failure.error
  }

  /**
   * Rolls back and reads the file again. If that fails, memory is not trusted and every command is refused until it succeeds.
   */
  #undo(why: unknown): void {
    this.epoch += 1
    this.undoneBy = why
    this.writing = false
    this.#failing = true
    try {
      this.file.rollback()
      this.#load()
    } catch (error) {
      this.#failure = { error, lasting: true }
    }
  }

  #load(): void {
    for (const old of this.#collections.values()) old.dropped = true
    this.#collections.clear()
    this.#changed.clear()
    this.#rearranged = false
    this.cache.clear()
    this.cursors.killNamespaces(() => true)
    const garbage = this.file.garbage()
    this.untidy = garbage.length > 0
    const entries = garbage.filter(({ kind }) => kind === 'entries')
    this.#lastTree = Math.max(this.#lastTree, ...entries.map(({ id }) => id))
    for (const stored of this.file.collections()) this.#open(stored)
  }

  #open(stored: StoredCollection): void {
    const { namespace, definition, sound } = stored
    if (!sound)
      throw this.file.damage(`the description of collection ${namespace} does not match its checksum`)
    const indexes = decodeIndexes(definition)
    const collection = Collection.stored(this, stored, indexes)
    this.#collections.set(namespace, collection)
    this.#lastTree = Math.max(this.#lastTree, ...indexes.map(({ tree }) => tree))
    // An index that was being built when the store ended was not acknowledged.
    for (const index of indexes.filter(({ building }) => building)) collection.dropIndex(index)
  }

  /** Returns the lowest id that neither a collection nor the garbage of one has. */
  #freeId(): number {
    const left = this.file.garbage().filter(({ kind }) => kind === 'documents')
    const taken = new Set([...left, ...this.#collections.values()].map(({ id }) => id))
    for (let id = 1; id <= MAX_COLLECTIONS; id += 1) if (!taken.has(id)) return id
    throw new MongoError(67, `the store cannot have more than ${MAX_COLLECTIONS} collections`)
  }
}

/** @throws MongoError 73 InvalidNamespace */
export function checkCollectionName(namespace: string): void {
  const name = namespace.slice(namespace.indexOf('.') + 1)
  const bad =
    name.length === 0 ||
    name.startsWith('.') ||
    name.startsWith('system.') ||
    /[\0$]/.test(name) ||
    Buffer.byteLength(namespace) > 255
  if (bad) throw new MongoError(73, `Invalid namespace specified '${namespace}'`)
}
