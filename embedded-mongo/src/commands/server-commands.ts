import { Double, Int32 } from 'bson'
import { MAX_DOCUMENT_BYTES } from '../engine/store-record.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from '../semantics/values.ts'
import { MAX_MESSAGE_BYTES } from '../wire/frame-reader.ts'
import type { Command, CommandCall } from './command.ts'

/** The most statements in one insert, update or delete. */
export const MAX_WRITE_BATCH = 100_000
/** The wire version of MongoDB 7.0; commands that are not in the table are missing. */
const WIRE_VERSION = 21
const VERSION = [7, 0, 0, 0]

/**
 * `hello`: what drivers need to know. No set name (so no transactions and no retryable writes), no
 * `topologyVersion` (so no exhaust streaming), no compression. `localTime` is the store's clock. A client
 * announces its capabilities here; as in MongoDB, one that the server does not know is no error, it is just
 * not offered back.
 */
export const hello: Command = {
  fields: 'any',
  run: (call) => describe(call, 'isWritablePrimary'),
}

/** `ismaster`, the handshake of the first message. */
export const legacyHello: Command = {
  fields: 'any',
  run: (call) => describe(call, 'ismaster'),
}

/** After a failed write, the reply to `ping` tells whether the file can be written again. */
export const ping: Command = {
  fields: new Set(['ping']),
  run: ({ engine }) => {
    engine.probe()
    return new Map()
  },
}

/** Answers a client that was given a user and a password, which the store does not have. */
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
  fields: new Set(['buildInfo']),
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
