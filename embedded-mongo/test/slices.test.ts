import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { deserialize, serialize } from 'bson'
import type { Collection, Document } from 'mongodb'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { decodeBson } from '../src/bson-reader.ts'
import { SlicedCommandService } from '../src/command-service.ts'
import { DurableFile } from '../src/engine/durable-file.ts'
import { StoreEngine } from '../src/engine/store-engine.ts'
import { kind1, opMsg, RawClient } from './raw-client.ts'
import { openStore, type TestStore, temporaryDirectory } from './support.ts'

interface Item {
  _id: number
  n: number
  state?: string
  by?: string
}

const MANY = 20_000
let store: TestStore

beforeAll(async () => {
  store = await openStore()
})
afterAll(() => store.close())
/** The documents stand as they were made, or again: so many take longer than most that is asked of them. */
let untouched = false
async function makeMany(): Promise<void> {
  if (!untouched) {
    await store.db.dropDatabase()
    await items().insertMany(Array.from({ length: MANY }, (_, _id) => ({ _id, n: 0 })))
  }
  untouched = false
}

function items(): Collection<Item> {
  return store.db.collection<Item>('items')
}

/** Answers to another client while the work is being done. */
async function answersDuring(work: Promise<unknown>): Promise<number> {
  let done = false
  const end = work.finally(() => {
    done = true
  })
  let answers = 0
  while (!done) {
    await store.db.command({ ping: 1 })
    answers += 1
  }
  await end
  return answers
}

function message(body: Document, sequence?: string, documents: Document[] = []): Buffer {
  const rest = sequence === undefined ? Buffer.alloc(0) : kind1(sequence, documents)
  return opMsg({ ...body, $db: 'test' }, { rest })
}

