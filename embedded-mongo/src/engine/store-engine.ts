import { decodeBson } from '../bson-reader.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { Collection, type CollectionHost } from './collection.ts'
import { CollectionIndex } from './collection-index.ts'
import { Cursors } from './cursors.ts'
import { type DurableFile, Journal } from './durable-file.ts'
import { DecodedRecords } from './store-record.ts'

/** What the engine keeps its documents in. */
export type StoreFile = Pick<DurableFile, 'collections' | 'documents' | 'commit' | 'close'>

/**
 * All collections of one data directory. Commands run on it one at a time and to their end, which is what
 * makes a conditional update atomic; {@link commit} then makes everything since the last commit durable.
 */
export class StoreEngine implements CollectionHost {
  readonly journal = new Journal()
  readonly cursors = new Cursors()
  readonly decoded = new DecodedRecords()
  readonly #file: StoreFile
  #collections = new Map<string, Collection>()
  #lastSeq = 0
  #lastCollection = 0
  #failure: { error: unknown; lasting: boolean } | undefined

  /** Reads the file whole. @throws Error if it is not readable; the file is closed then */
  constructor(file: StoreFile) {
    this.#file = file
    try {
      this.#load()
    } catch (error) {
      file.close()
      throw error
    }
  }

  nextSeq(): number {
    this.#lastSeq += 1
    return this.#lastSeq
  }

  collection(namespace: string): Collection | undefined {
    return this.#collections.get(namespace)
  }

  /** The collection, created empty if it is not there. @throws MongoError 73 for a bad name */
  ensureCollection(namespace: string): Collection {
    const existing = this.#collections.get(namespace)
    if (existing !== undefined) return existing
    checkCollectionName(namespace)
    this.#lastCollection += 1
    const collection = new Collection(this.#lastCollection, namespace, [CollectionIndex.forId()], this)
    this.#collections.set(namespace, collection)
    collection.persistDefinition()
    return collection
  }

  dropCollection(collection: Collection): void {
    this.#collections.delete(collection.namespace)
    for (const record of collection.records()) this.decoded.delete(record)
    this.journal.dropCollection(collection.id)
    this.cursors.killNamespaces((namespace) => namespace === collection.namespace)
  }

  /** The collections of a database by name. */
  collectionsOf(database: string): Collection[] {
    const prefix = `${database}.`
    return [...this.#collections.values()]
      .filter((collection) => collection.namespace.startsWith(prefix))
      .sort((a, b) => (a.namespace < b.namespace ? -1 : 1))
  }

  collections(): IterableIterator<Collection> {
    return this.#collections.values()
  }

  databases(): string[] {
    const names = new Set<string>()
    for (const namespace of this.#collections.keys()) names.add(namespace.slice(0, namespace.indexOf('.')))
    return [...names].sort()
  }

  /** Whether a reply has to wait for {@link commit}, which may also have a failure to report. */
  get dirty(): boolean {
    return !this.journal.empty || this.#failure !== undefined
  }

  /**
   * Makes all changes since the last commit durable. If that fails they are undone: memory is read again
   * from the file, so that nothing is ever shown that a restart would not show.
   * @throws Error the cause of the failure
   */
  commit(): void {
    this.#throwFailure()
    if (this.journal.empty) return
    try {
      this.#file.commit(this.journal)
      this.journal.clear()
    } catch (error) {
      this.#reload()
      throw error
    }
  }

  /**
   * Keeps what is complete and reads memory again, after a defect broke a command off half-way. A failure
   * on the way is thrown by the next {@link commit}, so that nothing of this batch is acknowledged.
   */
  recover(): void {
    try {
      this.#file.commit(this.journal)
    } catch (error) {
      this.#failure ??= { error, lasting: false }
    }
    try {
      this.#reload()
    } catch {
      // Kept by #reload as a lasting failure.
    }
  }

  close(): void {
    try {
      this.commit()
    } finally {
      this.#file.close()
    }
  }

  #throwFailure(): void {
    const failure = this.#failure
    if (failure === undefined) return
    if (!failure.lasting) this.#failure = undefined
    throw failure.error
  }

  /** If even reading fails, memory stays untrusted and every command from here on is refused. */
  #reload(): void {
    this.journal.clear()
    try {
      this.#load()
    } catch (error) {
      this.#failure = { error, lasting: true }
      throw error
    }
  }

  #load(): void {
    for (const old of this.#collections.values()) {
      for (const record of old.records()) this.decoded.delete(record)
    }
    const byId = new Map<number, Collection>()
    for (const { id, namespace, definition } of this.#file.collections()) {
      const indexes = decodeBson(definition).get('indexes')
      if (!Array.isArray(indexes)) throw new Error(`the definition of ${namespace} is not readable`)
      const loaded = indexes.map((index) => CollectionIndex.fromDefinition(index))
      byId.set(id, new Collection(id, namespace, loaded, this))
      this.#lastCollection = Math.max(this.#lastCollection, id)
    }
    for (const { seq, collection, body } of this.#file.documents()) {
      const owner = byId.get(collection)
      if (owner === undefined) throw new Error(`document ${seq} belongs to no collection`)
      owner.load(seq, body)
      this.#lastSeq = Math.max(this.#lastSeq, seq)
    }
    this.#collections = new Map([...byId.values()].map((collection) => [collection.namespace, collection]))
    this.cursors.killNamespaces(() => true)
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
