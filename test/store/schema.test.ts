import { createHash, randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { connectStore, type StoreConnection } from '../../src/store/mongo/connect.ts'
import { createSessionStore } from '../../src/store/people/sessions.ts'
import { dropIdempotency } from '../../src/store/schema/drop-idempotency.ts'
import { declaredIndexes, makeIndexes } from '../../src/store/schema/indexes.ts'
import { OLDEST_BESIDE, SCHEMA_VERSION } from '../../src/store/schema/migrations.ts'
import { kindSha256 } from '../../src/store/schema/note-kinds.ts'
import { prepareSchema } from '../../src/store/schema/prepare-schema.ts'
import { cli, useDataDir } from '../support/cli.ts'
import { clockOf } from '../support/clock.ts'
import { databaseUri, startService } from '../support/service.ts'
import { startStoreProxy } from '../support/store-proxy.ts'

async function useStore(): Promise<StoreConnection> {
  const database = `indexes_${randomBytes(6).toString('hex')}`
  const connection = await connectStore(databaseUri(inject('storeUri'), database))
  onTestFinished(async () => {
    await connection.dropDatabase()
    await connection.close()
  })
  createSessionStore(connection)
  return connection
}

const namesOf = async (connection: StoreConnection) =>
  (await connection.collection('sessions').indexes()).map(({ name }) => name)

it('makes the indexes of a new database, as often as it is asked to', async () => {
  const connection = await useStore()
  await Promise.all([makeIndexes(connection), makeIndexes(connection)])
  const names = await namesOf(connection)
  await makeIndexes(connection)
  expect(await namesOf(connection)).toEqual(names)
  expect(names).toContain('token_hash_1')
})

/** Of all indexes, by version. Whoever changes one adds a line, with the next `SCHEMA_VERSION`. */
const FINGERPRINTS = [
  'cf576d6f87676c25',
  '7afe7be44262c455',
  'c4f2b99009e5eede',
  '17d8ceb27df36bac',
  'f91bbc139de7d6c6',
  '450f264142c70595',
  '928b245fb2cd2fd8',
  'cd42beca592265fd',
  '5501d5792bfe6b7d',
  '19a75f23341f6026',
  '19a75f23341f6026',
  '19a75f23341f6026',
  'caa5d60007d5bdb1',
  '737c56358eacd3b3',
  'df5ce48900fcee3c',
  'dcbb9009a84c4c58',
  '449bbc6558e476b4',
  '134c3c81ad6ef70d',
  '0906ec5cce01052e',
]

it('has another version when an index changes', async () => {
  const service = await startService()
  onTestFinished(() => service.close())
  const declared = declaredIndexes(service.composition.connection).map(({ collection, indexes }) => [
    collection,
    indexes.map(({ key, ...options }) => [[...Object(key)], options]),
  ])
  const fingerprint = createHash('sha256').update(JSON.stringify(declared.sort())).digest('hex').slice(0, 16)
  expect([SCHEMA_VERSION, fingerprint]).toEqual([FINGERPRINTS.length, FINGERPRINTS.at(-1)])
})

const DDL = ['createIndexes', 'dropIndexes', 'create']

const CHANGES = /^(?:create|createIndexes|dropIndexes|insert|update|delete|findAndModify) /

it('commands that only read send nothing that makes or changes anything', async () => {
  const { env } = await useDataDir()
  const proxy = await startStoreProxy(inject('storeUri'))
  onTestFinished(() => proxy.close())
  const database = `reads_${randomBytes(6).toString('hex')}`
  const direct = { ...env, MONGODB_URI: databaseUri(inject('storeUri'), database) }
  expect((await cli(['user', 'invite', 'a@example.com', '--json'], { env: direct })).code).toBe(0)
  const MONGODB_URI = proxy.uri(database)
  for (const command of ['user list', 'key list', 'audit list', 'audit check']) {
    const { code } = await cli([...command.split(' '), '--json'], { env: { ...env, MONGODB_URI } })
    expect([command, code]).toEqual([command, 0])
  }
  expect([...proxy.sent.keys()].filter((name) => CHANGES.test(name))).toEqual([])
})

describe('a start', () => {
  const told: string[] = []
  const log = { debug() {}, warn() {}, error() {}, info: (_: object, what: string) => void told.push(what) }
  const preparing = { log, clock: clockOf(), replicated: false, thorough: true }
  beforeEach(() => void told.splice(0))

  /** A connection behind a proxy, and which commands were sent through it since the last question. */
  async function useWatchedStore(limitMs?: number) {
    const proxy = await startStoreProxy(inject('storeUri'))
    onTestFinished(() => proxy.close())
    const connection = await connectStore(proxy.uri(`indexes_${randomBytes(6).toString('hex')}`), limitMs)
    onTestFinished(async () => {
      await connection.dropDatabase()
      await connection.close()
    })
    createSessionStore(connection)
    const seen = new Map<string, number>()
    const sent = () => {
      const all = [...proxy.sent].filter(([name, count]) => count !== seen.get(name)).map(([name]) => name)
      // The driver's heartbeat comes when it comes.
      const names = all.filter((name) => name !== 'hello')
      for (const [name, count] of proxy.sent) seen.set(name, count)
      return names
    }
    return {
      connection,
      proxy,
      sent,
      ddl: () => sent().filter((name) => DDL.includes(name.split(' ')[0] ?? '')),
    }
  }

  it('makes indexes in a new store, says so, and sends none to one that has them', async () => {
    const { connection, ddl, sent } = await useWatchedStore()
    await prepareSchema(connection, preparing)
    expect(ddl()).toContain('createIndexes sessions')
    expect(told).toEqual([expect.stringContaining('preparing the store'), 'the store is ready'])
    await prepareSchema(connection, preparing)
    expect(ddl()).toEqual([])
    await prepareSchema(connection, { ...preparing, thorough: false })
    expect(sent()).toEqual(['find schema'])
    expect(told).toHaveLength(2)
  })

  it('changes nothing in a store of a newer version that it can use, and refuses one that it would misread', async () => {
    const { connection, ddl } = await useWatchedStore()
    await prepareSchema(connection, preparing)
    const schema = connection.collection<{ _id: string }>('schema')
    const newer = { version: SCHEMA_VERSION + 2, oldest: SCHEMA_VERSION }
    await schema.updateOne({ _id: 'indexes' }, { $set: newer })
    ddl()
    await prepareSchema(connection, preparing)
    expect(ddl()).toEqual([])
    await schema.updateOne({ _id: 'indexes' }, { $set: { oldest: SCHEMA_VERSION + 1 } })
    await expect(prepareSchema(connection, preparing)).rejects.toMatchObject({
      name: 'UnsuitableStoreError',
      message: `A newer version of Countersign has changed this store: its schema needs version ${SCHEMA_VERSION + 1} or later, and this Countersign has ${SCHEMA_VERSION}. Nothing was changed. Start the newer version, or restore the backup made before the upgrade.`,
    })
    expect(await schema.findOne({ _id: 'indexes' })).toEqual({
      _id: 'indexes',
      ...newer,
      oldest: SCHEMA_VERSION + 1,
    })
    expect(ddl()).toEqual([])
  })

  it('goes on with the documents of an older version after a process that died in between', async () => {
    const { connection, proxy } = await useWatchedStore()
    await connection.collection<{ _id: string }>('schema').insertOne({ _id: 'indexes', ...{ version: 9 } })
    await connection.collection<{ _id: string }>('idempotency').insertOne({ _id: 'key_1:a' })
    const requests = connection.collection<{ _id: string }>('requests')
    const decided = {
      status: 'approved',
      sandbox: false,
      api_key_id: 'key_1',
      context_json: '{"tool":"pay"}',
    }
    await requests.insertMany([
      { _id: 'a', ...decided },
      { _id: 'b', ...decided, status: 'rejected', ...{ context_json: '{"tool":"pay","amount":1}' } },
      { _id: 'c', ...decided, status: 'pending' },
      { _id: 'd', ...decided, sandbox: true },
      { _id: 'e', ...decided, ...{ erased_at: new Date() } },
      { _id: 'f', ...decided, context_json: '{"reason":"x"}' },
      { _id: 'g', ...decided, ...{ kind_sha256: 'noted' } },
    ])
    let dies = true
    proxy.play({
      before: (_command, name) => {
        if (name !== 'createIndexes sessions' || !dies) return undefined
        dies = false
        return { ok: 0, code: 67, errmsg: 'the machine is going down' }
      },
    })
    await expect(prepareSchema(connection, preparing)).rejects.toThrow('the machine is going down')
    expect(await connection.collection('schema').findOne()).toMatchObject({
      version: 9,
      oldest: OLDEST_BESIDE,
    })
    expect(await connection.collection('idempotency').countDocuments()).toBe(0)
    await prepareSchema(connection, preparing)
    expect(await connection.collection('schema').findOne()).toEqual({
      _id: 'indexes',
      version: SCHEMA_VERSION,
      oldest: OLDEST_BESIDE,
    })
    expect(told).toContain(`migration: ${dropIdempotency.title}`)
    const noted = await requests.find({ kind_sha256: { $ne: null } }).toArray()
    const kind = kindSha256('["key_1",{"by":"tool","tool":"pay"}]')
    expect(noted.map((one) => [one._id, Object(one).kind_sha256])).toEqual([
      ['a', kind],
      ['b', kind],
      ['g', 'noted'],
    ])
  })

  it('makes what is missing though it was made once, as after a restore of documents alone', async () => {
    const { connection } = await useWatchedStore()
    await prepareSchema(connection, preparing)
    await connection.collection('sessions').dropIndex('token_hash_1')
    await prepareSchema(connection, { ...preparing, thorough: false })
    expect(await namesOf(connection)).not.toContain('token_hash_1')
    await prepareSchema(connection, preparing)
    expect(await namesOf(connection)).toContain('token_hash_1')
  })

  it.each([
    ['from one that died', 0],
    ['by a clock that was set back', Date.now() + 3_600_000],
  ])('waits for another process that makes them, and takes over %s', async (_when, ended) => {
    const { connection, ddl } = await useWatchedStore()
    const schema = connection.collection<{ _id: string }>('schema')
    const until = new Date(Date.now() + 30_000)
    await schema.insertOne({ _id: 'indexes', ...{ holder: 'another', until } })
    const waiting = prepareSchema(connection, preparing)
    await expect.poll(() => told).toEqual(['another process prepares the store; waiting for it'])
    expect(ddl()).toEqual([])
    await schema.updateOne({ _id: 'indexes' }, { $set: { until: new Date(ended) } })
    await waiting
    expect(told.at(-1)).toBe('the store is ready')
  })

  it('asks again for a build that outlasts an operation, and serves not before it is done', async () => {
    const { connection, proxy } = await useWatchedStore(3_000)
    let asked = 0
    proxy.play({
      before: (_command, name) =>
        name === 'createIndexes sessions' && ++asked === 1 ? 'nothing' : undefined,
    })
    await prepareSchema(connection, preparing)
    expect(asked).toBe(2)
    expect(await namesOf(connection)).toContain('token_hash_1')
  })

  it('asks a replica set for a majority only; what the store refuses is said in a sentence and holds up no other', async () => {
    const { connection, proxy } = await useWatchedStore()
    const quorums = new Set<unknown>()
    let late = 0
    proxy.play({
      before: (command, name) => {
        if (name !== 'createIndexes sessions') return undefined
        quorums.add(command.commitQuorum)
        late += 1
        return late === 1 ? { ok: 0, code: 67, errmsg: 'unsupported expression in partial index' } : undefined
      },
    })
    const failing = prepareSchema(connection, { ...preparing, replicated: true })
    await expect(failing).rejects.toMatchObject({
      name: 'UnsuitableStoreError',
      message: 'The store refuses an index of sessions: unsupported expression in partial index.',
    })
    await prepareSchema(connection, { ...preparing, replicated: true })
    expect([...quorums]).toEqual(['majority'])
  })
})
