import { randomBytes } from 'node:crypto'
import { expect, inject, it, onTestFinished } from 'vitest'
import { connectStore, ensureIndexes, type StoreConnection } from '../../src/store/connect.ts'
import { createSessionStore } from '../../src/store/sessions.ts'
import { databaseUri } from '../support/service.ts'

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

it('drops the TTL index that the first versions made on sessions, and leaves the others', async () => {
  const connection = await useStore()
  const sessions = connection.collection('sessions')
  await sessions.createIndex({ expires_at: 1 }, { expireAfterSeconds: 0 })
  await sessions.createIndex({ user_id: 1 })
  expect(await namesOf(connection)).toEqual(['_id_', 'expires_at_1', 'user_id_1'])
  await Promise.all([ensureIndexes(connection), ensureIndexes(connection)])
  const names = await namesOf(connection)
  expect(names).not.toContain('expires_at_1')
  expect(names).toContain('user_id_1')
  expect(names).toContain('ended_at_1_expires_at_1')
})

it('makes the indexes of a new database, as often as it is asked to', async () => {
  const connection = await useStore()
  await ensureIndexes(connection)
  const names = await namesOf(connection)
  await ensureIndexes(connection)
  expect(await namesOf(connection)).toEqual(names)
  expect(names).toContain('token_hash_1')
})
