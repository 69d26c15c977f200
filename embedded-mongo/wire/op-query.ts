import { readDocument } from '../bson-reader.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument } from '../semantics/values.ts'
import { HEADER_BYTES } from './frame-reader.ts'

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

/** Builds the OP_REPLY holding one document. */
export function formatOpReply(document: Uint8Array, requestId: number, responseTo: number): Buffer {
  const length = HEADER_BYTES + 20 + document.length
  const bytes = Buffer.alloc(length)
  bytes.writeInt32LE(length, 0)
  bytes.writeInt32LE(requestId, 4)
  bytes.writeInt32LE(responseTo, 8)
  bytes.writeInt32LE(OP_REPLY, 12)
  // AwaitCapable, as every server since 1.6 sets it.
  bytes.writeInt32LE(8, 16)
  bytes.writeInt32LE(1, 32)
  bytes.set(document, 36)
  return bytes
}
