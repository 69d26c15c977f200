import { readDocument } from '../bson-reader.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from '../semantics/values.ts'
import { HEADER_BYTES } from './frame-reader.ts'

export const OP_MSG = 2013

const MORE_TO_COME = 2
/** An unknown flag bit below 16 must be refused; bits from 16 on are optional. */
const REQUIRED_BITS = 0xffff

/** Checks whether the client expects no reply (an unacknowledged write); works even if the rest is unreadable. */
export function expectsNoReply(bytes: Buffer): boolean {
  return bytes.length >= HEADER_BYTES + 4 && (bytes.readUInt32LE(HEADER_BYTES) & MORE_TO_COME) !== 0
}

/** A parser of a message, which pauses where the caller may do something else. */
export type Parsing = Generator<undefined, BsonDocument>

/** Bytes of documents parsed between two pauses. */
const STEP_BYTES = 1 << 16

/**
 * Parses an OP_MSG into its command, with document sequences folded in as arrays (MongoDB wire protocol: flags, one kind-0
 * section, any kind-1 sections). No driver sends the checksum at the end; its flag is refused like an unknown one.
 * @throws MongoError with MongoDB's code for the defect: 22, 223, 40430, 40431, 40432, 40433, 40587.
 */
export function* parseOpMsg(bytes: Buffer): Parsing {
  if (bytes.length < HEADER_BYTES + 5) throw new MongoError(22, 'OP_MSG is too short')
  const flags = bytes.readUInt32LE(HEADER_BYTES)
  if ((flags & REQUIRED_BITS & ~MORE_TO_COME) !== 0) {
    const bits = flags.toString(2).padStart(32, '0')
    throw new MongoError(223, `Message contains illegal flags value: Ob${bits}`)
  }
  return yield* readSections(bytes)
}

/** Builds the bytes before a document of `size` bytes in the OP_MSG that answers `responseTo`: no flags, one kind-0 section. */
export function opMsgHead(size: number, requestId: number, responseTo: number): Buffer {
  return headOf(OP_MSG, Buffer.alloc(5), size, requestId, responseTo)
}

function headOf(opCode: number, rest: Buffer, size: number, requestId: number, responseTo: number): Buffer {
  const head = Buffer.allocUnsafe(HEADER_BYTES + rest.length)
  head.writeInt32LE(head.length + size, 0)
  head.writeInt32LE(requestId, 4)
  head.writeInt32LE(responseTo, 8)
  head.writeInt32LE(opCode, 12)
  head.set(rest, HEADER_BYTES)
  return head
}

function* readSections(bytes: Buffer): Parsing {
  let body: BsonDocument | undefined
  const sequences = new Map<string, BsonValue[]>()
  let offset = HEADER_BYTES + 4
  while (offset < bytes.length) {
    const kind = bytes.readUInt8(offset)
    offset += 1
    if (kind === 0) {
      if (body !== undefined) throw new MongoError(40430, 'Multiple body sections in message')
      const section = readDocument(bytes, offset, bytes.length)
      body = section.document
      offset = section.next
    } else if (kind === 1) {
      offset = yield* readSequence(bytes, offset, sequences)
    } else {
      throw new MongoError(40432, `Unknown section kind ${kind}`)
    }
  }
  if (body === undefined) throw new MongoError(40587, 'OP_MSG messages must have a body')
  for (const [name, documents] of sequences) {
    if (body.has(name)) {
      throw new MongoError(40433, `Duplicate field between body and document sequence ${name}`)
    }
    body.set(name, documents)
  }
  return body
}

function* readSequence(
  bytes: Buffer,
  start: number,
  sequences: Map<string, BsonValue[]>,
): Generator<undefined, number> {
  if (start + 5 > bytes.length) throw new MongoError(22, 'document sequence is cut short')
  const size = bytes.readInt32LE(start)
  if (size < 5 || start + size > bytes.length)
    throw new MongoError(22, `document sequence length ${size} is invalid`)
  const stop = start + size
  const zero = bytes.indexOf(0, start + 4)
  if (zero < 0 || zero >= stop) throw new MongoError(22, 'document sequence has no name')
  const name = bytes.toString('utf8', start + 4, zero)
  if (sequences.has(name)) throw new MongoError(40431, `Duplicate document sequence: ${name}`)
  const documents: BsonValue[] = []
  let offset = zero + 1
  for (let pause = offset + STEP_BYTES; offset < stop; ) {
    const item = readDocument(bytes, offset, stop)
    documents.push(item.document)
    offset = item.next
    if (offset < pause) continue
    yield
    pause = offset + STEP_BYTES
  }
  sequences.set(name, documents)
  return stop
}

export const OP_QUERY = 2004
const OP_REPLY = 1

/**
 * Parses the legacy OP_QUERY that drivers still use for the very first handshake: only commands
 * (`<db>.$cmd`) are taken, and `$db` is filled in from the collection name.
 * @throws MongoError 352 UnsupportedOpQueryCommand for anything but a command; 22 for garbage.
 */
export function parseOpQuery(bytes: Buffer): BsonDocument {
  const nameStart = HEADER_BYTES + 4
  const zero = bytes.indexOf(0, nameStart)
  if (zero < 0) throw new MongoError(22, 'OP_QUERY has no collection name')
  const name = bytes.toString('utf8', nameStart, zero)
  if (!name.endsWith('.$cmd')) {
    throw new MongoError(352, 'Unsupported OP_QUERY: only commands are served')
  }
  const { document } = readDocument(bytes, zero + 9, bytes.length)
  document.set('$db', name.slice(0, -'.$cmd'.length))
  return document
}

/** Like {@link opMsgHead}, for the OP_REPLY that answers an OP_QUERY. */
export function opReplyHead(size: number, requestId: number, responseTo: number): Buffer {
  const rest = Buffer.alloc(20)
  // AwaitCapable, which every server since 1.6 sets.
  rest.writeInt32LE(8, 0)
  rest.writeInt32LE(1, 16)
  return headOf(OP_REPLY, rest, size, requestId, responseTo)
}
