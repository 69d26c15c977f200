import { Double, Int32 } from 'bson'
import { MAX_DOCUMENT_BYTES } from '../engine/store-record.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from '../semantics/values.ts'
import { MAX_MESSAGE_BYTES } from '../wire/frame-reader.ts'
import type { Command, CommandCall } from './command.ts'

/** Statements in one insert, update or delete. */
export const MAX_WRITE_BATCH = 100_000
/** The dialect spoken: MongoDB 7.0, without the commands that are not in the table. */
const WIRE_VERSION = 21
const VERSION = [7, 0, 0, 0]

/**
 * `hello`: what drivers need to know. No set name (so no transactions and no retryable writes), no
 * `topologyVersion` (so no exhaust streaming), no compression. `localTime` is the store's clock.
 * A client announces what it is capable of here; as in MongoDB, what the server does not know of is not
 * an error, it is just not offered back.
 */
export const hello: Command = {
  fields: 'any',
  run: (call) => describe(call, 'isWritablePrimary'),
}

/** `isMaster`, the handshake of the first message. */
export const legacyHello: Command = {
  fields: 'any',
  run: (call) => describe(call, 'ismaster'),
}

/** While the file cannot be written, that is what it answers. */
export const ping: Command = {
  fields: new Set(['ping']),
  run: ({ engine }) => {
    engine.probe()
    return new Map()
  },
}

/** What a client sends that was given a user and a password: the store has neither. */
export const authenticate: Command = {
  fields: 'any',
  run: () => {
    throw new MongoError(
      18,
      'Authentication failed: the embedded store has no users, so connect without user and password',
    )
  },
}

export const buildInfo: Command = {
  fields: new Set(['buildInfo', 'buildinfo']),
  run: () =>
    new Map<string, BsonValue>([
      ['version', VERSION.slice(0, 3).join('.')],
      ['versionArray', VERSION.map((part) => new Int32(part))],
      ['modules', ['embedded-mongo']],
      ['bits', new Int32(64)],
      ['debug', false],
      ['maxBsonObjectSize', new Int32(MAX_DOCUMENT_BYTES)],
      ['storageEngines', ['embedded']],
    ]),
}

function describe(call: CommandCall, primary: 'isWritablePrimary' | 'ismaster'): BsonDocument {
  call.fields.refuse('loadBalanced')
  return new Map<string, BsonValue>([
    [primary, true],
    ['helloOk', true],
    ['maxBsonObjectSize', new Int32(MAX_DOCUMENT_BYTES)],
    ['maxMessageSizeBytes', new Int32(MAX_MESSAGE_BYTES)],
    ['maxWriteBatchSize', new Int32(MAX_WRITE_BATCH)],
    ['localTime', call.now],
    ['logicalSessionTimeoutMinutes', new Int32(30)],
    ['connectionId', new Int32(call.connectionId)],
    ['minWireVersion', new Int32(0)],
    ['maxWireVersion', new Int32(WIRE_VERSION)],
    ['readOnly', false],
    ['embeddedStore', new Double(1)],
  ])
}
