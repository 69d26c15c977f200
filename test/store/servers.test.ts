import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Document } from 'bson'
import { startEmbeddedStore } from 'embedded-mongo'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { connectStore, type StoreConnection } from '../../src/store/mongo/connect.ts'
import { isDuplicateKey } from '../../src/store/mongo/failures.ts'
import { checkServer, embeddedInWords, inWords } from '../../src/store/mongo/server.ts'
import { cli, useDataDir } from '../support/cli.ts'
import { type Part, type StoreProxy, startStoreProxy } from '../support/store-proxy.ts'
import { useWorker } from '../support/worker.ts'

let proxy: StoreProxy
let connection: StoreConnection

beforeAll(async () => {
  proxy = await startStoreProxy(inject('storeUri'))
  connection = await connectStore(proxy.uri('servers'))
})
afterAll(async () => {
  await connection.close()
  await proxy.close()
})

function play(part: Part): void {
  onTestFinished(() => proxy.play({}))
  proxy.play(part)
}

/** A server that says this about itself. */
const server = (hello: Document, version: string): Part => ({
  after(reply, name) {
    if (name === 'buildInfo') return { ...reply, version, modules: [] }
    if (name !== 'hello') return undefined
    const { embeddedStore: _embedded, ...plain } = reply
    return { ...plain, ...hello }
  },
})

describe('the kind of a store', () => {
  it.each<[string, Document, string, object]>([
    ['a replica set', { setName: 'rs0' }, '8.0.26', { kind: 'replica set', name: 'rs0', version: '8.0.26' }],
    ['a mongos', { msg: 'isdbgrid' }, '7.0.5', { kind: 'mongos', version: '7.0.5' }],
    ['one server', {}, '6.0.0', { kind: 'single server', version: '6.0.0' }],
  ])('%s', async (_what, hello, version, expected) => {
    play(server(hello, version))
    expect(await checkServer(connection)).toMatchObject(expected)
  })

  it('the embedded store', async () => {
    const { folder } = await useDataDir()
    const { uri, close } = await startEmbeddedStore({ dataDir: join(folder, 'data') })
    onTestFinished(close)
    const embedded = await connectStore(uri)
    onTestFinished(() => embedded.close())
    expect(await checkServer(embedded)).toMatchObject({ kind: 'embedded store' })
  })

  it.each(['4.4.29', '5.0.31', '5.0.0'])('%s is too old, in a sentence', async (version) => {
    play(server({ setName: 'rs0' }, version))
    await expect(checkServer(connection)).rejects.toMatchObject({
      name: 'UnsuitableStoreError',
      message: `The store is MongoDB ${version}. Countersign needs MongoDB 6.0 or newer, or a compatible service.`,
    })
  })

  it('the oldest that is taken is named where one is chosen, and the containers have none older', () => {
    const of = (path: string) => readFileSync(packagePath(path), 'utf8')
    expect(of('docs/deploy.md')).toContain('a MongoDB replica set, 6.0 or newer')
    const images = [...of('docker-compose.yml').matchAll(/image: mongo:(\d+)\./g)].map(([, major]) =>
      Number(major),
    )
    expect(images.length).toBeGreaterThan(0)
    expect(Math.min(...images)).toBeGreaterThanOrEqual(6)
  })

  it.each<[string, Part, object]>([
    [
      'a mongos, which has no replica set of its own',
      server({ msg: 'isdbgrid' }, '7.0.5'),
      { status: 'ok', detail: 'MONGODB_URI answers (mongos, MongoDB 7.0.5)' },
    ],
    [
      'a server that is too old',
      server({ setName: 'rs0' }, '5.0.31'),
      { status: 'fail', detail: expect.stringContaining('is MongoDB 5.0.31') },
    ],
  ])('the doctor knows %s', async (_what, part, expected) => {
    const { env } = await useDataDir()
    play(part)
    const { stdout } = await cli(['doctor', '--json'], { env: { ...env, MONGODB_URI: proxy.uri('servers') } })
    expect(JSON.parse(stdout).checks).toContainEqual(expect.objectContaining({ name: 'Store', ...expected }))
  })

  it('one that does not tell its version is taken', async () => {
    const unknown = { ok: 0, code: 59, codeName: 'CommandNotFound', errmsg: 'no such command: buildInfo' }
    play({ before: (_command, name) => (name === 'buildInfo' ? unknown : undefined) })
    expect(await checkServer(connection)).toMatchObject({ version: undefined })
  })
})

