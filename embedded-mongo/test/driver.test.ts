// The driver's own classes: it loads another copy of bson than an import from here would.
import { Binary, Decimal128, Double, Int32, Long, ObjectId, Timestamp } from 'mongodb'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { useItems } from './items.ts'
import { refusal } from './support.ts'

const { store, items, fill } = useItems()

describe('documents through the official driver', () => {
  it('come back with every type they were stored with', async () => {
    const document = {
      _id: new ObjectId(),
      double: new Double(5),
      int: new Int32(5),
      long: Long.fromString('9007199254740993'),
      date: new Date('2026-11-21T12:00:00.123Z'),
      binary: new Binary(Buffer.from([1, 2, 3]), 0x80),
      regex: /^a/i,
      text: 'café \u{1f512}',
      nothing: null,
      yes: true,
      nested: { '2': 'two', '1': 'one', deeper: [[], {}, [new Double(1)]] },
    }
    const raw = store().db.collection('types', { promoteValues: false })
    await raw.insertOne(document)
    const found = await raw.findOne({ _id: document._id })
    expect(found).toMatchObject({
      double: new Double(5),
      int: new Int32(5),
      long: document.long,
    })
    expect(found).toMatchObject({
      date: document.date,
      text: document.text,
      nested: { deeper: [[], {}, [new Double(1)]] },
    })
    expect(found?.binary).toEqual(document.binary)
  })

  it('are refused with a type that the store does not have', async () => {
    for (const value of [Decimal128.fromString('1.50'), new Timestamp({ t: 5, i: 6 })]) {
      const error = await refusal(store().db.collection('types').insertOne({ value }))
      expect(error).toMatchObject({
        code: 22,
        errmsg: expect.stringContaining('is unknown or not supported'),
      })
    }
  })

  it('get an ObjectId when they have no _id, and keep _id in front', async () => {
    const collection = store().db.collection('ids')
    await collection.insertOne({ a: 1 }, { forceServerObjectId: true })
    const found = await collection.findOne()
    expect(found?._id).toBeInstanceOf(ObjectId)
    expect(Object.keys(found ?? {})).toEqual(['_id', 'a'])
  })

  it('may not have an array for _id', async () => {
    const error = await refusal(
      store()
        .db.collection('ids')
        .insertOne({ _id: [1] as never }),
    )
    expect(error).toMatchObject({ code: 2, errmsg: "can't use an array for _id" })
  })

  it('may be up to 16 MiB large and not larger', async () => {
    await items().insertOne({ _id: 1, text: 'x'.repeat(16 * 1024 * 1024 - 40) })
    expect(await items().countDocuments()).toBe(1)
    const error = await refusal(items().updateOne({ _id: 1 }, { $set: { more: 'x'.repeat(100) } }))
    expect(error.code).toBe(10334)
    expect(error.errmsg).toMatch(/^BSONObj size: 16777\d+ \(0x[0-9A-F]+\) is invalid/)
    expect((await items().findOne({ _id: 1 }))?.more).toBeUndefined()
  })
})

describe('insert', () => {
  it('stops at the first refused document when ordered, and goes on when not', async () => {
    const documents = [{ _id: 1 }, { _id: 1 }, { _id: 2 }]
    const ordered = await refusal(items().insertMany(documents))
    expect(ordered).toMatchObject({ code: 11000 })
    expect(await items().countDocuments()).toBe(1)
    const unordered = await refusal(items().insertMany(documents, { ordered: false }))
    expect(unordered).toMatchObject({
      writeErrors: [
        { index: 0, code: 11000 },
        { index: 1, code: 11000 },
      ],
    })
    expect(await items().countDocuments()).toBe(2)
  })
})

