import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedStore, startEmbeddedStore } from 'embedded-mongo'
import { type Collection, MongoClient } from 'mongodb'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { type StoreProxy, startStoreProxy } from './store-proxy.ts'

interface Item {
  _id: number
  tag?: string
}

let folder: string
let store: EmbeddedStore
let proxy: StoreProxy
let direct: MongoClient
/** What the store holds, past the proxy. */
let truth: Collection<Item>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proxied-'))
  store = await startEmbeddedStore({ dataDir: folder })
  direct = new MongoClient(store.uri)
  truth = direct.db('proxied').collection<Item>('items')
})

afterAll(async () => {
  await direct.close()
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(async () => {
  await truth.deleteMany({})
  proxy = await startStoreProxy(store.uri)
  onTestFinished(() => proxy.close())
})

async function useItems(): Promise<Collection<Item>> {
  const client = new MongoClient(proxy.uri('proxied'), { retryReads: false })
  onTestFinished(() => client.close())
  await client.connect()
  return client.db().collection<Item>('items')
}

it('passes everything through unchanged, large messages too, and counts commands by name and collection', async () => {
  const items = await useItems()
  const big = 'x'.repeat(3_000_000)
  await items.insertMany([{ _id: 1, tag: big }, { _id: 2 }])
  await items.findOneAndUpdate({ _id: 2 }, { $set: { tag: 'two' } })
  expect(await items.find().sort({ _id: 1 }).toArray()).toEqual([
    { _id: 1, tag: big },
    { _id: 2, tag: 'two' },
  ])
  expect(Object.fromEntries(proxy.sent)).toMatchObject({
    'insert items': 1,
    'findAndModify items': 1,
    'find items': 1,
  })
})

it('kills before the n-th matching command, which the store then never sees', async () => {
  const items = await useItems()
  let killed = 0
  const trap = { command: 'insert', collection: 'items', side: 'before', nth: 2 } as const
  const sprung = proxy.arm(trap, () => {
    killed += 1
  })
  await items.updateOne({ _id: 9 }, { $set: { tag: 'another command' } })
  await items.insertOne({ _id: 1 })
  await expect(items.insertOne({ _id: 2 })).rejects.toThrow(/closed/)
  await sprung
  expect(killed).toBe(1)
  expect(await truth.find().toArray()).toEqual([{ _id: 1 }])
  await items.insertOne({ _id: 3 })
  expect(killed).toBe(1)
})

it('kills after the store has done it, and keeps the reply', async () => {
  const items = await useItems()
  const sprung = proxy.arm({ command: 'insert', collection: 'items', side: 'after' }, () => undefined)
  await expect(items.insertOne({ _id: 1 })).rejects.toThrow(/closed/)
  await sprung
  expect(await truth.find().toArray()).toEqual([{ _id: 1 }])
})

it('looks into the command, document sequences too, and leaves what does not match alone', async () => {
  const items = await useItems()
  let killed = false
  const where = (command: { documents?: Item[] }) => command.documents?.some(({ _id }) => _id === 7) ?? false
  void proxy.arm({ command: 'insert', collection: 'items', side: 'before', where }, () => {
    killed = true
  })
  await items.insertMany([{ _id: 1 }, { _id: 2 }])
  expect(killed).toBe(false)
  await expect(items.insertMany([{ _id: 6 }, { _id: 7 }])).rejects.toThrow(/closed/)
  expect(killed).toBe(true)
  proxy.disarm()
  await items.insertMany([{ _id: 7 }])
  expect(await truth.countDocuments()).toBe(3)
})

it('looks into the reply, and passes those on that do not match', async () => {
  const items = await useItems()
  const found = ({ value }: { value?: unknown }) => value !== null
  const trap = { command: 'findAndModify', collection: 'items', side: 'after', answer: found } as const
  const sprung = proxy.arm(trap, () => undefined)
  expect(await items.findOneAndUpdate({ _id: 1 }, { $set: { tag: 'one' } })).toBe(null)
  await items.insertOne({ _id: 1 })
  await expect(items.findOneAndUpdate({ _id: 1 }, { $set: { tag: 'one' } })).rejects.toThrow(/closed/)
  await sprung
  expect(await truth.find().toArray()).toEqual([{ _id: 1, tag: 'one' }])
})

it('tells a watcher each command with its reply', async () => {
  const items = await useItems()
  const seen: unknown[] = []
  proxy.watch('findAndModify', 'items', (command, reply) => seen.push([command.query, reply.value]))
  await items.insertOne({ _id: 1 })
  await items.findOneAndUpdate({ _id: 1 }, { $set: { tag: 'one' } }, { returnDocument: 'after' })
  expect(seen).toEqual([[{ _id: 1 }, { _id: 1, tag: 'one' }]])
})

it('stands before a store with a port, too, as a mongod has', async () => {
  const server = createServer((client) => {
    const socket = connect({ path: store.socketPath })
    client.pipe(socket).pipe(client)
    for (const one of [client, socket]) one.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = { port: 0, ...Object(server.address()) }
  proxy = await startStoreProxy(`mongodb://127.0.0.1:${port}/?replicaSet=rs0`)
  onTestFinished(() => proxy.close())
  const items = await useItems()
  await items.insertOne({ _id: 1 })
  expect(await truth.countDocuments({})).toBe(1)
  expect(proxy.sent.get('insert items')).toBe(1)
})
