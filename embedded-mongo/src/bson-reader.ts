import { isUtf8 } from 'node:buffer'
import { Binary, BSONRegExp, Double, Int32, Long, ObjectId } from 'bson'
import { MongoError } from './semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from './semantics/values.ts'

/**
 * The deepest nesting of a document. MongoDB allows 180, but every part of the store recurses over documents,
 * and nothing it stores comes near this.
 */
export const MAX_DEPTH = 100

/** Bytes of the longest field name worth keeping. */
const MAX_KEPT_NAME = 32
const keptNames: ({ bytes: Buffer; text: string } | undefined)[] = Array.from(
  { length: 1024 },
  () => undefined,
)

/** Dates outside what an ECMAScript `Date` can hold would not come back as they were sent. */
const MAX_DATE = 8_640_000_000_000_000n

/**
 * Reads one document that must fill `bytes` exactly.
 * @throws MongoError 22 InvalidBSON for anything that is not strictly valid BSON.
 */
export function decodeBson(bytes: Uint8Array): BsonDocument {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const { document, next } = readDocument(buffer, 0, buffer.length)
  if (next !== buffer.length) throw invalid('bytes after the end of the document')
  return document
}

/**
 * Reads only these top-level fields of a document that was decoded whole before; the others are skipped by their
 * lengths and not checked.
 */
export function decodeFields(bytes: Uint8Array, names: ReadonlySet<string>): BsonDocument {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return new BsonReader(buffer, 0, buffer.length).fields(names)
}

/** Like {@link decodeFields}, but returns a BSON document of the fields. */
export function pickFields(bytes: Uint8Array, names: ReadonlySet<string>): Buffer {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const parts = new BsonReader(buffer, 0, buffer.length).parts(names)
  const picked = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + part.length, 5))
  let end = picked.writeInt32LE(picked.length)
  for (const part of parts) end += part.copy(picked, end)
  picked[end] = 0
  return picked
}

/**
 * Reads the document that starts at `offset` and may not reach past `end`.
 * @throws MongoError 22 InvalidBSON for anything that is not strictly valid BSON (bsonspec.org 1.1).
 */
export function readDocument(
  bytes: Buffer,
  offset: number,
  end: number,
): { document: BsonDocument; next: number } {
  const reader = new BsonReader(bytes, offset, end)
  const document = reader.document(1)
  return { document, next: reader.offset }
}

/** Bytes of a value, for the types of fixed size. */
const FIXED_WIDTHS: ReadonlyMap<number, number> = new Map([
  [0x01, 8],
  [0x07, 12],
  [0x08, 1],
  [0x09, 8],
  [0x0a, 0],
  [0x10, 4],
  [0x12, 8],
])

class BsonReader {
  readonly #bytes: Buffer
  readonly #end: number
  offset: number

  constructor(bytes: Buffer, offset: number, end: number) {
    this.#bytes = bytes
    this.offset = offset
    this.#end = end
  }

