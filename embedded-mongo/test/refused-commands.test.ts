import { Long } from 'bson'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { RawClient } from './raw-client.ts'
import { openStore, type TestStore } from './support.ts'

let store: TestStore
let client: RawClient

beforeAll(async () => {
  store = await openStore()
})
beforeEach(async () => {
  client = await RawClient.open(store.server.socketPath)
})
afterEach(() => client.close())
afterAll(() => store.close())

describe('refused commands', () => {
  it.each([
    ['an unknown command', { fsyncUnlock: 1, $db: 'admin' }, 59, "no such command: 'fsyncUnlock'"],
    [
      'a command named like a built-in property',
      { constructor: 1, $db: 'admin' },
      59,
      "no such command: 'constructor'",
    ],
    ['no command', {}, 59, "no such command: ''"],
    ['a command in another spelling', { findandmodify: 'x', $db: 'test' }, 59, 'no such command'],
    [
      'a session that is none',
      { ping: 1, lsid: { id: 5 }, $db: 'admin' },
      14,
      "BSON field 'lsid.id' is the wrong type, expected type 'uuid'",
    ],
    [
      'sessions to end that are none',
      { endSessions: [5], $db: 'admin' },
      14,
      "BSON field 'endSessions.endSessions' must hold session documents",
    ],
    [
      'a read preference of any name',
      { find: 'x', $readPreference: { mode: 'next' }, $db: 'test' },
      9,
      "Could not parse $readPreference mode 'next'",
    ],
    [
      'an option that is neither true nor false',
      { find: 'x', singleBatch: 'yes', $db: 'test' },
      14,
      "BSON field 'find.singleBatch' is the wrong type 'string', expected type 'bool'",
    ],
    [
      'a limit that is no number',
      { find: 'x', limit: 'all', $db: 'test' },
      14,
      "BSON field 'find.limit' is the wrong type 'string', expected type 'long'",
    ],
    ['a hint that is none', { find: 'x', hint: 5, $db: 'test' }, 9, 'Hint must be a string or an object'],
    [
      'an aggregation of a database',
      { aggregate: 1, pipeline: [], cursor: {}, $db: 'test' },
      73,
      'aggregations on a whole database are not supported by the embedded store',
    ],
    [
      'no indexes to create',
      { createIndexes: 'x', indexes: [], $db: 'test' },
      2,
      'Must specify at least one index to create',
    ],
    [
      'a delete of two',
      { delete: 'x', deletes: [{ q: {}, limit: 2 }], $db: 'test' },
      9,
      'The limit field in delete objects must be 0 or 1. Got 2',
    ],
    ...(
      [
        [{ remove: true, update: {} }, "Cannot specify both an 'update' and 'remove'=true"],
        [{ remove: true, upsert: true }, "Cannot specify both 'upsert'=true and 'remove'=true"],
        [{ remove: true, new: true }, "Cannot specify both 'new'=true and 'remove'=true"],
        [{ remove: true, arrayFilters: [] }, "Cannot specify 'arrayFilters' and 'remove'=true"],
        [{}, "Either an 'update' or 'remove'=true must be specified"],
      ] as const
    ).map(([change, message]): [string, object, number, string] => [
      `findAndModify of ${JSON.stringify(change)}`,
      { findAndModify: 'x', ...change, $db: 'test' },
      9,
      message,
    ]),
    [
      'an unknown field',
      { ping: 1, loud: true, $db: 'admin' },
      40415,
      "BSON field 'ping.loud' is an unknown field.",
    ],
    ['a missing $db', { ping: 1 }, 40571, 'OP_MSG requests require a $db argument'],
    ['a bad $db', { ping: 1, $db: 'a.b' }, 73, "Invalid database name: 'a.b'"],
    ['an empty $db', { ping: 1, $db: '' }, 73, "Invalid database name: ''"],
    [
      'a transaction',
      {
        insert: 'x',
        documents: [{}],
        txnNumber: Long.ONE,
        startTransaction: true,
        autocommit: false,
        $db: 'test',
      },
      20,
      'Transaction numbers are only allowed on a replica set member or mongos',
    ],
    [
      'a retryable write',
      { insert: 'x', documents: [{}], txnNumber: Long.ONE, $db: 'test' },
      20,
      'Transaction numbers are only allowed on a replica set member or mongos',
    ],
    ...['update', 'delete'].map((name): [string, object, number, string] => [
      `let of ${name}`,
      { [name]: 'x', [`${name}s`]: [{ q: {}, u: { $set: { a: 1 } } }], let: { v: 1 }, $db: 'test' },
      72,
      `'${name}.let' is not supported by the embedded store`,
    ]),
    [
      'let of findAndModify',
      { findAndModify: 'x', query: {}, remove: true, let: { v: 1 }, $db: 'test' },
      72,
      "'findAndModify.let' is not supported by the embedded store",
    ],
    [
      'the Stable API',
      { ping: 1, apiVersion: '1', apiStrict: true, $db: 'admin' },
      238,
      "'apiVersion' is not supported by the embedded store: connect without serverApi",
    ],
    [
      'a user and a password',
      { saslStart: 1, mechanism: 'SCRAM-SHA-256', payload: 'x', $db: 'admin' },
      18,
      'the embedded store has no users, so connect without user and password',
    ],
    [
      'a hint to use no index',
      { find: 'x', hint: { $natural: 1 }, $db: 'test' },
      238,
      'hint: {$natural: …} is not supported by the embedded store; leave the hint out',
    ],
    ['commitTransaction', { commitTransaction: 1, $db: 'admin' }, 59, "no such command: 'commitTransaction'"],
    [
      'w: 2',
      { insert: 'x', documents: [{}], writeConcern: { w: 2 }, $db: 'test' },
      2,
      "cannot use 'w' > 1 when a host is not replicated",
    ],
    [
      'a w of any name',
      { insert: 'x', documents: [{}], writeConcern: { w: 'rack' }, $db: 'test' },
      79,
      'No write concern mode with that name is known',
    ],
    [
      'a snapshot read',
      { find: 'x', readConcern: { level: 'snapshot' }, $db: 'test' },
      72,
      "read concern level 'snapshot' is not supported by the embedded store",
    ],
    [
      'a collection name of the wrong type',
      { find: 5, $db: 'test' },
      73,
      "collection name has invalid type for command 'find'",
    ],
    ['an empty collection name', { find: '', $db: 'test' }, 73, "Invalid namespace specified 'test.'"],
    [
      'a system collection',
      { insert: 'system.users', documents: [{}], $db: 'test' },
      73,
      "Invalid namespace specified 'test.system.users'",
    ],
    [
      'a delete in a system collection',
      { delete: 'system.users', deletes: [{ q: {}, limit: 0 }], $db: 'test' },
      73,
      "Invalid namespace specified 'test.system.users'",
    ],
    [
      'an update of a system collection',
      { update: 'system.users', updates: [{ q: {}, u: { $set: { a: 1 } } }], $db: 'test' },
      73,
      "Invalid namespace specified 'test.system.users'",
    ],
    [
      'a findAndModify of a system collection',
      { findAndModify: 'system.users', remove: true, $db: 'test' },
      73,
      "Invalid namespace specified 'test.system.users'",
    ],
    [
      'a change stream',
      { aggregate: 'x', pipeline: [{ $changeStream: {} }], cursor: {}, $db: 'test' },
      40573,
      'only supported on replica sets',
    ],
    [
      'a stage that is not there',
      { aggregate: 'x', pipeline: [{ $lookup: {} }], cursor: {}, $db: 'test' },
      40324,
      "Unrecognized pipeline stage name: '$lookup': this store has $match",
    ],
    [
      'an expression with variables of its own',
      { find: 'x', filter: { $expr: { $filter: { input: '$a', cond: '$$this' } } }, $db: 'test' },
      168,
      "Unrecognized expression '$filter'",
    ],
    [
      'a dollar in a collection name',
      { insert: 'a$b', documents: [{}], $db: 'test' },
      73,
      "Invalid namespace specified 'test.a$b'",
    ],
    [
      'no documents',
      { insert: 'x', $db: 'test' },
      40414,
      "BSON field 'insert.documents' is missing but a required field",
    ],
    [
      'an empty batch',
      { insert: 'x', documents: [], $db: 'test' },
      16,
      'Write batch sizes must be between 1 and 100000. Got 0 operations.',
    ],
    [
      'documents that are none',
      { insert: 'x', documents: [5], $db: 'test' },
      14,
      "BSON field 'insert.documents.0' is the wrong type 'int', expected type 'object'",
    ],
    [
      'a filter that is none',
      { find: 'x', filter: 'all', $db: 'test' },
      14,
      "BSON field 'find.filter' is the wrong type 'string', expected type 'object'",
    ],
    [
      'a tailable cursor',
      { find: 'x', tailable: true, $db: 'test' },
      72,
      "'find.tailable' is not supported by the embedded store",
    ],
    [
      'a negative skip',
      { find: 'x', skip: -1, $db: 'test' },
      51024,
      "BSON field 'skip' value must be >= 0, actual value '-1'",
    ],
    [
      'a capped collection',
      { create: 'x', capped: true, size: 4096, $db: 'test' },
      72,
      "'create.capped' is not supported by the embedded store",
    ],
    ...(
      [
        { find: 'x', collation: { locale: 'en' } },
        { find: 'x', collation: { locale: 'simple', strength: 1 } },
        { count: 'x', collation: { locale: 'fr' } },
        { aggregate: 'x', pipeline: [], cursor: {}, collation: { locale: 'en', strength: 2 } },
        { findAndModify: 'x', remove: true, collation: { locale: 'en' } },
        { createIndexes: 'x', indexes: [{ key: { a: 1 }, name: 'a_1', collation: { locale: 'en' } }] },
      ] as const
    ).map((command): [string, object, number, string] => [
      `a collation in ${JSON.stringify(command)}`,
      { ...command, $db: 'test' },
      72,
      "no collation but {locale: 'simple'} is supported by the embedded store",
    ]),
    [
      'an unknown statement field',
      { update: 'x', updates: [{ q: {}, u: { $set: { a: 1 } }, sort: {} }], $db: 'test' },
      40415,
      "BSON field 'update.updates.sort' is an unknown field.",
    ],
    [
      'aggregate without a cursor',
      { aggregate: 'x', pipeline: [], $db: 'test' },
      9,
      "The 'cursor' option is required, except for aggregate with the explain argument",
    ],
    [
      'an unknown cursor',
      { getMore: Long.fromNumber(5), collection: 'x', $db: 'test' },
      43,
      'cursor id 5 not found',
    ],
    [
      'a cursor named by a double',
      { getMore: 5.5, collection: 'x', $db: 'test' },
      14,
      "BSON field 'getMore.getMore' is the wrong type, expected type 'long'",
    ],
    [
      'a cursor to kill named by a double',
      { killCursors: 'x', cursors: [5.5], $db: 'test' },
      14,
      "BSON field 'killCursors.cursors' is the wrong type, expected type 'long'",
    ],
    [
      '$where',
      { find: 'x', filter: { $where: 'true' }, $db: 'test' },
      2,
      'unknown top level operator: $where',
    ],
  ])('refuses %s', async (_name, command, code, message) => {
    const reply = await client.command(command)
    expect(reply).toMatchObject({ ok: 0, code })
    expect(reply.errmsg).toContain(message)
  })

  it('refuses to replace several documents', async () => {
    const updates = [{ q: {}, u: { a: 1 }, multi: true }]
    const { writeErrors } = await client.command({ update: 'x', updates, $db: 'test' })
    expect(writeErrors).toMatchObject([
      { code: 9, errmsg: 'multi update is not supported for replacement-style update' },
    ])
  })

  it.each([
    { update: 'x', updates: [{ q: {}, u: { $set: { a: 1 } }, collation: { locale: 'en' } }] },
    { delete: 'x', deletes: [{ q: {}, limit: 0, collation: { locale: 'en' } }] },
  ])('refuses a collation in a statement of %j', async (command) => {
    const { writeErrors } = await client.command({ ...command, $db: 'test' })
    expect(writeErrors).toMatchObject([{ code: 72, errmsg: expect.stringContaining('no collation but') }])
  })

  it.each([{ find: 'x' }, { count: 'x' }, { aggregate: 'x', pipeline: [], cursor: {} }])(
    'takes the collation simple in %j',
    async (command) => {
      expect(
        await client.command({ ...command, collation: { locale: 'simple' }, $db: 'test' }),
      ).toMatchObject({
        ok: 1,
      })
    },
  )
})