describe('find', () => {
  it('filters, sorts, skips, limits and projects', async () => {
    await fill(10)
    const found = await items()
      .find({ parity: 1 }, { projection: { n: 1, _id: 0 } })
      .sort({ n: -1 })
      .skip(1)
      .limit(2)
      .toArray()
    expect(found).toEqual([{ n: 7 }, { n: 5 }])
  })

  it('hands out batches, a later one with what was written meanwhile, and no document twice', async () => {
    await items().createIndex({ n: 1 })
    await fill(250)
    for (const cursor of [
      items().find().batchSize(60),
      items()
        .find({ n: { $gte: 0 } })
        .batchSize(60),
    ]) {
      const first = await cursor.next()
      // In the index the documents move to where the cursor is still to come.
      await items().updateMany({}, { $inc: { n: 500 } })
      const rest = await cursor.toArray()
      const ids = [first, ...rest].map((item) => item?._id)
      expect(new Set(ids).size).toBe(ids.length)
      expect(ids.toSorted((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 250 }, (_, i) => i))
    }
  })

  it('shows in each batch what is there when it is asked for', async () => {
    await fill(4)
    const cursor = items().find().batchSize(1)
    await cursor.next()
    await items().updateOne({ _id: 1 }, { $set: { text: 'new' } })
    expect(await cursor.next()).toMatchObject({ _id: 1, text: 'new' })
    await items().deleteOne({ _id: 2 })
    expect((await cursor.toArray()).map(({ _id }) => _id)).toEqual([3])
  })

  it('counts against maxTimeMS what it works, and not what the client takes between two batches', async () => {
    await fill(600)
    const cursor = items().find().batchSize(300).maxTimeMS(60_000)
    for (let read = 0; read < 300; read += 1) await cursor.next()
    const now = performance.now.bind(performance)
    const later = vi.spyOn(performance, 'now').mockImplementation(() => now() + 3_600_000)
    onTestFinished(() => later.mockRestore())
    expect((await cursor.toArray()).length).toBe(300)
  })

  it('splits batches at 16 MiB', async () => {
    for (let i = 0; i < 5; i += 1)
      await items().insertOne({ _id: i, text: String(i).repeat(6 * 1024 * 1024) })
    const found = await items().find().toArray()
    expect(found.map((item) => String(item.text)[0])).toEqual(['0', '1', '2', '3', '4'])
  })

  it('forgets a cursor that was killed', async () => {
    await fill(300)
    // One id in a thousand is small enough for the driver to make a double of it, which names no cursor.
    const opened = async (): Promise<Long> =>
      (await store().db.command({ find: 'items', batchSize: 2 }, { promoteLongs: false })).cursor.id
    const killed = (id: Long) => ({ cursorsKilled: [id] })
    const id = await opened()
    const kill = { killCursors: 'items', cursors: [id] }
    expect(await store().db.command(kill, { promoteLongs: false })).toMatchObject(killed(id))
    const error = await refusal(store().db.command({ getMore: id, collection: 'items' }))
    expect(error).toMatchObject({
      code: 43,
      codeName: 'CursorNotFound',
      errmsg: `cursor id ${id.toString()} not found`,
    })
    const other = await opened()
    const elsewhere = store().client.db('elsewhere')
    expect(
      await elsewhere.command({ killCursors: 'none', cursors: [other] }, { promoteLongs: false }),
    ).toMatchObject(killed(other))
  })

  it('gives up after maxTimeMS', async () => {
    await items().insertMany(Array.from({ length: 20_000 }, (_, i) => ({ _id: i, text: 'a'.repeat(200) })))
    const slow = items()
      .find({ text: { $regex: 'xy' } })
      .maxTimeMS(1)
      .toArray()
    expect(await refusal(slow)).toMatchObject({ code: 50, codeName: 'MaxTimeMSExpired' })
  })

  it('refuses to sort or to group more than 100 MB by no index', async () => {
    const heavy = store().db.collection('heavy')
    const text = 'a'.repeat(15_000_000)
    for (let n = 0; n < 7; n += 1) await heavy.insertOne({ n, text })
    const wanted = expect.objectContaining({ code: 292 })
    expect(await refusal(heavy.find().sort({ n: -1 }).toArray())).toEqual(wanted)
    expect(await refusal(heavy.aggregate([{ $group: { _id: '$n' } }]).toArray())).toEqual(wanted)
  })

  it('takes a hint by name or by pattern and refuses an unknown one', async () => {
    await fill(10)
    await items().createIndex({ parity: 1 })
    expect(await items().find({ parity: 0 }).hint('parity_1').toArray()).toHaveLength(5)
    expect(
      await items()
        .find({ n: { $gt: 4 } })
        .hint({ parity: 1 })
        .toArray(),
    ).toHaveLength(5)
    expect(await refusal(items().find({}).hint('none').toArray())).toMatchObject({
      code: 2,
      errmsg: 'error processing query: hint provided does not correspond to an existing index',
    })
  })
})

