import type { Binary } from 'bson'
import { MAX_DEPTH } from './bson-reader.ts'
import { MongoError } from './semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from './semantics/values.ts'

/** The scratch buffer is kept between calls up to this size, so one huge document does not pin its memory. */
const KEPT_BYTES = 1 << 20

/** Characters of the longest name that is written without a call into Node. */
const SHORT = 32

const TWO_32 = 2 ** 32

let scratch: Buffer = Buffer.allocUnsafe(1 << 16)

/** What can be written: values, and documents that are BSON already, which are copied. */
export type Encodable = BsonValue | Uint8Array | Encodable[] | EncodableDocument
export type EncodableDocument = Map<string, Encodable>

/**
 * Writes a document so that {@link decodeBson} returns the same values of the same types.
 * @param allocate uses Node's pool; pass an unpooled one for bytes that live long, since one document would keep
 * 8 KiB of others alive
 * @throws MongoError 15 Overflow when it is nested deeper than the store allows.
 */
export function encodeBson(document: EncodableDocument, allocate = Buffer.allocUnsafe): Buffer {
  const writer = new BsonWriter(scratch)
  writer.document(document, 1)
  if (writer.buffer.length <= KEPT_BYTES) scratch = writer.buffer
  const bytes = allocate(writer.length)
  writer.buffer.copy(bytes, 0, 0, writer.length)
  return bytes
}

type Tagged = Exclude<BsonValue, string | boolean | null | Date | BsonDocument | BsonValue[]>

class BsonWriter {
  buffer: Buffer
  length = 0

  constructor(buffer: Buffer) {
    this.buffer = buffer
  }

  document(document: EncodableDocument, depth: number): void {
    const start = this.#open(depth)
    for (const [name, value] of document) this.#element(name, value, depth)
    this.#close(start)
  }

  #array(values: readonly Encodable[], depth: number): void {
    const start = this.#open(depth)
    for (const [index, value] of values.entries()) this.#element(String(index), value, depth)
    this.#close(start)
  }

  #open(depth: number): number {
    if (depth > MAX_DEPTH) throw new MongoError(15, `nesting is deeper than ${MAX_DEPTH}`)
    return this.#room(4)
  }

  #close(start: number): void {
    this.#byte(0)
    this.buffer.writeInt32LE(this.length - start, start)
  }

  /** The type byte is written last, when the type of the value is known. */
  #element(name: string, value: Encodable, depth: number): void {
    const at = this.#room(1)
    this.#cstring(name)
    const type = this.#value(value, depth)
    this.buffer[at] = type
  }

  #value(value: Encodable, depth: number): number {
    if (typeof value === 'string') {
      this.#string(value)
      return 0x02
    }
    if (typeof value === 'boolean') {
      this.#byte(value ? 1 : 0)
      return 0x08
    }
    if (value === null) return 0x0a
    if (value instanceof Map) {
      this.document(value, depth + 1)
      return 0x03
    }
    if (Array.isArray(value)) {
      this.#array(value, depth + 1)
      return 0x04
    }
    if (value instanceof Date) {
      const at = this.#room(8)
      const time = value.getTime()
      const high = Math.floor(time / TWO_32)
      this.buffer.writeUInt32LE(time - high * TWO_32, at)
      this.buffer.writeInt32LE(high, at + 4)
      return 0x09
    }
    if (value instanceof Uint8Array) {
      this.#bytes(value)
      return 0x03
    }
    return this.#taggedValue(value)
  }

  #taggedValue(value: Tagged): number {
    switch (value._bsontype) {
      case 'ObjectId':
        this.#bytes(value.id)
        return 0x07
      case 'Binary':
        return this.#binary(value)
      case 'Int32':
        this.#int32(value.value)
        return 0x10
      case 'Double':
        this.#double(value.value)
        return 0x01
      case 'Long':
        this.#words(value.low, value.high)
        return 0x12
      case 'BSONRegExp':
        this.#cstring(value.pattern)
        this.#cstring(value.options)
        return 0x0b
      case 'Undefined':
        return 0x06
    }
  }

  #binary(value: Binary): number {
    const at = this.#room(5)
    const bytes = value.buffer.subarray(0, value.position)
    this.buffer.writeInt32LE(bytes.length, at)
    this.buffer[at + 4] = value.sub_type
    this.#bytes(bytes)
    return 0x05
  }

  #int32(value: number): void {
    const at = this.#room(4)
    this.buffer.writeInt32LE(value, at)
  }

  #double(value: number): void {
    const at = this.#room(8)
    this.buffer.writeDoubleLE(value, at)
  }

  #words(low: number, high: number): void {
    const at = this.#room(8)
    this.buffer.writeInt32LE(low, at)
    this.buffer.writeInt32LE(high, at + 4)
  }

  #string(text: string): void {
    const at = this.#room(4)
    this.#cstringBytes(text)
    this.buffer.writeInt32LE(this.length - at - 4, at)
  }

  #cstring(text: string): void {
    if (this.#shortAscii(text)) return
    if (text.includes('\0')) throw new MongoError(2, 'names and patterns must not contain a null byte')
    this.#cstringBytes(text)
  }

  /** Writes a short ASCII name, as most are, faster than a call into Node; returns false for any other name. */
  #shortAscii(text: string): boolean {
    if (text.length > SHORT) return false
    const start = this.#room(text.length + 1)
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index)
      if (code === 0 || code > 0x7f) {
        this.length = start
        return false
      }
      this.buffer[start + index] = code
    }
    this.buffer[start + text.length] = 0
    return true
  }

  #cstringBytes(text: string): void {
    const at = this.#room(Buffer.byteLength(text) + 1)
    const written = this.buffer.write(text, at)
    this.buffer[at + written] = 0
  }

  #byte(byte: number): void {
    const at = this.#room(1)
    this.buffer[at] = byte
  }

  #bytes(bytes: Uint8Array): void {
    const at = this.#room(bytes.length)
    this.buffer.set(bytes, at)
  }

  /** Makes room for `count` bytes and returns where they start. This may replace `buffer`. */
  #room(count: number): number {
    const start = this.length
    this.length += count
    if (this.length > this.buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(this.length, this.buffer.length * 2))
      this.buffer.copy(grown, 0, 0, start)
      this.buffer = grown
    }
    return start
  }
}
