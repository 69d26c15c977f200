import { decodeBson, decodeFields } from '../bson-reader.ts'
import { encodeBson } from '../bson-writer.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument } from '../semantics/values.ts'
import type { CollectionIndex } from './collection-index.ts'

/** `maxBsonObjectSize` of `hello`. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024

/** BSON bytes of the records that are kept. Decoded a document takes about four times that. */
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
  /** The index that was last found to agree with it. */
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

  /** The document, or at least these top-level fields of it: all, if none are named. */
  fields(names: ReadonlySet<string> | undefined): BsonDocument {
    this.#looks += 1
    if (names === undefined || this.#looks >= OFTEN) return this.document
    return this.#document ?? decodeFields(this.body, names)
  }
}

/** The current versions of the documents that were used last, by collection and number. */
export class RecordCache {
  readonly #records = new Map<string, StoreRecord>()
  #bytes = 0

  get(collection: number, number: number): StoreRecord | undefined {
    const key = `${collection}/${number}`
    const record = this.#records.get(key)
    if (record === undefined) return undefined
    this.#records.delete(key)
    this.#records.set(key, record)
    return record
  }

  set(collection: number, record: StoreRecord): void {
    this.delete(collection, record.number)
    this.#records.set(`${collection}/${record.number}`, record)
    this.#bytes += record.body.length
    for (const [key, oldest] of this.#records) {
      if (this.#bytes <= KEPT_BYTES) return
      this.#records.delete(key)
      this.#bytes -= oldest.body.length
    }
  }

  delete(collection: number, number: number): void {
    const key = `${collection}/${number}`
    const record = this.#records.get(key)
    if (record === undefined) return
    this.#records.delete(key)
    this.#bytes -= record.body.length
  }

  clear(): void {
    this.#records.clear()
    this.#bytes = 0
  }
}

/** @throws MongoError 10334 for a document over 16 MiB */
export function encodeSized(document: BsonDocument): Buffer {
  const body = encodeBson(document)
  if (body.length <= MAX_DOCUMENT_BYTES) return body
  throw new MongoError(
    10334,
    `BSONObj size: ${body.length} (0x${body.length.toString(16).toUpperCase()}) is invalid. Size must be between 0 and ${MAX_DOCUMENT_BYTES}`,
  )
}
