import { Double } from 'bson'
import { encodeBson } from '../bson-writer.ts'
import type { StoreEngine } from '../engine/store-engine.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument } from '../semantics/values.ts'
import { CommandFields } from './command-fields.ts'
import { commandTable } from './command-table.ts'
import { CursorReply } from './cursor-reply.ts'
import { readGenericArguments } from './generic-arguments.ts'

/** What a command runs on. */
export interface CommandContext {
  engine: StoreEngine
  connectionId: number
  now: Date
}

/**
 * Looks the command up in the closed table, checks every field name, runs it and encodes its reply.
 * @throws MongoError 59 for a command that is not in the table, else what the command throws
 */
export function runCommand(body: BsonDocument, context: CommandContext): Uint8Array {
  const [name] = body.keys()
  const command = name === undefined ? undefined : commandTable.get(name)
  if (name === undefined || command === undefined) {
    throw new MongoError(59, `no such command: '${name ?? ''}'`)
  }
  const generic = readGenericArguments(name, body)
  const reply = command.run({
    ...context,
    fields: new CommandFields(
      name,
      body,
      command.fields === 'any' ? new Set(body.keys()) : command.fields,
      true,
    ),
    database: generic.database,
    session: generic.session,
    deadline: generic.maxTimeMs === undefined ? undefined : performance.now() + generic.maxTimeMs,
  })
  return reply instanceof CursorReply ? reply.encode() : encodeBson(reply.set('ok', new Double(1)))
}
