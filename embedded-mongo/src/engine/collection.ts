import { encodeBson } from '../bson-writer.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument } from '../semantics/values.ts'
import type { CollectionIndex } from './collection-index.ts'
import type { Journal } from './durable-file.ts'
import { type DecodedRecords, StoreRecord } from './store-record.ts'

/** `maxBsonObjectSize` of `hello`. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024

/** Where a collection writes its changes and takes its record numbers from. */
export interface CollectionHost {
  readonly journal: Journal
  readonly decoded: DecodedRecords
  nextSeq(): number
}

/**
 * The documents of one collection, in memory, with their indexes. Every change is checked against all
 * indexes before the first of them is touched, so a refused write leaves nothing behind; it then goes to
 * the journal. Documents are never altered in place: cursors keep reading the versions they found.
 */
export class Collection {
  readonly id: number
  readonly namespace: string
  readonly indexes: CollectionIndex[]
  readonly #records = new Map<number, StoreRecord>()
  readonly #host: CollectionHost

  constructor(id: number, namespace: string, indexes: CollectionIndex[], host: CollectionHost) {
    this.id = id
    this.namespace = namespace
    this.indexes = indexes
    this.#host = host
  }

  get size(): number {
    return this.#records.size
  }

  /** All records, oldest first. */
  records(): IterableIterator<StoreRecord> {
    return this.#records.values()
  }

  /** Takes in a document read from disk: its keys were unique when it was written. */
  load(seq: number, body: Uint8Array): void {
    const record = new StoreRecord(seq, body, this.#host.decoded)
    const document = record.peek()
    for (const index of this.indexes) index.add(record, index.keysOf(document))
    this.#records.set(seq, record)
  }

  /** @throws MongoError 11000, or 10334 for a document over 16 MiB */
  insert(document: BsonDocument): void {
    const body = encodeSized(document)
    const keys = this.indexes.map((index) => index.keysOf(document))
    this.#checkUnique(document, keys, undefined)
    const record = new StoreRecord(this.#host.nextSeq(), body, this.#host.decoded)
    record.replace(body, document)
    for (const [position, index] of this.indexes.entries()) index.add(record, keys[position] ?? [])
    this.#records.set(record.seq, record)
    this.#host.journal.putDocument({ seq: record.seq, collection: this.id, body })
  }

  /** @throws MongoError as {@link insert} */
  replace(record: StoreRecord, document: BsonDocument): void {
    const body = encodeSized(document)
    const before = this.indexes.map((index) => index.keysOf(record.document))
    const after = this.indexes.map((index) => index.keysOf(document))
    this.#checkUnique(document, after, record)
    for (const [position, index] of this.indexes.entries()) {
      index.move(record, before[position] ?? [], after[position] ?? [])
    }
    record.replace(body, document)
    this.#host.journal.putDocument({ seq: record.seq, collection: this.id, body })
  }

  remove(record: StoreRecord): void {
    const document = record.peek()
    for (const index of this.indexes) index.remove(record, index.keysOf(document))
    this.#records.delete(record.seq)
    this.#host.decoded.delete(record)
    this.#host.journal.deleteDocument(record.seq)
  }

  /** Builds an index over what is there. @throws MongoError 11000 if a unique one cannot be */
  addIndex(index: CollectionIndex): void {
    for (const record of this.#records.values()) {
      const document = record.peek()
      const keys = index.keysOf(document)
      index.checkUnique(this.namespace, document, keys, record)
      index.add(record, keys)
    }
    this.indexes.push(index)
    this.persistDefinition()
  }

  dropIndex(index: CollectionIndex): void {
    this.indexes.splice(this.indexes.indexOf(index), 1)
    this.persistDefinition()
  }

  /** Journals the collection's own row: its name and its index specifications. */
  persistDefinition(): void {
    const indexes = this.indexes.map((index) => index.definition)
    const definition = encodeBson(new Map([['indexes', indexes]]))
    this.#host.journal.putCollection({ id: this.id, namespace: this.namespace, definition })
  }

  #checkUnique(document: BsonDocument, keys: string[][], self: StoreRecord | undefined): void {
    for (const [position, index] of this.indexes.entries()) {
      index.checkUnique(this.namespace, document, keys[position] ?? [], self)
    }
  }
}

function encodeSized(document: BsonDocument): Buffer {
  const body = encodeBson(document)
  if (body.length <= MAX_DOCUMENT_BYTES) return body
  throw new MongoError(
    10334,
    `BSONObj size: ${body.length} (0x${body.length.toString(16).toUpperCase()}) is invalid. Size must be between 0 and ${MAX_DOCUMENT_BYTES}`,
  )
}
