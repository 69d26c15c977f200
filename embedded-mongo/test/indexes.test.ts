import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sweepExpired } from '../src/engine/housekeeping.ts'
import { finish } from '../src/engine/slice.ts'
import { openStore, refusal, type TestStore } from './support.ts'

let store: TestStore

beforeAll(async () => {
  store = await openStore()
})
afterAll(() => store.close())
beforeEach(async () => {
  await store.db.dropDatabase()
})

interface Item {
  _id: number | string
  a?: unknown
  b?: unknown
  at?: unknown
  keep?: boolean
}

function items() {
  return store.db.collection<Item>('items')
}

it('an index that is named twice is dropped once, and no other', async () => {
  await items().createIndexes([{ key: { a: 1 }, unique: true }, { key: { b: 1 } }])
  await store.db.command({ dropIndexes: 'items', index: ['b_1', { b: 1 }] })
  expect((await items().indexes()).map(({ name }) => name)).toEqual(['_id_', 'a_1'])
  await items().insertOne({ _id: 1 })
  expect(await refusal(items().insertOne({ _id: 1, a: 2 }))).toMatchObject({ code: 11000 })
})

describe('a unique index', () => {
  it('tells of a duplicate that is nested as deep as a document may be, and of a rule that is nested deeper', async () => {
    const nested = (levels: number): object => (levels === 0 ? {} : { a: nested(levels - 1) })
    await items().insertMany([1, 2].map((_id) => ({ _id, a: nested(98) })))
    expect(await refusal(items().createIndex({ a: 1 }, { unique: true }))).toMatchObject({ code: 11000 })
    const partialFilterExpression = { a: nested(95) }
    expect(await refusal(items().createIndex({ b: 1 }, { partialFilterExpression }))).toMatchObject({
      code: 15,
    })
    expect(await items().countDocuments()).toBe(2)
  })

  it('reports a duplicate as MongoDB does', async () => {
    await items().createIndex({ a: 1, b: -1 }, { unique: true })
    await items().insertOne({ _id: 1, a: 'x', b: 2 })
    const error = await refusal(items().insertOne({ _id: 2, a: 'x', b: 2 }))
    expect(error).toMatchObject({
      code: 11000,
      keyPattern: { a: 1, b: -1 },
      keyValue: { a: 'x', b: 2 },
      errmsg: 'E11000 duplicate key error collection: test.items index: a_1_b_-1 dup key: { a: "x", b: 2 }',
    })
  })

  it('reports a duplicate of findAndModify at the top of the reply', async () => {
    await items().createIndex({ a: 1 }, { unique: true })
    await items().insertMany([
      { _id: 1, a: 1 },
      { _id: 2, a: 2 },
    ])
    const error = await refusal(items().findOneAndUpdate({ _id: 2 }, { $set: { a: 1 } }))
    expect(error).toMatchObject({
      code: 11000,
      codeName: 'DuplicateKey',
      keyPattern: { a: 1 },
      keyValue: { a: 1 },
    })
    expect(await items().findOne({ _id: 2 })).toEqual({ _id: 2, a: 2 })
    expect(await items().findOne({ a: 2 })).toEqual({ _id: 2, a: 2 })
  })

  it('takes 1 and 1.0 for the same, a missing field for null, and lets a document keep its own key', async () => {
    await items().createIndex({ a: 1 }, { unique: true })
    await items().insertOne({ _id: 1, a: 1 })
    expect((await refusal(items().insertOne({ _id: 2, a: 1.0 }))).code).toBe(11000)
    await items().insertOne({ _id: 3 })
    expect(await refusal(items().insertOne({ _id: 4, a: null }))).toMatchObject({
      code: 11000,
      keyValue: { a: null },
    })
    await items().updateOne({ _id: 1 }, { $set: { b: 5, a: 1 } })
    expect(await items().countDocuments()).toBe(2)
  })

  it('looks into arrays, but lets one document repeat itself', async () => {
    await items().createIndex({ a: 1 }, { unique: true })
    await items().insertOne({ _id: 1, a: [1, 2, 2] })
    expect(await refusal(items().insertOne({ _id: 2, a: [2, 3] }))).toMatchObject({
      code: 11000,
      keyValue: { a: 2 },
    })
    await items().insertOne({ _id: 3, a: [3] })
  })

  it('concerns only the documents of its partial filter', async () => {
    await items().createIndex({ a: 1 }, { unique: true, partialFilterExpression: { keep: true } })
    await items().insertMany([
      { _id: 1, a: 1 },
      { _id: 2, a: 1 },
      { _id: 3, a: 1, keep: true },
    ])
    expect((await refusal(items().updateOne({ _id: 1 }, { $set: { keep: true } }))).code).toBe(11000)
    await items().updateOne({ _id: 3 }, { $unset: { keep: '' } })
    await items().updateOne({ _id: 1 }, { $set: { keep: true } })
  })

  it('lets any number of documents go without its field when sparse', async () => {
    await items().createIndex({ a: 1 }, { unique: true, sparse: true })
    await items().insertMany([{ _id: 1 }, { _id: 2 }, { _id: 3, a: 1 }])
    expect((await refusal(items().insertOne({ _id: 4, a: 1 }))).code).toBe(11000)
  })

  it('cannot be built over duplicates, and leaves nothing behind', async () => {
    await items().insertMany([
      { _id: 1, a: 1, b: 1 },
      { _id: 2, a: 1, b: 2 },
    ])
    const error = await refusal(items().createIndexes([{ key: { b: 1 } }, { key: { a: 1 }, unique: true }]))
    expect(error).toMatchObject({ code: 11000, keyValue: { a: 1 } })
    expect((await items().indexes()).map(({ name }) => name)).toEqual(['_id_'])
  })
})

