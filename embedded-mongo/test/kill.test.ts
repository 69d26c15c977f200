import { mkdirSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Collection, MongoClient } from 'mongodb'
import { afterAll, expect, it } from 'vitest'
import { type StoreChild, spawnStore } from './store-child.ts'
import { temporaryDirectory } from './support.ts'

/** Each kills at another moment; `TEST_SIZE=full` tries more of them. */
const ROUNDS = process.env.TEST_SIZE === 'full' ? 24 : 6
const WRITERS = 12

interface Item {
  _id: string
  n: number
  tag: number
  unique: string
}

/** What the store has acknowledged, and what was on its way when it was killed. */
class Ledger {
  killed = false
  readonly acknowledged = new Map<string, number>()
  readonly deleted = new Set<string>()
  readonly pending = new Map<string, 'insert' | 'increment' | 'delete'>()
}

const dataDir = temporaryDirectory()
let child: StoreChild | undefined

afterAll(async () => {
  await child?.end('SIGKILL')
  rmSync(dataDir, { recursive: true, force: true })
})

/** Writes until the store dies: an insert, two increments, and every fourth time a delete. */
async function writeUntilKilled(
  items: Collection<Item>,
  ledger: Ledger,
  prefix: string,
  onAck: () => void,
): Promise<void> {
  for (let i = 0; ; i += 1) {
    const _id = `${prefix}-${i}`
    try {
      ledger.pending.set(_id, 'insert')
      await items.insertOne({ _id, n: 0, tag: i % 7, unique: _id })
      ledger.acknowledged.set(_id, 0)
      onAck()
      for (let n = 0; n < 2; n += 1) {
        ledger.pending.set(_id, 'increment')
        const after = await items.findOneAndUpdate(
          { _id, n },
          { $inc: { n: 1 } },
          { returnDocument: 'after' },
        )
        expect(after?.n).toBe(n + 1)
        ledger.acknowledged.set(_id, n + 1)
        onAck()
      }
      if (i % 4 === 3) {
        ledger.pending.set(_id, 'delete')
        await items.deleteOne({ _id })
        ledger.acknowledged.delete(_id)
        ledger.deleted.add(_id)
        onAck()
      }
      ledger.pending.delete(_id)
    } catch (error) {
      if (ledger.killed) return
      throw error
    }
  }
}

/** Every acknowledged write is there, nothing else is, and each index tells the same story as a scan. */
async function verify(items: Collection<Item>, ledger: Ledger): Promise<void> {
  const found = new Map((await items.find().toArray()).map((item) => [item._id, item]))
  for (const [id, n] of ledger.acknowledged) {
    const pending = ledger.pending.get(id)
    const item = found.get(id)
    if (item === undefined) {
      expect(pending, `${id} was acknowledged and is gone`).toBe('delete')
      continue
    }
    expect([n, pending === 'increment' ? n + 1 : n], `${id} has an older state`).toContain(item.n)
  }
  for (const id of ledger.deleted) expect(found.has(id), `${id} came back`).toBe(false)
  for (const id of found.keys()) {
    if (!ledger.acknowledged.has(id)) expect(ledger.pending.get(id), `${id} was never written`).toBe('insert')
  }
  const byTag = new Set<string>()
  for (let tag = 0; tag < 7; tag += 1) {
    for (const item of await items.find({ tag }).hint('tag_1').toArray()) byTag.add(item._id)
  }
  expect(byTag).toEqual(new Set(found.keys()))
  expect(await items.countDocuments({ unique: { $gte: '' } }, { hint: 'unique_1' })).toBe(found.size)
}

/** From here on the ledger says what the store says: the pending writes have been decided. */
async function settle(items: Collection<Item>, ledger: Ledger): Promise<void> {
  ledger.pending.clear()
  ledger.acknowledged.clear()
  for (const item of await items.find().toArray()) ledger.acknowledged.set(item._id, item.n)
}