/** Milliseconds of CPU that this process has used up; the store works in it, too. */
function spent(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Milliseconds of CPU of this process: in all, and the two most without looking at its sockets. */
async function turnsOf(work: () => Promise<void>): Promise<{ longest: number; second: number; all: number }> {
  const began = spent()
  let before = began
  const most = [0, 0]
  let timer = setImmediate(function look() {
    const now = spent()
    most.push(now - before)
    most.sort((a, b) => b - a).pop()
    before = now
    timer = setImmediate(look)
  })
  await work()
  clearImmediate(timer)
  const [longest = 0, second = 0] = most
  return { longest, second, all: spent() - began }
}

describe('a statement over many documents', () => {
  beforeEach(makeMany)

  const fresh = Array.from({ length: MANY }, (_, index) => ({ _id: MANY + index, n: 1 }))
  it.each<[string, () => Promise<unknown>]>([
    ['an insert', () => items().insertMany(fresh)],
    ['an update', () => items().updateMany({}, { $inc: { n: 1 } })],
    ['a removal', () => items().deleteMany({ n: 0 })],
  ])('gives other clients their turn: %s', async (_name, work) => {
    // One that held the others would let through what came before it, and what waited behind it.
    expect(await answersDuring(work())).toBeGreaterThan(2)
  })

  it('gives other clients their turn: a new index', async () => {
    expect(await answersDuring(items().createIndex({ n: 1 }))).toBeGreaterThan(2)
    await items().dropIndex('n_1')
    untouched = true
  })

  it.each<[string, () => Promise<unknown>]>([
    ['a count without an index', () => items().countDocuments({ state: 'none' })],
    ['a search that finds nothing', () => items().find({ state: 'none' }).toArray()],
    ['a sort without an index', () => items().find().sort({ n: 1, _id: -1 }).toArray()],
    [
      'a pipeline',
      () =>
        items()
          .aggregate([{ $group: { _id: '$n', count: { $sum: 1 } } }])
          .toArray(),
    ],
  ])('gives other clients their turn: %s, which only reads', async (_name, work) => {
    expect(await answersDuring(work())).toBeGreaterThan(2)
    untouched = true
  })

  it('holds no other client for long, however large it is', async () => {
    const numbers = Array.from({ length: 200 }, (_, index) => index)
    const bulky = Array.from({ length: 5_000 }, (_, index) => ({ _id: 2 * MANY + index, numbers }))
    const large = {
      _id: -1,
      list: Array.from({ length: 10_000 }, (_, index) => ({ index, text: 'x'.repeat(60) })),
    }
    const client = await RawClient.open(store.server.socketPath)
    const began = spent()
    const statements: [string, Buffer][] = [
      ['insert many', message({ insert: 'items' }, 'documents', bulky)],
      ['insert a large one', message({ insert: 'items' }, 'documents', [large])],
      [
        'change all',
        message({ update: 'items' }, 'updates', [{ q: {}, u: { $inc: { n: 1 } }, multi: true }]),
      ],
      [
        'push to a large one',
        message({ update: 'items' }, 'updates', [{ q: { _id: -1 }, u: { $push: { list: 1 } } }]),
      ],
      ['scan', message({ count: 'items', query: { 'list.index': -1 } })],
      ['sort', message({ find: 'items', sort: { n: 1, _id: -1 }, limit: 1 })],
      ['index', message({ createIndexes: 'items', indexes: [{ key: { n: 1 }, name: 'n' }] })],
      ['remove all', message({ delete: 'items' }, 'deletes', [{ q: {}, limit: 0 }])],
    ]
    // Three times as long as any turn, on a slow machine as on a fast one.
    const unit = spent() - began
    const turns = new Map<string, Awaited<ReturnType<typeof turnsOf>>>()
    for (const [name, bytes] of statements) {
      turns.set(
        name,
        await turnsOf(async () => {
          client.send(bytes)
          expect(await client.reply()).toMatchObject({ ok: 1 })
        }),
      )
    }
    client.close()
    // Some 50 ms on a machine at rest; on a busy one the same work takes more, in every turn. One turn of each may be that of
    // the garbage collector, which clears up after every test of this process.
    const most = Math.max(250, 1.5 * unit)
    const held = [...turns].filter(
      ([, { longest, second, all }]) =>
        second > Math.max(most, all / 5) || longest > Math.max(most, all * 0.75),
    )
    expect(held).toEqual([])
  })

  it('changes every document once, and whole, beside other writers', async () => {
    const all = items().updateMany({}, { $inc: { n: 100 } })
    const others = Array.from({ length: 50 }, (_, index) =>
      items().updateOne({ _id: index * 300 }, { $inc: { n: 1 } }),
    )
    const [{ modifiedCount }] = await Promise.all([all, ...others])
    expect(modifiedCount).toBe(MANY)
    expect(await items().countDocuments({ n: { $in: [100, 101] } })).toBe(MANY)
    expect(await items().countDocuments({ n: 101 })).toBe(50)
  })

  it('ends when its collection is dropped', async () => {
    const count = items().countDocuments({ state: 'none' })
    await items().drop()
    await expect(count).rejects.toMatchObject({ code: 175, codeName: 'QueryPlanKilled' })
  })

  it('builds an index that has what was written meanwhile, and what was not', async () => {
    const build = items().createIndex({ n: 1 })
    await Promise.all([
      items().insertOne({ _id: -1, n: 7 }),
      items().updateOne({ _id: 19_000 }, { $set: { n: 7 } }),
      items().deleteOne({ _id: 18_000 }),
    ])
    await build
    const found = await items().find({ n: 7 }).hint('n_1').toArray()
    expect(found.map(({ _id }) => _id).toSorted((a, b) => a - b)).toEqual([-1, 19_000])
    expect(await items().countDocuments({ n: 0 }, { hint: 'n_1' })).toBe(MANY - 2)
  })
})

describe('a conditional write whose search takes many slices', () => {
  beforeEach(makeMany)

  it('upserts one document, however many ask for it', async () => {
    const upserts = Array.from({ length: 6 }, (_, index) =>
      items().updateOne(
        { state: 'wanted' },
        { $inc: { n: 1 }, $setOnInsert: { _id: 100_000 + index } },
        { upsert: true },
      ),
    )
    const results = await Promise.all(upserts)
    expect(results.reduce((sum, { upsertedCount }) => sum + upsertedCount, 0)).toBe(1)
    expect(await items().find({ state: 'wanted' }).toArray()).toMatchObject([{ n: 6 }])
    await items().deleteOne({ state: 'wanted' })
    untouched = true
  })

  it('gives each document to one of those who want the first', async () => {
    const claims = Array.from({ length: 8 }, (_, index) =>
      items().findOneAndUpdate(
        { by: { $exists: false } },
        { $set: { by: `worker${index}` } },
        { sort: { n: 1, _id: -1 } },
      ),
    )
    const claimed = (await Promise.all(claims)).map((item) => item?._id)
    expect(new Set(claimed).size).toBe(8)
    expect(await items().countDocuments({ by: { $exists: true } })).toBe(8)
  })
})

/** A store without a socket or a clock: what is asked in one go is run before anything is made durable. */
function openEngine({ interrupting }: { interrupting: boolean }) {
  const folder = temporaryDirectory()
  const engine = new StoreEngine(new DurableFile(join(folder, 'store.db')))
  Object.defineProperty(engine.slice, 'over', { value: interrupting })
  const service = new SlicedCommandService(engine)
  onTestFinished(() => {
    service.stop()
    engine.close()
    rmSync(folder, { recursive: true })
  })
  const answered: string[] = []
  const ask = (name: string, command: Document): Promise<Document> =>
    new Promise((resolve) =>
      service.run(decodeBson(serialize({ ...command, $db: 'test' })), 1, (message) => {
        answered.push(name)
        resolve(deserialize(message))
      }),
    )
  return { engine, ask, answered }
}

describe('what others do between two slices', () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => ({ n }))
  const count = async (ask: ReturnType<typeof openEngine>['ask'], name: string, query: Document) =>
    (await ask('counted', { count: name, query })).n

  it('a second removal of what was dropped takes nothing of the collection that comes in its place', async () => {
    const { engine, ask } = openEngine({ interrupting: true })
    await ask('made', { insert: 'large', documents: many(4000) })
    await ask('made', { insert: 'small', documents: many(400) })
    const { id } = engine.collection('test.small') ?? expect.unreachable()
    await ask('dropped', { drop: 'small' })
    await ask('dropped', { drop: 'large' })
    const left = () => engine.file.garbage().filter(({ kind }) => kind === 'documents')
    const gone = async (what: (garbage: { id: number }) => boolean) => {
      for (let turn = 0; left().some(what) && turn < 1000; turn += 1) await ask('another turn', { ping: 1 })
      expect(left().some(what)).toBe(false)
    }
    await gone((garbage) => garbage.id === id)
    await ask('made', { insert: 'fresh', documents: many(3) })
    await gone(() => true)
    expect([await count(ask, 'fresh', { n: 2 }), await count(ask, 'fresh', {})]).toEqual([1, 3])
  })

  it('an index that is dropped ends what reads it with 175', async () => {
    const { ask } = openEngine({ interrupting: true })
    await ask('made', { insert: 'items', documents: many(300) })
    await ask('made', { createIndexes: 'items', indexes: [{ key: { n: 1 }, name: 'n_1' }] })
    const change = { q: { n: { $gte: 0 } }, u: { $set: { by: 'me' } }, multi: true }
    const changing = ask('changed', { update: 'items', updates: [change] })
    await ask('dropped', { dropIndexes: 'items', index: 'n_1' })
    expect((await changing).writeErrors).toMatchObject([{ code: 175 }])
    expect(await count(ask, 'items', { by: 'me' })).toBe(0)
  })

  it('two upserts of many that find nothing insert one document', async () => {
    const { ask } = openEngine({ interrupting: true })
    await ask('made', { insert: 'items', documents: many(50) })
    await ask('made', { createIndexes: 'items', indexes: [{ key: { n: 1 }, name: 'n_1' }] })
    // What the first one inserts lies behind the place that the second has come to.
    const q = { n: { $lt: 50 }, state: 'wanted' }
    const wanted = { q, u: { $set: { n: -1 } }, multi: true, upsert: true }
    const upsert = () => ask('upserted', { update: 'items', updates: [wanted] })
    await Promise.all([upsert(), upsert()])
    expect(await count(ask, 'items', { state: 'wanted' })).toBe(1)
  })
})