describe('index commands', () => {
  it('list, repeat and drop indexes', async () => {
    expect(
      await store.db.command({ createIndexes: 'items', indexes: [{ key: { a: 1 }, name: 'a_1' }] }),
    ).toMatchObject({
      numIndexesBefore: 1,
      numIndexesAfter: 2,
      createdCollectionAutomatically: true,
    })
    expect(
      await store.db.command({ createIndexes: 'items', indexes: [{ key: { a: 1 }, name: 'a_1' }] }),
    ).toMatchObject({
      numIndexesBefore: 2,
      numIndexesAfter: 2,
      createdCollectionAutomatically: false,
      note: 'all indexes already exist',
    })
    expect(await items().indexes()).toEqual([
      { v: 2, key: { _id: 1 }, name: '_id_' },
      { v: 2, key: { a: 1 }, name: 'a_1' },
    ])
    await items().createIndex({ b: 1 }, { background: false })
    await items().createIndex({ b: 1 })
    expect((await items().indexes())[2]).toEqual({ v: 2, key: { b: 1 }, name: 'b_1', background: false })
    await items().dropIndex('a_1')
    await items().dropIndexes()
    expect((await items().indexes()).map(({ name }) => name)).toEqual(['_id_'])
  })

  it('refuse contradictions and what is not there', async () => {
    await items().createIndex({ a: 1 })
    expect(await refusal(items().createIndex({ b: 1 }, { name: 'a_1' }))).toMatchObject({ code: 86 })
    expect(await refusal(items().createIndex({ a: 1 }, { name: 'other' }))).toMatchObject({
      code: 85,
      errmsg: 'Index already exists with a different name: a_1',
    })
    expect(await refusal(items().createIndex({ a: 1 }, { unique: true }))).toMatchObject({ code: 86 })
    expect(await refusal(items().dropIndex('none'))).toMatchObject({
      code: 27,
      errmsg: 'index not found with name [none]',
    })
    expect(await refusal(items().dropIndex('_id_'))).toMatchObject({
      code: 72,
      errmsg: 'cannot drop _id index',
    })
    expect(await refusal(store.db.collection('none').indexes())).toMatchObject({
      code: 26,
      errmsg: 'ns does not exist: test.none',
    })
    expect(await refusal(items().createIndex({ a: 'text' }))).toMatchObject({ code: 238 })
    expect(await refusal(items().createIndex({ a: 1 }, { hidden: true }))).toMatchObject({ code: 238 })
  })

  it('refuse a document with two arrays in one compound index', async () => {
    await items().createIndex({ a: 1, b: 1 })
    expect(await refusal(items().insertOne({ _id: 1, a: [1], b: [2] }))).toMatchObject({ code: 171 })
    expect(await items().countDocuments()).toBe(0)
  })
})

describe('a TTL index', () => {
  const minute = (n: number) => new Date(n * 60_000)

  it('removes what is old enough: dates, the earliest of several, and nothing else', async () => {
    await items().createIndex({ at: 1 }, { expireAfterSeconds: 60 })
    await items().insertMany([
      { _id: 'old', at: minute(8) },
      { _id: 'exactly', at: minute(9) },
      { _id: 'young', at: new Date(9 * 60_000 + 1) },
      { _id: 'several', at: [minute(50), minute(1)] },
      { _id: 'text', at: '1970-01-01' },
      { _id: 'number', at: 1 },
      { _id: 'null', at: null },
      { _id: 'none' },
    ])
    finish(sweepExpired(store.server.engine, minute(10)))
    const left = (await items().find().toArray()).map(({ _id }) => _id)
    expect(left).toEqual(['young', 'text', 'number', 'null', 'none'])
  })

  it('spares what its partial filter leaves out', async () => {
    await items().createIndex({ at: 1 }, { expireAfterSeconds: 0, partialFilterExpression: { keep: false } })
    await items().insertMany([
      { _id: 1, at: minute(1), keep: true },
      { _id: 2, at: minute(1), keep: false },
      { _id: 3, at: minute(1) },
    ])
    finish(sweepExpired(store.server.engine, minute(2)))
    expect((await items().find().toArray()).map(({ _id }) => _id)).toEqual([1, 3])
  })

  it('works off a backlog in steps', async () => {
    await items().createIndex({ at: 1 }, { expireAfterSeconds: 0 })
    await items().insertMany(Array.from({ length: 2500 }, (_, i) => ({ _id: i, at: minute(1) })))
    const { engine } = store.server
    const sweep = sweepExpired(engine, minute(2))
    // A slice that has no time: every look at the clock is a step.
    let steps = 0
    while (sweep.next().done !== true) steps += 1
    expect(steps).toBeGreaterThan(1000)
    expect(await items().countDocuments()).toBe(0)
  })
})
