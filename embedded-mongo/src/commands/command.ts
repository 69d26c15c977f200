import type { Encodable, EncodableDocument } from '../bson-writer.ts'
import type { Batch, CursorRequest } from '../engine/cursors.ts'
import type { Steps } from '../engine/slice.ts'
import type { StoreEngine } from '../engine/store-engine.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { CommandFields } from './command-fields.ts'

/** One call of a command: its checked fields and what it runs on. */
export interface CommandCall {
  /** The command's name, as the client wrote it. */
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
  /** Returns the reply without `ok`, or the steps that produce it. @throws MongoError */
  run(call: CommandCall): Reply | Steps<Reply>
}

/** The reply of a command. */
export type Reply = EncodableDocument

/** Reads `database.collection` from the command's own field. @throws MongoError 73 when it is empty or not a string */
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

/** Reads the `batchSize` of a command's `cursor` option. */
export function cursorBatchSize({ fields }: CommandCall): number | undefined {
  const options = fields.document('cursor') ?? new Map()
  return new CommandFields('cursor', options, new Set(['batchSize'])).count('batchSize')
}

/** Opens a cursor over encoded documents, in the session of the call, and replies with its first batch. */
export function* openCursor(
  call: CommandCall,
  documents: Iterable<Uint8Array | undefined>,
  request: Omit<CursorRequest, 'session' | 'idled'>,
): Steps<Reply> {
  const { engine, session, now } = call
  const idled = (ms: number): void => {
    if (call.deadline !== undefined) call.deadline += ms
  }
  return cursorReply(yield* engine.cursors.open(documents, { ...request, session, idled }, now.getTime()))
}

/** Builds `{cursor: {firstBatch | nextBatch: […], id, ns}}`. The documents are BSON already and are copied. */
export function cursorReply({ name, documents, id, namespace }: Batch): Reply {
  const cursor = new Map<string, Encodable>([
    [name, documents],
    ['id', id],
    ['ns', namespace],
  ])
  return new Map([['cursor', cursor]])
}