  document(depth: number): BsonDocument {
    const document: BsonDocument = new Map()
    this.#elements(depth, (name, value) => {
      // A map cannot hold both, and dropping one silently would lose data.
      if (document.has(name)) throw invalid(`duplicate field name '${name}'`)
      document.set(name, value)
    })
    return document
  }

  fields(names: ReadonlySet<string>): BsonDocument {
    const document: BsonDocument = new Map()
    const stop = this.#int32() - 1
    while (this.offset < stop && document.size < names.size) {
      const type = this.#byte()
      const name = this.#name()
      if (names.has(name)) document.set(name, this.#value(type, 1))
      else this.#skip(type)
    }
    return document
  }

  /** Returns the BSON elements of these fields without decoding them. */
  parts(names: ReadonlySet<string>): Buffer[] {
    const parts: Buffer[] = []
    const stop = this.#int32() - 1
    while (this.offset < stop && parts.length < names.size) {
      const start = this.offset
      const type = this.#byte()
      const isWanted = names.has(this.#name())
      this.#skip(type)
      if (isWanted) parts.push(this.#bytes.subarray(start, this.offset))
    }
    return parts
  }

  /** Skips a value. */
  #skip(type: number): void {
    const width = FIXED_WIDTHS.get(type)
    if (width !== undefined) this.#take(width)
    else if (type === 0x02) this.#take(this.#int32())
    else if (type === 0x05) this.#take(this.#int32() + 1)
    else if (type === 0x03 || type === 0x04) this.#take(this.#int32() - 4)
    else this.#value(type, 1)
  }

  #array(depth: number): BsonValue[] {
    const values: BsonValue[] = []
    this.#elements(depth, (name, value) => {
      if (name !== String(values.length)) throw invalid(`array index '${name}' is out of order`)
      values.push(value)
    })
    return values
  }

  #elements(depth: number, take: (name: string, value: BsonValue) => void): void {
    if (depth > MAX_DEPTH) throw invalid(`nesting is deeper than ${MAX_DEPTH}`)
    const start = this.offset
    const size = this.#int32()
    const stop = start + size - 1
    if (size < 5 || stop >= this.#end) throw invalid(`document length ${size} is invalid`)
    while (this.offset < stop) {
      const type = this.#byte()
      const name = this.#name()
      take(name, this.#value(type, depth))
    }
    if (this.offset !== stop || this.#byte() !== 0)
      throw invalid('document does not end where its length says')
  }

  #value(type: number, depth: number): BsonValue {
    switch (type) {
      case 0x01:
        return new Double(this.#bytes.readDoubleLE(this.#take(8)))
      case 0x02:
        return this.#string()
      case 0x03:
        return this.document(depth + 1)
      case 0x04:
        return this.#array(depth + 1)
      case 0x05:
        return this.#binary()
      case 0x07:
        return new ObjectId(Uint8Array.prototype.slice.call(this.#bytes, this.#take(12), this.offset))
      case 0x08:
        return this.#boolean()
      case 0x09:
        return this.#date()
      case 0x0a:
        return null
      case 0x10:
        return new Int32(this.#int32())
      case 0x12:
        return this.#long()
      case 0x0b:
        return new BSONRegExp(this.#cstring(), this.#cstring())
      default:
        throw invalid(`element type 0x${type.toString(16).padStart(2, '0')} is unknown or not supported`)
    }
  }

  /** Moves over `length` bytes and returns where they start. */
  #take(length: number): number {
    const start = this.offset
    if (length < 0 || length > this.#end - start) throw invalid('element reaches past the end')
    this.offset = start + length
    return start
  }

  #byte(): number {
    return this.#bytes.readUInt8(this.#take(1))
  }

  #int32(): number {
    return this.#bytes.readInt32LE(this.#take(4))
  }

  #long(): Long {
    const low = this.#int32()
    return new Long(low, this.#int32())
  }

  #date(): Date {
    const milliseconds = this.#bytes.readBigInt64LE(this.#take(8))
    if (milliseconds > MAX_DATE || milliseconds < -MAX_DATE) throw invalid('date is out of range')
    return new Date(Number(milliseconds))
  }

  #boolean(): boolean {
    const byte = this.#byte()
    if (byte > 1) throw invalid(`boolean byte ${byte} is neither 0 nor 1`)
    return byte === 1
  }

  #binary(): Binary {
    const length = this.#int32()
    const subtype = this.#byte()
    const start = this.#take(length)
    return new Binary(Uint8Array.prototype.slice.call(this.#bytes, start, this.offset), subtype)
  }

  #string(): string {
    const length = this.#int32()
    if (length < 1) throw invalid(`string length ${length} is invalid`)
    const start = this.#take(length)
    if (this.#bytes[this.offset - 1] !== 0) throw invalid('string does not end with a zero byte')
    return this.#text(start, this.offset - 1)
  }

  #cstring(): string {
    const start = this.offset
    const zero = this.#bytes.indexOf(0, start)
    if (zero < 0 || zero >= this.#end) throw invalid('name does not end with a zero byte')
    this.offset = zero + 1
    return this.#text(start, zero)
  }

  /**
   * Reads a field name. The same few names occur in every document, so one string of each is kept in a hash
   * table and compared by its bytes. The table has a fixed size: a client can at worst make it useless.
   */
  #name(): string {
    const start = this.offset
    const bytes = this.#bytes
    const last = Math.min(start + MAX_KEPT_NAME, this.#end - 1)
    let hash = 0
    let zero = start
    while (zero < last && bytes[zero] !== 0) {
      hash = (hash * 31 + (bytes[zero] ?? 0)) | 0
      zero += 1
    }
    if (zero === last && bytes[zero] !== 0) return this.#cstring()
    const slot = (hash >>> 0) % keptNames.length
    const kept = keptNames[slot]
    if (kept !== undefined && equalBytes(kept.bytes, bytes, start, zero)) {
      this.offset = zero + 1
      return kept.text
    }
    const text = this.#cstring()
    keptNames[slot] = { bytes: Buffer.from(text, 'utf8'), text }
    return text
  }

  #text(start: number, end: number): string {
    const bytes = this.#bytes.subarray(start, end)
    if (!isUtf8(bytes)) throw invalid('text is not valid UTF-8')
    return bytes.toString('utf8')
  }
}

function equalBytes(name: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false
  for (let at = 0; at < name.length; at += 1) {
    if (name[at] !== bytes[start + at]) return false
  }
  return true
}

function invalid(message: string): MongoError {
  return new MongoError(22, message)
}
