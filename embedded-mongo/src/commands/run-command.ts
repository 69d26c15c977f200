import { Double, Int32 } from 'bson'
import { encodeBson } from '../bson-writer.ts'
import type { StoreEngine } from '../engine/store-engine.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from '../semantics/values.ts'
import {
  create,
  createIndexes,
  drop,
  dropDatabase,
  dropIndexes,
  listCollections,
  listDatabases,
  listIndexes,
} from './catalog-commands.ts'
import { type Command, CursorReply } from './command.ts'
import { CommandFields } from './command-fields.ts'
import { readGenericArguments } from './generic-arguments.ts'
import { aggregate, count, distinct, endSessions, find, getMore, killCursors } from './read-commands.ts'
import { buildInfo, hello, legacyHello, ping } from './server-commands.ts'
import { findAndModify, insert, remove, update } from './write-commands.ts'

/** Every command the store has. Anything else is 59 CommandNotFound. */
const commandTable: ReadonlyMap<string, Command> = new Map([
  ['hello', hello],
  ['isMaster', legacyHello],
  ['ismaster', legacyHello],
  ['ping', ping],
  ['buildInfo', buildInfo],
  ['buildinfo', buildInfo],
  ['create', create],
  ['createIndexes', createIndexes],
  ['listIndexes', listIndexes],
  ['dropIndexes', dropIndexes],
  ['listCollections', listCollections],
  ['listDatabases', listDatabases],
  ['insert', insert],
  ['find', find],
  ['getMore', getMore],
  ['killCursors', killCursors],
  ['aggregate', aggregate],
  ['count', count],
  ['distinct', distinct],
  ['update', update],
  ['delete', remove],
  ['findAndModify', findAndModify],
  ['findandmodify', findAndModify],
  ['drop', drop],
  ['dropDatabase', dropDatabase],
  ['endSessions', endSessions],
])

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

/** The reply of a failed command: `ok: 0`, message, code, code name and any extra fields. */
export function errorReply(error: unknown): BsonDocument {
  return new Map<string, BsonValue>([['ok', new Double(0)], ...errorFields(error)])
}

function errorFields(error: unknown): [string, BsonValue][] {
  if (!(error instanceof MongoError)) {
    // A defect of ours. Its text may quote data, so the client learns only its kind.
    const kind = error instanceof Error ? error.name : typeof error
    return errorFields(new MongoError(1, `internal error (${kind})`))
  }
  return [
    ['errmsg', error.message],
    ['code', new Int32(error.code)],
    ['codeName', error.codeName],
    ...error.extra,
  ]
}
