import { decodeBson, decodeFields } from '../bson-reader.ts'
import { encodeBson } from '../bson-writer.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument } from '../semantics/values.ts'
import type { CollectionIndex } from './collection-index.ts'
import { rowOf } from './durable-file.ts'

/** `maxBsonObjectSize` of `hello`. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024

/** BSON bytes of the cached records. A decoded document takes about four times as much. */
const KEPT_BYTES = 8 * 1024 * 1024

/** A record that is looked at for the third time is worth decoding whole. */
const OFTEN = 3

/**
 * One version of a stored document: BSON, decoded when looked at. It never changes; a write makes another
 * record, so a reader that was interrupted never holds half of two versions.
 */
export class StoreRecord {
  /** The document's row, and its age in its collection: natural order is ascending `number`. */
  readonly number: number
  readonly body: Uint8Array
  /** The last index whose entry was found to agree with the document. */
  soundFor: CollectionIndex | undefined
  #document: BsonDocument | undefined
  #looks = 0

  constructor(number: number, body: Uint8Array, document?: BsonDocument) {
    this.number = number
    this.body = body
    this.#document = document
  }

  get document(): BsonDocument {
    this.#document ??= decodeBson(this.body)
    return this.#document
  }

  /** Returns the document, or at least these top-level fields of it. */
  fields(names: ReadonlySet<string>): BsonDocument {
    this.#looks += 1
    if (this.#looks >= OFTEN) return this.document
    return this.#document ?? decodeFields(this.body, names)
  }
}

/**
 * A cache of the current versions of recently used documents, by collection and number. It has two generations: a
 * record that is used moves into the younger, and the older is dropped when the younger is full.
 */
export class RecordCache {
  #young = new Map<number, StoreRecord>()
  #old = new Map<number, StoreRecord>()
  #youngBytes = 0

  get(collection: number, number: number): StoreRecord | undefined {
    const row = rowOf(collection, number)
    const young = this.#young.get(row)
    if (young !== undefined) return young
    const old = this.#old.get(row)
    if (old !== undefined) this.set(collection, old)
    return old
  }

  set(collection: number, record: StoreRecord): void {
    this.delete(collection, record.number)
    if (this.#youngBytes + record.body.length > KEPT_BYTES / 2) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngBytes = 0
    }
    this.#young.set(rowOf(collection, record.number), record)
    this.#youngBytes += record.body.length
  }

  delete(collection: number, number: number): void {
    const row = rowOf(collection, number)
    this.#youngBytes -= this.#young.get(row)?.body.length ?? 0
    this.#young.delete(row)
    this.#old.delete(row)
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
    this.#youngBytes = 0
  }
}

/** @throws MongoError 10334 for a document over 16 MiB */
export function encodeSized(document: BsonDocument): Buffer {
  const body = encodeBson(document, Buffer.allocUnsafeSlow)
  if (body.length <= MAX_DOCUMENT_BYTES) return body
  throw new MongoError(
    10334,
    `BSONObj size: ${body.length} (0x${body.length.toString(16).toUpperCase()}) is invalid. Size must be between 0 and ${MAX_DOCUMENT_BYTES}`,
  )
}
