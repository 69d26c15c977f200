import { type Document, deserialize, serialize } from 'bson'
import type { Frame } from 'embedded-mongo/wire/frame-reader'

const OP_MSG = 2013
const OP_REPLY = 1
/** Header of 16 bytes, flags of 4, the kind byte of the first section. */
const BODY = 21
const BSON_STRING = 2

/** In the answer to the first question of a connection, which is a legacy one, the document begins here. */
const LEGACY_BODY = 36

/** The reply to a command, or to the legacy handshake. */
export function readReply(frame: Frame): Document {
  return frame.opCode === OP_REPLY ? deserialize(frame.bytes.subarray(LEGACY_BODY)) : readMessage(frame)
}

/** A reply to the question with that id, in the form in which it was asked. */
export function writeReply(responseTo: number, opCode: number, reply: Document): Buffer {
  const body = serialize(reply)
  const legacy = opCode === OP_REPLY
  const bytes = Buffer.alloc((legacy ? LEGACY_BODY : BODY) + body.length)
  bytes.writeInt32LE(bytes.length, 0)
  bytes.writeInt32LE(responseTo, 8)
  bytes.writeInt32LE(legacy ? OP_REPLY : OP_MSG, 12)
  if (legacy) bytes.writeInt32LE(1, LEGACY_BODY - 4)
  bytes.set(body, bytes.length - body.length)
  return bytes
}

/** A command or a reply; the legacy handshake is not. */
export function isCommand(frame: Frame): boolean {
  return frame.opCode === OP_MSG && frame.bytes.length > BODY && frame.bytes[BODY - 1] === 0
}

/** `insert requests`: the first element's name and, where it is a text, its value. Reads no further: it runs for every command. */
export function nameOf({ bytes }: Frame): string {
  const start = BODY + 5
  const end = bytes.indexOf(0, start)
  const name = bytes.toString('latin1', start, end)
  if (bytes[BODY + 4] !== BSON_STRING) return name
  const length = bytes.readInt32LE(end + 1)
  return `${name} ${bytes.toString('utf8', end + 5, end + 4 + length)}`
}

/** The whole message as one document, document sequences folded in as arrays. */
export function readMessage({ bytes }: Frame): Document {
  const size = bytes.readInt32LE(BODY)
  const message = deserialize(bytes.subarray(BODY, BODY + size))
  for (let offset = BODY + size; offset < bytes.length && bytes[offset] === 1; ) {
    const stop = offset + 1 + bytes.readInt32LE(offset + 1)
    const zero = bytes.indexOf(0, offset + 5)
    const items: Document[] = []
    for (let at = zero + 1; at < stop; at += bytes.readInt32LE(at))
      items.push(deserialize(bytes.subarray(at, at + bytes.readInt32LE(at))))
    message[bytes.toString('utf8', offset + 5, zero)] = items
    offset = stop
  }
  return message
}