describe('countDocuments', () => {
  it('takes no more memory for more documents', async () => {
    const { engine, ask } = openEngine({ interrupting: false })
    await ask('made', { insert: 'items', documents: [{ n: 1 }] })
    const sent = (group: Document) => ({
      aggregate: 'items',
      pipeline: [{ $match: {} }, { $group: group }],
      cursor: {},
    })
    const counted = async (group: Document) => Object(await ask('count', sent(group))).cursor?.firstBatch
    expect(await counted({ _id: 1, n: { $sum: 1 } })).toEqual([{ _id: 1, n: 1 }])
    // More than any array can hold.
    Object.defineProperty(engine.collection('test.items'), 'size', { value: 5_000_000_000 })
    expect(await counted({ _id: 1, n: { $sum: 1 } })).toEqual([{ _id: 1, n: 5_000_000_000 }])
  })
})

describe('a write that is not durable yet', () => {
  const insert = (into: string) => ({ insert: into, documents: [{ n: 1 }] })
  const find = (from: string) => ({ find: from, filter: { n: 1 } })

  it('is waited for by reads of its own collection, not of others', async () => {
    const { ask, answered } = openEngine({ interrupting: false })
    await Promise.all([ask('made', insert('written')), ask('made', insert('other'))])
    const asked = [
      ask('insert', insert('written')),
      ask('its own', find('written')),
      ask('of another', find('other')),
      ask('of none', { count: 'nothing' }),
    ]
    expect(answered.splice(0)).toEqual(['made', 'made', 'of another', 'of none'])
    await Promise.all(asked)
    expect(answered.splice(0)).toEqual(['insert', 'its own'])
    // What collections there are is seen by all.
    const dropped = [ask('drop', { drop: 'written' }), ask('of another', find('other'))]
    expect(answered).toEqual([])
    await Promise.all(dropped)
    expect(answered).toEqual(['drop', 'of another'])
  })

  it('and never will be is not seen: a read that is interrupted by its end is run again', async () => {
    const { engine, ask } = openEngine({ interrupting: true })
    await ask('made', insert('written'))
    Object.assign(engine.file, {
      commit() {
        Reflect.deleteProperty(engine.file, 'commit')
        throw new Error('disk gone')
      },
    })
    const [write, ...reads] = await Promise.all([
      ask('insert', insert('written')),
      ask('sorted', { ...find('written'), sort: { n: 1 } }),
      ask('count', { count: 'written' }),
    ])
    expect(write).toMatchObject({ ok: 0, code: 1 })
    expect(reads).toMatchObject([
      { ok: 1, cursor: { firstBatch: [{ n: 1 }] } },
      { ok: 1, n: 1 },
    ])
  })
})

describe('a store that closes', () => {
  it('does not wait for a statement that takes long', async () => {
    const other = await openStore()
    const many = other.db.collection<Item>('many')
    await many.insertMany(Array.from({ length: MANY }, (_, _id) => ({ _id, n: 0 })))
    // A driver whose store is gone would look for it for half a minute.
    const client = await RawClient.open(other.server.socketPath)
    client.send(message({ count: 'many', query: { state: 'none' } }))
    await other.db.command({ ping: 1 })
    await other.client.close()
    await other.server.close()
    expect([11600, undefined]).toContain((await client.reply()).code)
    client.close()
  })
})
