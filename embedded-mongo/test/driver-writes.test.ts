import { describe, expect, it } from 'vitest'
import { useItems } from './items.ts'
import { refusal } from './support.ts'

const { store, items, fill } = useItems()

describe('update', () => {
  it('changes one or all, and tells matched from modified', async () => {
    await fill(4)
    expect(await items().updateOne({ parity: 0 }, { $set: { x: 1 } })).toMatchObject({
      matchedCount: 1,
      modifiedCount: 1,
    })
    expect(await items().updateMany({ parity: 0 }, { $set: { x: 1 } })).toMatchObject({
      matchedCount: 2,
      modifiedCount: 1,
    })
    expect(await items().replaceOne({ _id: 3 }, { y: 2 })).toMatchObject({ modifiedCount: 1 })
    expect(await items().findOne({ _id: 3 })).toEqual({ _id: 3, y: 2 })
  })

  it('upserts with the fields of the filter', async () => {
    const result = await items().updateOne(
      { _id: 'new', kind: 'k' },
      { $set: { a: 1 }, $setOnInsert: { b: 2 } },
      { upsert: true },
    )
    expect(result).toMatchObject({ matchedCount: 0, upsertedCount: 1, upsertedId: 'new' })
    expect(await items().findOne()).toEqual({ _id: 'new', kind: 'k', a: 1, b: 2 })
  })

  it('finds the array element of the positional operator', async () => {
    await items().insertOne({
      _id: 1,
      list: [
        { k: 'a', v: 1 },
        { k: 'b', v: 2 },
      ],
    })
    await items().updateOne({ 'list.k': 'b' }, { $inc: { 'list.$.v': 10 } })
    await items().updateOne(
      { _id: 1 },
      { $set: { 'list.$[x].seen': true } },
      { arrayFilters: [{ 'x.k': 'a' }] },
    )
    expect(await items().findOne()).toEqual({
      _id: 1,
      list: [
        { k: 'a', v: 1, seen: true },
        { k: 'b', v: 12 },
      ],
    })
  })

  it('refuses to change _id, and a pipeline', async () => {
    await fill(1)
    expect(await refusal(items().updateOne({ _id: 0 }, { $set: { _id: 9 } } as never))).toMatchObject({
      code: 66,
    })
    const pipeline = await refusal(items().updateOne({ _id: 0 }, [{ $set: { a: 1 } }]))
    expect(pipeline.errmsg).toContain('pipeline')
  })

  it.each<[string, object, object, number]>([
    ['a replacement by a part of _id', { '_id.x': 1 }, { a: 1 }, 111],
    ['half a reference', { r: { $ref: 'c' } }, { $set: { a: 1 } }, 2],
    ['an _id of the filter with a $ field', { _id: { $eq: { $a: 1 } } }, { $set: { a: 1 } }, 52],
    ['a part of _id that begins with $', { '_id.$gt': 1 }, { $set: { a: 1 } }, 52],
    ['an _id of $set', {}, { $set: { _id: { a: [{ $b: 1 }] } } }, 52],
    ['an _id of $setOnInsert', {}, { $setOnInsert: { '_id.$a': 1 } }, 52],
    ['an _id of a replacement', {}, { _id: { $a: 1, b: 1 } }, 52],
    ['an array of $push', {}, { $push: { _id: 1 } }, 53],
  ])('refuses an upsert by %s', async (_name, q, u, code) => {
    const reply = await store().db.command({ update: 'items', updates: [{ q, u, upsert: true }] })
    expect(reply).toMatchObject({ n: 0, writeErrors: [{ code }] })
    expect(await items().countDocuments()).toBe(0)
  })

  it('upserts a replacement whose filter says the same twice', async () => {
    await items().replaceOne({ $and: [{ a: 1 }, { a: 1 }] }, { b: 2 }, { upsert: true })
    expect(await items().findOne({}, { projection: { _id: 0 } })).toEqual({ b: 2 })
  })

  it('counts nothing of an update that fails half-way, and keeps what it did', async () => {
    await items().insertMany([
      { _id: 1, n: 1 },
      { _id: 2, n: 1 },
      { _id: 3, text: 'x' },
    ])
    await items().updateMany({ _id: 3 }, { $set: { n: 'x' as never } })
    const reply = await store().db.command({
      update: 'items',
      updates: [{ q: {}, u: { $inc: { n: 1 } }, multi: true }],
    })
    expect(reply).toMatchObject({ n: 0, nModified: 0, writeErrors: [{ code: 14 }] })
    expect(await items().countDocuments({ n: 2 })).toBe(2)
  })

  it('judges $expr by the clock of the store', async () => {
    await items().insertMany([
      { _id: 1, at: new Date(Date.now() - 60_000) },
      { _id: 2, at: new Date(Date.now() + 60_000) },
    ])
    const expired = await items()
      .find({ $expr: { $lte: ['$at', '$$NOW'] } })
      .toArray()
    expect(expired.map((item) => item._id)).toEqual([1])
  })

  it('sets $currentDate by the clock of the store', async () => {
    await fill(1)
    const before = Date.now()
    await items().updateOne({ _id: 0 }, { $currentDate: { at: true } })
    const at = (await items().findOne())?.at as Date
    expect(at.getTime()).toBeGreaterThanOrEqual(before)
    expect(at.getTime()).toBeLessThanOrEqual(Date.now())
  })
})

