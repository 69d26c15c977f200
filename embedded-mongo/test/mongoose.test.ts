import mongoose, { Schema } from 'mongoose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { socketUri } from '../src/data-directory.ts'
import { openStore, type TestStore } from './support.ts'

let store: TestStore
const connection = mongoose.createConnection()

beforeAll(async () => {
  store = await openStore()
  await connection.openUri(socketUri(store.server.socketPath), { dbName: 'odm' })
})
afterAll(async () => {
  await connection.close()
  await store.close()
})
beforeEach(() => connection.dropDatabase())

const personSchema = new Schema(
  {
    email: { type: String, required: true },
    tags: [String],
    keys: [{ name: String, uses: { type: Number, default: 0 } }],
    manager: { type: Schema.Types.ObjectId, ref: 'Person' },
    extra: { type: Map, of: String },
    expiresAt: Date,
  },
  { timestamps: true, optimisticConcurrency: true, autoIndex: false },
)
personSchema.index({ email: 1 }, { unique: true, partialFilterExpression: { email: { $gte: '' } } })
personSchema.index({ tags: 1 }, { sparse: true })
personSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 })

const Person = connection.model('Person', personSchema)

describe('unmodified mongoose', () => {
  it('creates its indexes, twice without complaint, and sees them as synchronous with the schema', async () => {
    await Person.createIndexes()
    await Person.createIndexes()
    expect((await Person.listIndexes()).map(({ name }) => name)).toEqual([
      '_id_',
      'email_1',
      'tags_1',
      'expiresAt_1',
    ])
    expect(await Person.diffIndexes()).toEqual({ toDrop: [], toCreate: [] })
    await Person.collection.dropIndex('tags_1')
    expect(await Person.syncIndexes()).toEqual([])
    expect((await Person.listIndexes()).map(({ name }) => name)).toContain('tags_1')
  })

  it('saves, changes and finds documents with sub-documents, maps and timestamps', async () => {
    const manager = await Person.create({ email: 'm@example.org' })
    const person = await Person.create({
      email: 'p@example.org',
      keys: [{ name: 'a' }],
      manager: manager._id,
      extra: new Map([['k', 'v']]),
    })
    person.keys.push({ name: 'b' })
    person.set('keys.0.uses', 3)
    person.tags.push('x', 'y')
    await person.save()
    const found = await Person.findOne({ 'keys.name': 'b' })
      .populate<{ manager: { email: string } }>('manager')
      .orFail()
    expect(found.manager.email).toBe('m@example.org')
    expect(found.keys.map(({ name, uses }) => [name, uses])).toEqual([
      ['a', 3],
      ['b', 0],
    ])
    expect(found.extra?.get('k')).toBe('v')
    expect(found.createdAt).toBeInstanceOf(Date)
    expect(await Person.countDocuments({ tags: 'x' })).toBe(1)
    expect(await Person.exists({ email: 'nobody' })).toBeNull()
  })

  it('reports a duplicate with its key, and a lost race as a version error', async () => {
    await Person.createIndexes()
    await Person.create({ email: 'p@example.org' })
    await expect(Person.create({ email: 'p@example.org' })).rejects.toMatchObject({
      code: 11000,
      keyPattern: { email: 1 },
      keyValue: { email: 'p@example.org' },
      message: expect.stringContaining(
        'E11000 duplicate key error collection: odm.people index: email_1 dup key: { email: "p@example.org" }',
      ),
    })
    const [one, two] = await Promise.all([Person.findOne().orFail(), Person.findOne().orFail()])
    one.tags.push('first')
    two.tags.push('second')
    await one.save()
    await expect(two.save()).rejects.toThrow(mongoose.Error.VersionError)
  })

  it('updates conditionally, upserts, writes in bulk, pages through a cursor and aggregates', async () => {
    await Person.insertMany(
      Array.from({ length: 30 }, (_, i) => ({ email: `p${i}@example.org`, tags: [`t${i % 3}`] })),
    )
    const claimed = await Person.findOneAndUpdate(
      { email: 'p3@example.org' },
      { $addToSet: { tags: 'seen' } },
      { returnDocument: 'after' },
    )
    expect(claimed?.tags).toEqual(['t0', 'seen'])
    const upserted = await Person.updateOne(
      { email: 'new@example.org' },
      { $set: { tags: ['n'] } },
      { upsert: true },
    )
    expect(upserted.upsertedCount).toBe(1)
    const bulk = await Person.bulkWrite([
      { insertOne: { document: { email: 'b@example.org' } } },
      { updateMany: { filter: { tags: 't1' }, update: { $push: { tags: { $each: ['z'], $slice: -2 } } } } },
      { deleteOne: { filter: { email: 'p0@example.org' } } },
    ])
    expect(bulk).toMatchObject({ insertedCount: 1, modifiedCount: 10, deletedCount: 1 })
    let seen = 0
    for await (const person of Person.find({ tags: { $in: ['t1', 't2'] } })
      .sort({ email: -1 })
      .cursor({ batchSize: 7 })) {
      expect(person.email).toContain('@')
      seen += 1
    }
    expect(seen).toBe(20)
    const groups = await Person.aggregate([
      { $match: { tags: 'z' } },
      { $group: { _id: null, n: { $sum: 1 } } },
    ])
    expect(groups).toEqual([{ _id: null, n: 10 }])
  })

  it('is refused transactions', async () => {
    const session = await connection.startSession()
    const attempt = session.withTransaction(() => Person.create([{ email: 'x@example.org' }], { session }))
    await expect(attempt).rejects.toThrow(/retryWrites=false|Transaction numbers/)
    await session.endSession()
    expect(await Person.countDocuments()).toBe(0)
  })
})
