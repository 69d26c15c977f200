import { decodeBson } from '../bson-reader.ts'
import { encodeBson } from '../bson-writer.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from '../semantics/values.ts'
import { CollectionIndex } from './collection-index.ts'
import type { DurableFile, StoredCollection, StoredDocument } from './durable-file.ts'
import type { Slice, Steps } from './slice.ts'
import { encodeSized, type RecordCache, StoreRecord } from './store-record.ts'

/** What all collections of a store share. */
export interface CollectionHost {
  readonly file: DurableFile
  readonly cache: RecordCache
  readonly slice: Slice
  /**
   * Runs changes that belong together, such as those of one document; if `write` throws, all changes since the last commit are
   * undone.
   */
  change(write: () => void, collection?: Collection): void
  nextTree(): number
  /** Ends the collection's cursors, which may read an index that is gone. */
  forget(collection: Collection): void
}

/** The size of one read in a collection scan: at most this many documents, and about this many bytes. */
const SCAN_DOCUMENTS = 128
const SCAN_BYTES = 1024 * 1024

/** A document that loses at least so much is stored anew: a sixteenth of a page. */
const SHRUNK_BYTES = 512

/**
 * The documents of one collection and their indexes, in the file. Every change is checked against all indexes
 * before the first of them is touched, so a refused write leaves nothing behind.
 */
export class Collection {
  readonly id: number
  readonly namespace: string
  readonly indexes: CollectionIndex[] = []
  readonly host: CollectionHost
  /** Grows with every change of a document, so that an interrupted reader can detect changes. */
  version = 0
  dropped = false
  #size: number
  #last: number

  private constructor(
    host: CollectionHost,
    { id, namespace, documents }: Pick<StoredCollection, 'id' | 'namespace' | 'documents'>,
  ) {
    this.host = host
    this.id = id
    this.namespace = namespace
    this.#size = documents
    this.#last = host.file.lastNumber(id)
  }

  /** Creates an empty collection with its index on `_id`. */
  static create(host: CollectionHost, id: number, namespace: string): Collection {
    const collection = new Collection(host, { id, namespace, documents: 0 })
    collection.#place(CollectionIndex.forId())
    collection.#persistDefinition()
    host.file.putSize(id, 0)
    return collection
  }

  /** Opens a collection that is in the file, with the indexes its definition lists. */
  static stored(host: CollectionHost, stored: StoredCollection, indexes: CollectionIndex[]): Collection {
    const collection = new Collection(host, stored)
    collection.indexes.push(...indexes)
    return collection
  }

  get size(): number {
    return this.#size
  }

  /** Returns the current version of a document, from the cache if it is there; undefined if it does not exist. */
  read(number: number): StoreRecord | undefined {
    const kept = this.host.cache.get(this.id, number)
    if (kept !== undefined) return kept
    const stored = this.host.file.document(this.id, number)
    if (stored === undefined) return undefined
    const record = this.#recordOf(stored)
    this.host.cache.set(this.id, record)
    return record
  }