describe('findAndModify', () => {
  it('returns the document before or after, by sort order', async () => {
    await fill(4)
    expect(await items().findOneAndUpdate({}, { $inc: { n: 100 } }, { sort: { n: -1 } })).toMatchObject({
      _id: 3,
      n: 3,
    })
    const after = await items().findOneAndUpdate(
      { _id: 3 },
      { $inc: { n: 1 } },
      { returnDocument: 'after', projection: { n: 1 } },
    )
    expect(after).toEqual({ _id: 3, n: 104 })
    expect(await items().findOneAndDelete({ _id: 3 })).toMatchObject({ n: 104 })
    expect(await items().findOneAndUpdate({ _id: 3 }, { $set: { a: 1 } })).toBeNull()
  })

  it('tells of an upsert in lastErrorObject', async () => {
    const reply = await store().db.command({
      findAndModify: 'items',
      query: { _id: 5 },
      update: { $set: { a: 1 } },
      upsert: true,
      new: true,
    })
    expect(reply).toMatchObject({
      lastErrorObject: { n: 1, updatedExisting: false, upserted: 5 },
      value: { _id: 5, a: 1 },
    })
  })

  it('refuses contradictory options', async () => {
    const both = store().db.command({ findAndModify: 'items', remove: true, update: {} })
    expect(await refusal(both)).toMatchObject({
      code: 9,
      errmsg: "Cannot specify both an 'update' and 'remove'=true",
    })
    await items().insertOne({ _id: 1 })
    const filtered = { findAndModify: 'items', remove: true, arrayFilters: [{ a: 1 }] }
    expect(await refusal(store().db.command(filtered))).toMatchObject({
      code: 9,
      errmsg: "Cannot specify 'arrayFilters' and 'remove'=true",
    })
    expect(await items().countDocuments()).toBe(1)
    const neither = store().db.command({ findAndModify: 'items', query: {} })
    expect(await refusal(neither)).toMatchObject({
      code: 9,
      errmsg: "Either an 'update' or 'remove'=true must be specified",
    })
  })
})

describe('delete', () => {
  it('removes one or all', async () => {
    await fill(6)
    expect(await items().deleteOne({ parity: 1 })).toMatchObject({ deletedCount: 1 })
    expect(await items().deleteMany({ parity: 1 })).toMatchObject({ deletedCount: 2 })
    expect(await items().countDocuments()).toBe(3)
  })
})

describe('concurrency', () => {
  it('lets exactly one of 200 conditional updates win, each time', async () => {
    for (let round = 0; round < 5; round += 1) {
      await items().insertOne({ _id: `lease-${round}`, state: 'free' })
      const claims = await Promise.all(
        Array.from({ length: 200 }, (_, owner) =>
          items().findOneAndUpdate(
            { _id: `lease-${round}`, state: 'free' },
            { $set: { state: 'taken', owner } },
          ),
        ),
      )
      expect(claims.filter((claim) => claim !== null)).toHaveLength(1)
    }
  })

  it('lets exactly one of 200 inserts of one unique value win', async () => {
    await items().createIndex({ code: 1 }, { unique: true })
    const results = await Promise.allSettled(
      Array.from({ length: 200 }, (_, i) => items().insertOne({ _id: i, code: 'same' })),
    )
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
    expect(await items().countDocuments()).toBe(1)
  })

  it('loses none of 500 concurrent increments', async () => {
    await items().insertOne({ _id: 'counter', n: 0 })
    await Promise.all(
      Array.from({ length: 500 }, () => items().updateOne({ _id: 'counter' }, { $inc: { n: 1 } })),
    )
    expect((await items().findOne({ _id: 'counter' }))?.n).toBe(500)
  })
})
