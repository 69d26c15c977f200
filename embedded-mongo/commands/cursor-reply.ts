import { Double } from 'bson'
import { encodeBson } from '../bson-writer.ts'
import type { Batch } from '../engine/cursors.ts'
import type { BsonValue } from '../semantics/values.ts'

/** The reply of a command that returns a cursor. */
export class CursorReply {
  readonly batch: Batch

  constructor(batch: Batch) {
    this.batch = batch
  }

  /**
   * `{cursor: {firstBatch | nextBatch: […], id, ns}, ok: 1}`. The documents are BSON already and go in as
   * they are; decoding and encoding each of them would be most of the work of a read.
   */
  encode(): Buffer {
    const { documents, name, id, namespace } = this.batch
    const tail = encodeBson(
      new Map<string, BsonValue>([
        ['id', id],
        ['ns', namespace],
      ]),
    )
    const list = arrayOf(documents)
    // The tail's own length comes off, its elements and its final zero stay.
    const cursor = wrapped([element(0x04, name), list, tail.subarray(4, -1)])
    const ok = encodeBson(new Map([['ok', new Double(1)]]))
    return wrapped([element(0x03, 'cursor'), cursor, ok.subarray(4, -1)])
  }
}

function arrayOf(documents: readonly Uint8Array[]): Buffer {
  const parts: Uint8Array[] = []
  for (const [index, document] of documents.entries()) parts.push(element(0x03, String(index)), document)
  return wrapped(parts)
}

/** Type and name of an element (bsonspec.org). */
function element(type: number, name: string): Buffer {
  return Buffer.from(`${String.fromCharCode(type)}${name}\0`, 'latin1')
}

function wrapped(parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 5)
  const head = Buffer.alloc(4)
  head.writeInt32LE(length)
  return Buffer.concat([head, ...parts, Buffer.alloc(1)], length)
}