it(`loses no acknowledged write in ${ROUNDS} rounds of kill -9 under load`, async () => {
  const ledger = new Ledger()
  let total = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    child = await spawnStore(dataDir)
    const client = new MongoClient(child.said.uri ?? '', { maxPoolSize: WRITERS })
    const items = client.db('kill').collection<Item>('items')
    if (round === 0) await items.createIndexes([{ key: { tag: 1 } }, { key: { unique: 1 }, unique: true }])
    await verify(items, ledger)
    await settle(items, ledger)
    const enough = 40 + ((round * 97) % 400)
    let resolve: () => void = () => undefined
    const loaded = new Promise<void>((done) => {
      resolve = done
    })
    let acks = 0
    ledger.killed = false
    const writers = Array.from({ length: WRITERS }, (_, writer) =>
      writeUntilKilled(items, ledger, `${round}-${writer}`, () => {
        acks += 1
        if (acks === enough) resolve()
      }),
    )
    await Promise.race([loaded, Promise.all(writers)])
    expect(acks).toBeGreaterThanOrEqual(enough)
    ledger.killed = true
    await child.end('SIGKILL')
    // First, or a writer that began anew would wait for a store that does not come back.
    await client.close()
    await Promise.all(writers)
    total += acks
  }
  child = await spawnStore(dataDir)
  const client = new MongoClient(child.said.uri ?? '')
  await verify(client.db('kill').collection<Item>('items'), ledger)
  await client.close()
  expect(await child.end('SIGTERM')).toBe(0)
  expect(total).toBeGreaterThan(ROUNDS * 40)
  // Five thousand writes, each on disk before the next: the time is that of the machine's disk, and of what else uses it.
})

async function insert(store: StoreChild, goOn: () => boolean): Promise<void> {
  const client = new MongoClient(store.said.uri ?? '')
  do
    await client
      .db('a')
      .collection('items')
      .insertOne({ text: 'x'.repeat(2_000) })
  while (goOn())
  await client.close()
}

it.each([200, 1100, 1900])(
  'starts again and again after a kill with %i pages in its log and a write',
  async (pages) => {
    const home = temporaryDirectory()
    const log = join(home, 'store.db-wal')
    let last = await spawnStore(home)
    await insert(last, () => statSync(log).size < pages * 8_216)
    await last.end('SIGKILL')
    for (const end of ['SIGTERM', 'SIGKILL', 'SIGTERM'] as const) {
      last = await spawnStore(home)
      expect(last.said.error).toBeUndefined()
      await insert(last, () => false)
      await last.end(end)
    }
    rmSync(home, { recursive: true })
  },
)

it.each([
  ['leaves without closing it', 'SIGUSR2', 5],
  ['dies of an error', 'SIGHUP', 1],
] as const)(
  'is whole after its process %s while it writes, which ends the thread anywhere',
  async (_how, signal, code) => {
    const home = temporaryDirectory()
    const child = await spawnStore(home)
    const client = new MongoClient(child.said.uri ?? '')
    const items = client.db('a').collection<{ _id: number }>('items')
    let acknowledged = 0
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let number = writer; ; number += 4) {
        await items.insertOne({ _id: number })
        acknowledged += 1
        if (acknowledged === 200) child.process.kill(signal)
      }
    })
    const ends = Promise.allSettled(writers)
    expect(await child.ended()).toBe(code)
    await client.close(true)
    await ends
    const again = await spawnStore(home)
    expect(again.said.error).toBeUndefined()
    const reader = new MongoClient(again.said.uri ?? '')
    expect(await reader.db('a').collection('items').countDocuments()).toBeGreaterThanOrEqual(acknowledged)
    await reader.close()
    await again.end('SIGKILL')
    rmSync(home, { recursive: true })
  },
)

it('is whole after a close that failed half way', async () => {
  const home = temporaryDirectory()
  const note = join(home, 'store.lock')
  const child = await spawnStore(home)
  // A log of some length: a short one SQLite may leave to the next start.
  let left = 50
  await insert(child, () => left-- > 0)
  rmSync(note)
  mkdirSync(note)
  expect(await child.end('SIGTERM')).toBe(3)
  rmdirSync(note)
  const again = await spawnStore(home)
  expect(again.said.error).toBeUndefined()
  await again.end('SIGKILL')
  rmSync(home, { recursive: true })
})
