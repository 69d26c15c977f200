import type { StoreEngine } from '../engine/store-engine.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument } from '../semantics/values.ts'
import type { CommandFields } from './command-fields.ts'
import type { CursorReply } from './cursor-reply.ts'

/** One call of a command: its checked fields and what it runs on. */
export interface CommandCall {
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
  /** Returns the reply without `ok`. @throws MongoError */
  run(call: CommandCall): BsonDocument | CursorReply
}

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