  #recordOf({ number, body, sound }: StoredDocument): StoreRecord {
    if (sound) return new StoreRecord(number, body)
    throw this.host.file.damage(`a document of ${this.namespace} does not match its checksum`)
  }

  /**
   * Yields all documents, oldest first, and undefined when the slice is over.
   * @throws StoreDamageError if documents are damaged or missing
   */
  *records(first = SCAN_DOCUMENTS): Generator<StoreRecord | undefined> {
    const { file, slice } = this.host
    const { version } = this
    let after = 0
    let seen = 0
    let bytes = 0
    for (let limit = Math.min(first, SCAN_DOCUMENTS); ; limit = nextChunk(bytes, seen)) {
      const now = this.version
      const chunk = file.documents(this.id, after, limit)
      for (const stored of chunk) {
        if (this.version !== now) break
        after = stored.number
        seen += 1
        bytes += stored.body.length
        yield this.#recordOf(stored)
        if (slice.over) yield* this.pause()
      }
      if (chunk.length < limit && this.version === now) break
    }
    if (version === this.version && seen !== this.#size) {
      throw file.damage(`${this.namespace} has ${seen} documents and should have ${this.#size}`)
    }
  }

  /** Lets other commands run. @throws MongoError 175 if the collection was dropped meanwhile */
  *pause(): Generator<undefined> {
    yield undefined
    this.refuseDropped()
  }

  /** Called after other commands had their turn. @throws MongoError 175 if the collection was dropped */
  refuseDropped(): void {
    if (this.dropped) throw new MongoError(175, `collection ${this.namespace} was dropped`)
  }

  /**
   * @param bulk one of many: they would only drive from the cache what is used
   * @throws MongoError 11000, or 10334 for a document over 16 MiB
   */
  insert(document: BsonDocument, bulk = false): StoreRecord {
    const body = encodeSized(document)
    const moves = this.indexes.map((index) => ({ index, from: [], to: index.keysOf(document) }))
    for (const move of moves) this.#checkUnique(move, document)
    const record = new StoreRecord(this.#last + 1, body, document)
    this.#change(() => {
      this.host.file.insertDocument(this.id, record.number, body)
      this.#exchange(record, moves)
      this.#last = record.number
      this.#size += 1
    })
    if (!bulk) this.host.cache.set(this.id, record)
    return record
  }

  /** Returns the new version. @throws MongoError as {@link insert}, StoreDamageError as {@link remove} */
  replace(record: StoreRecord, document: BsonDocument): StoreRecord {
    const body = encodeSized(document)
    const before = record.document
    const moves = this.indexes
      .filter((index) => index.touchedBy(before, document))
      .map((index) => ({ index, from: index.keysOf(before), to: index.keysOf(document) }))
    for (const move of moves) this.#checkUnique(move, document, record)
    this.#checkEntries(record, moves)
    const next = new StoreRecord(record.number, body, document)
    this.#change(() => {
      this.#rewrite(record, body)
      this.#exchange(record, moves)
    })
    this.host.cache.set(this.id, next)
    return next
  }

  /**
   * A document that became smaller is deleted and inserted: SQLite leaves a page as it is until two thirds of it are free, so pages
   * that were split while documents were large would keep one small document each. A page that is emptied is given up, and the
   * row finds room beside its neighbours.
   */
  #rewrite({ number, body: before }: StoreRecord, body: Uint8Array): void {
    const { file } = this.host
    if (before.length - body.length < SHRUNK_BYTES) {
      file.updateDocument(this.id, number, body)
      return
    }
    file.deleteDocument(this.id, number)
    file.insertDocument(this.id, number, body)
  }

  /** @throws StoreDamageError if an index lacks an entry for the document */
  remove(record: StoreRecord): void {
    const { document } = record
    const moves = this.indexes.map((index) => ({ index, from: index.keysOf(document), to: [] }))
    this.#checkEntries(record, moves)
    this.#change(() => {
      this.host.file.deleteDocument(this.id, record.number)
      this.#exchange(record, moves)
      this.#size -= 1
    })
    this.host.cache.delete(this.id, record.number)
  }

  /** Writes the number of documents, for the next commit. */
  persistSize(): void {
    this.host.file.putSize(this.id, this.#size)
  }

  /**
   * Builds an index over the existing documents; documents written meanwhile get their entries at once.
   * @throws MongoError 11000 if the index is unique and two documents share a key
   */
  *addIndex(index: CollectionIndex): Steps<void> {
    index.building = true
    // Before anything is written: this refuses an index whose definition is nested too deeply.
    encodeDefinition([...this.indexes, index])
    this.host.change(() => {
      this.#place(index)
      this.#persistDefinition()
    })
    try {
      for (const record of this.records()) {
        if (record === undefined) {
          yield
          if (!this.indexes.includes(index)) throw new MongoError(276, `index ${index.spec.name} was dropped`)
          continue
        }
        const document = record.document
        const move = { index, from: [], to: index.keysOf(document) }
        this.#checkUnique(move, document, record)
        this.host.change(() => this.#exchange(record, [move]))
      }
    } catch (error) {
      if (!this.dropped && this.indexes.includes(index)) this.dropIndex(index)
      throw error
    }
    index.building = false
    this.host.change(() => this.#persistDefinition())
  }

  dropIndex(index: CollectionIndex): void {
    const at = this.indexes.indexOf(index)
    if (at < 0) throw new Error(`${this.namespace} has no index ${index.spec.name}`)
    this.host.change(() => {
      this.indexes.splice(at, 1)
      this.host.file.addGarbage({ kind: 'entries', id: index.tree })
      this.#persistDefinition()
    })
    this.host.forget(this)
  }

  /** Writes the collection's own row: its name and its indexes. */
  #persistDefinition(): void {
    this.host.file.putCollection(this.id, this.namespace, encodeDefinition(this.indexes))
  }

  #place(index: CollectionIndex): void {
    index.tree = this.host.nextTree()
    this.indexes.push(index)
  }

  #change(write: () => void): void {
    this.host.change(write, this)
    this.version += 1
  }

  #checkUnique({ index, from, to }: Move, document: BsonDocument, self?: StoreRecord): void {
    if (!index.unique) return
    for (const key of missingIn(to, from)) {
      const holder = this.host.file.holder(index.tree, key)
      if (holder !== undefined && holder !== self?.number)
        throw index.duplicate(this.namespace, document, key)
    }
  }

  /** Checks that the entries to delete exist: a write that broke off half-way would undo all others since the last commit. */
  #checkEntries({ number }: StoreRecord, moves: readonly Move[]): void {
    const { file } = this.host
    for (const { index, from, to } of moves) {
      if (index.building || missingIn(from, to).every((key) => file.hasEntry(index.tree, key, number)))
        continue
      throw file.damage(`index ${index.spec.name} of ${this.namespace} misses a document`)
    }
  }

  /** Updates the entries of only those keys that differ. */
  #exchange({ number }: StoreRecord, moves: readonly Move[]): void {
    const { file } = this.host
    const added: { tree: number; key: string }[] = []
    for (const { index, from, to } of moves) {
      for (const key of missingIn(from, to)) file.deleteEntry(index.tree, key, number)
      for (const key of missingIn(to, from)) added.push({ tree: index.tree, key })
    }
    file.insertEntries(number, added)
    const opened = moves.filter(({ index, to }) => to.length > 1 && !index.multikey)
    for (const { index } of opened) index.multikey = true
    if (opened.length > 0) this.#persistDefinition()
  }
}

/** The keys of a document in an index before and after a change. */
interface Move {
  index: CollectionIndex
  from: readonly string[]
  to: readonly string[]
}

function missingIn(keys: readonly string[], others: readonly string[]): readonly string[] {
  if (others.length === 0) return keys
  const known = new Set(others)
  return keys.filter((key) => !known.has(key))
}

/** Returns how many documents of the average size so far fill one read. */
function nextChunk(bytes: number, seen: number): number {
  return Math.min(SCAN_DOCUMENTS, 1 + Math.floor((SCAN_BYTES * seen) / Math.max(1, bytes)))
}

/** @throws MongoError 15 */
function encodeDefinition(indexes: readonly CollectionIndex[]): Uint8Array {
  const stored: BsonValue = indexes.map((index) => index.stored)
  return encodeBson(new Map([['indexes', stored]]))
}

/** Reads what `encodeDefinition` wrote. @throws Error if it is not readable */
export function decodeIndexes(definition: Uint8Array): CollectionIndex[] {
  const list = decodeBson(definition).get('indexes')
  if (!Array.isArray(list)) throw new Error('the indexes of a collection are not readable')
  return list.map((index) => CollectionIndex.fromStored(index))
}