describe('counting', () => {
  it('counts by command, by pipeline and by estimate', async () => {
    await fill(10)
    expect(await items().countDocuments({ parity: 1 })).toBe(5)
    expect(await items().estimatedDocumentCount()).toBe(10)
    expect(
      await store().db.command({ count: 'items', query: { n: { $gte: 3 } }, skip: 2, limit: 4 }),
    ).toMatchObject({ n: 4 })
    expect(await store().db.collection('nothing').countDocuments()).toBe(0)
  })

  it('groups', async () => {
    await fill(10)
    const groups = await items()
      .aggregate([{ $match: { n: { $lt: 8 } } }, { $group: { _id: '$parity', n: { $sum: 1 } } }])
      .toArray()
    expect(groups).toEqual([
      { _id: 0, n: 4 },
      { _id: 1, n: 4 },
    ])
  })

  it('refuses a stage it does not have', async () => {
    const error = await refusal(
      items()
        .aggregate([{ $lookup: { from: 'x', as: 'y' } }])
        .toArray(),
    )
    expect(error.code).toBeGreaterThan(0)
    expect(error.errmsg).toContain('$lookup')
  })
})

describe('collections', () => {
  it('are created, listed, dropped, and exist once', async () => {
    await store().db.createCollection('made')
    expect(await refusal(store().db.createCollection('made'))).toMatchObject({
      code: 48,
      codeName: 'NamespaceExists',
    })
    await items().insertOne({ _id: 1 })
    const names = (await store().db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name)
    expect(names).toEqual(['items', 'made'])
    expect(await store().db.listCollections({ name: 'made' }).toArray()).toMatchObject([
      { name: 'made', type: 'collection', idIndex: { name: '_id_', key: { _id: 1 } } },
    ])
    expect(await store().db.dropCollection('made')).toBe(true)
    await store().db.dropDatabase()
    expect(await store().db.listCollections().toArray()).toEqual([])
  })
})

describe('sessions', () => {
  it('are accepted, and end their cursors', async () => {
    await fill(300)
    const session = store().client.startSession()
    const cursor = items().find({}, { session, batchSize: 2 })
    await cursor.next()
    const id = cursor.id
    await store().db.command({ endSessions: [session.id] })
    expect(await refusal(store().db.command({ getMore: id, collection: 'items' }))).toMatchObject({
      code: 43,
    })
    await cursor.close()
    await session.endSession()
  })

  it('refuse transactions with code 20', async () => {
    const session = store().client.startSession()
    session.startTransaction()
    const error = await refusal(items().insertOne({ _id: 1 }, { session }))
    // The driver words this one itself and keeps the server's error beside it.
    expect(error.originalError).toMatchObject({
      code: 20,
      codeName: 'IllegalOperation',
      errmsg: 'Transaction numbers are only allowed on a replica set member or mongos',
    })
    expect(await items().countDocuments()).toBe(0)
    await session.abortTransaction().catch(() => undefined)
    await session.endSession()
  })
})