it('in production a single server is used, and warned of', async () => {
  play(server({}, '8.0.26'))
  const env = {
    NODE_ENV: 'production',
    BASE_URL: 'https://a.example',
    TRUST_PROXY: '0',
    CALLBACK_ALLOW_PRIVATE: '0',
  }
  const { logged } = await useWorker({ storeUri: proxy.uri(`single_${Date.now()}`), env })
  expect(logged.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
    'MONGODB_URI names a single server, which can lose acknowledged writes; use a replica set',
  ])
})

describe('stores that are refused at the start', () => {
  it.each<[number, string]>([
    [
      13,
      'The store does not give this user enough rights: grant it the role readWrite on the database (no).',
    ],
    [18, 'The store refuses this user: check user, password and authSource in MONGODB_URI (no).'],
    [
      20,
      'The store does not support retryable writes: use a replica set, or add retryWrites=false to MONGODB_URI (',
    ],
    [79, 'The store does not support writes acknowledged by a majority: use a replica set (no).'],
    [
      100,
      'The store does not answer: no. Check MONGODB_URI, and that the server runs; of a replica set, most members.',
    ],
  ])('code %i is a sentence', async (code, sentence) => {
    play({
      before: (_command, name) => (name === 'insert things' ? { ok: 0, code, errmsg: 'no.' } : undefined),
    })
    const refused: unknown = await connection.collection('things').insertOne({}).catch(inWords)
    expect(refused).toMatchObject({ message: expect.stringContaining(sentence) })
  })

  it('an embedded store that takes too long says what to do, also while it is opened', async () => {
    const late = new Error('gone')
    late.name = 'MongoServerSelectionError'
    for (const error of [late, inWords(late)])
      for (const [own, advice] of [
        [true, 'The machine is very busy, or its disk very slow: start again, or increase STORE_TIMEOUT_MS.'],
        [
          false,
          'The service that runs it does not respond, or the machine is very busy: try again, or restart the service.',
        ],
      ] as const)
        expect(embeddedInWords(error, own)).toMatchObject({
          name: 'StoreUnreachableError',
          message: `The embedded store did not answer in time: gone. ${advice}`,
        })
    const full = Object.assign(new Error('No space'), { code: 14031 })
    expect(embeddedInWords(full, true)).toBe(full)
  })

  it.each(['mongodb://localhost:99999999/x', 'mongodb://a,b/x?directConnection=true'])(
    'the address %s is a sentence',
    async (uri) => {
      await expect(connectStore(uri)).rejects.toMatchObject({
        name: 'UnsuitableStoreError',
        message: expect.stringMatching(/^MONGODB_URI cannot be used: /),
      })
    },
  )
})

describe('a second document with the same key', () => {
  it.each<[string, string, string | undefined, boolean]>([
    ['users index: email_1 dup key: { email: "a" }', 'email', undefined, true],
    ['users index: email_1 dup key: { email: "a" }', 'founder', undefined, false],
    ['users index: chat.key_1 dup key: { chat.key: "slack:T:U" }', 'chat.key', undefined, true],
    ['push_devices index: user_id_1_slot_1 dup key: { user_id: "u", slot: 0 }', 'slot', undefined, true],
    [
      'push_devices index: user_id_1_slot_1 dup key: { user_id: "u", slot: 0 }',
      'endpoint_hash',
      undefined,
      false,
    ],
    ['api_keys index: _id_ dup key: { _id: "key_1" }', '_id', undefined, true],
    ['api_keys index: one_internal_key dup key: { account_id: "acc" }', '_id', undefined, false],
    ['users index: email_1 dup key: { email: "a" }', 'email', 'founder', false],
  ])('%s: is it %s?', (what, field, pattern, expected) => {
    const error = Object.assign(new Error(`E11000 duplicate key error collection: countersign.${what}`), {
      code: 11000,
      ...(pattern && { keyPattern: { [pattern]: 1 } }),
    })
    expect(isDuplicateKey(error, field)).toBe(expected)
  })
})
