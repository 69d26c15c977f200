import { decodeBson } from '../bson-reader.ts'
import type { BsonDocument } from '../semantics/values.ts'

/** BSON bytes of the documents kept decoded. Decoded they take about four times that. */
const DECODED_BYTES = 32 * 1024 * 1024

/**
 * A stored document. It is held as BSON and decoded when looked at; the most recently decoded ones stay
 * decoded. `seq` is its row on disk and its age: natural order is ascending `seq`.
 */
export class StoreRecord {
  readonly seq: number
  readonly #decoded: DecodedRecords
  #body: Uint8Array
  #document: BsonDocument | undefined

  constructor(seq: number, body: Uint8Array, decoded: DecodedRecords) {
    this.seq = seq
    this.#body = body
    this.#decoded = decoded
  }

  /** Never altered in place: a change makes a new buffer, so cursors may keep this one. */
  get body(): Uint8Array {
    return this.#body
  }

  get document(): BsonDocument {
    if (this.#document === undefined) {
      this.#document = decodeBson(this.#body)
      this.#decoded.add(this)
    }
    return this.#document
  }

  /** The document without keeping it decoded, for walks over everything. */
  peek(): BsonDocument {
    return this.#document ?? decodeBson(this.#body)
  }

  /** Takes the next version; `document` is what `body` encodes. */
  replace(body: Uint8Array, document: BsonDocument): void {
    this.#decoded.delete(this)
    this.#body = body
    this.#document = document
    this.#decoded.add(this)
  }

  forget(): void {
    this.#document = undefined
  }
}

/** Which records are decoded now: as many as {@link DECODED_BYTES} allows, the first in leave first. */
export class DecodedRecords {
  readonly #records = new Set<StoreRecord>()
  #bytes = 0

  add(record: StoreRecord): void {
    this.#records.add(record)
    this.#bytes += record.body.length
    for (const oldest of this.#records) {
      if (this.#bytes <= DECODED_BYTES) return
      this.delete(oldest)
    }
  }

  delete(record: StoreRecord): void {
    if (!this.#records.delete(record)) return
    this.#bytes -= record.body.length
    record.forget()
  }
}
