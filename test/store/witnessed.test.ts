import { randomBytes } from 'node:crypto'
import { expect, inject, it, onTestFinished } from 'vitest'
import { createWitnessedStore } from '../../src/store/audit/witnessed.ts'
import { connectStore } from '../../src/store/mongo/connect.ts'
import { databaseUri } from '../support/service.ts'

it('moves the state of a log only from the one that was read, and belongs to one key', async () => {
  const connection = await connectStore(
    databaseUri(inject('storeUri'), `witnessed_${randomBytes(6).toString('hex')}`),
  )
  onTestFinished(async () => {
    await connection.db?.dropDatabase()
    await connection.close()
  })
  const store = createWitnessedStore(connection)
  const at = (size: number) => ({ origin: 'a', size, note: `note ${size}` })
  expect(await store.isNew()).toBe(true)
  expect([await store.claim('first'), await store.claim('second')]).toEqual(['first', 'first'])
  expect([await store.move(undefined, at(3)), await store.move(undefined, at(4))]).toEqual([true, false])
  expect([await store.move(at(3), at(5)), await store.move(at(3), at(4))]).toEqual([true, false])
  expect([await store.keepFork('a', 'one'), await store.keepFork('a', 'other')]).toEqual([true, false])
  expect(await store.find('a')).toEqual(at(5))

  await connection.db?.collection('witness').drop()
  await connection.db?.createCollection('users')
  expect([await store.isNew(), await store.claim('first')]).toEqual([false, undefined])
})
