import { randomBytes } from 'node:crypto'
import { expect, inject, it, onTestFinished } from 'vitest'
import { connectStore, ensureIndexes } from '../../src/store/connect.ts'
import { createVerificationLog } from '../../src/store/verifications.ts'
import { databaseUri } from '../support/service.ts'

/** A log on a database of its own, which somebody can make fail. */
async function useLog() {
  const database = `verifications_${randomBytes(6).toString('hex')}`
  const connection = await connectStore(databaseUri(inject('storeUri'), database))
  onTestFinished(async () => {
    await connection.db?.dropDatabase()
    await connection.close()
  })
  const silent = () => undefined
  const log = createVerificationLog(connection, { debug: silent, info: silent, warn: silent, error: silent })
  await ensureIndexes(connection)
  const collection = connection.collection('verifications')
  const written = async () =>
    (await collection.find({}).toArray()).map((entry) => String(entry.address)).sort()
  const record = (address: string) =>
    log.record({ request_id: 'req_x', address, at: new Date(), result: 'valid' })
  return { log, collection, written, record }
}

it('a batch that failed in the middle is written once altogether when it is tried again', async () => {
  const { log, collection, written, record } = await useLog()
  await collection.createIndex({ address: 1 }, { unique: true, name: 'in_the_way' })
  await collection.insertOne({ address: '192.0.2.2' })
  for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) record(address)
  const failed = expect(log.flush()).rejects.toThrow('E11000')
  record('192.0.2.4')
  await failed
  expect(await written()).toContain('192.0.2.1')
  await collection.dropIndex('in_the_way')
  await collection.deleteOne({ address: '192.0.2.2' })
  await log.flush()
  expect(await written()).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'])
  await log.flush()
  expect(await written()).toHaveLength(4)
})

it('records are written whole and each once, also over several batches', async () => {
  const { log, collection, record } = await useLog()
  const addresses = Array.from({ length: 1_203 }, (_, index) => `2001:db8::${index.toString(16)}`)
  for (const address of addresses) record(address)
  await log.flush()
  expect(await collection.countDocuments({})).toBe(1_203)
  expect((await collection.distinct('address')).length).toBe(1_203)
  expect(await collection.findOne({ address: '2001:db8::0' })).toMatchObject({
    request_id: 'req_x',
    at: expect.any(Date),
    result: 'valid',
  })
})
