import { Double } from 'bson'
import { encodeBson } from '../bson-writer.ts'
import type { Batch, CursorRequest } from '../engine/cursors.ts'
import type { Steps } from '../engine/slice.ts'
import type { StoreEngine } from '../engine/store-engine.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from '../semantics/values.ts'
import { CommandFields } from './command-fields.ts'

/** One call of a command: its checked fields and what it runs on. */
export interface CommandCall {
  /** Its name, as the client wrote it. */
  command: string
  engine: StoreEngine
  connectionId: number
  /** The store's clock for this command: `$$NOW`, `$currentDate`, `localTime`. */
  now: Date
  fields: CommandFields
  database: string
  session: string | undefined
  /** `performance.now()` after which the command gives up. */
  deadline: number | undefined
}

/** A command: the fields it may carry besides the generic ones ('any' for a handshake), and what it does. */
export interface Command {
  fields: ReadonlySet<string> | 'any'
  /** Returns the reply without `ok`, or the work that ends with it. @throws MongoError */
  run(call: CommandCall): Reply | Steps<Reply>
}

/** What a command answers. */
export type Reply = BsonDocument | CursorReply

/** `database.collection` from the command's own field. @throws MongoError 73 when it is empty or not a string */
export function namespaceOf(call: CommandCall, field: string): string {
  const name = call.fields.raw(field)
  if (typeof name !== 'string') {
    throw new MongoError(73, `collection name has invalid type for command '${field}'`)
  }
  if (name.length === 0 || name.startsWith('.') || name.includes('\0')) {
    throw new MongoError(73, `Invalid namespace specified '${call.database}.${name}'`)
  }
  return `${call.database}.${name}`
}

/** The `batchSize` of a command's `cursor` option. */
export function cursorBatchSize({ fields }: CommandCall): number | undefined {
  const options = fields.document('cursor') ?? new Map()
  return new CommandFields('cursor', options, new Set(['batchSize'])).count('batchSize')
}

/** Opens a cursor over encoded documents, in the session of the call, and replies with its first batch. */
export function* openCursor(
  { engine, session, now }: CommandCall,
  documents: Iterable<Uint8Array | undefined>,
  request: Omit<CursorRequest, 'session'>,
): Steps<CursorReply> {
  return new CursorReply(yield* engine.cursors.open(documents, { ...request, session }, now.getTime()))
}

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
