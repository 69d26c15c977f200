import { randomBytes } from 'node:crypto'
import { inject, onTestFinished } from 'vitest'
import type { AuditTrail } from '../../src/ports/ports.ts'
import { createAuditTrail } from '../../src/store/audit/audit-trail.ts'
import { connectStore, type StoreConnection } from '../../src/store/mongo/connect.ts'
import { makeIndexes } from '../../src/store/schema/indexes.ts'
import { databaseUri } from './service.ts'

/** An audit trail on a database of its own, as several processes see it. */
export interface TrailStore {
  /** One connection each: nothing is shared but the store. */
  trails: [AuditTrail, ...AuditTrail[]]
  connection: StoreConnection
  uri: string
}

/** Opens one for this test. */
export async function useTrailStore(processes = 1): Promise<TrailStore> {
  const database = `trail_${randomBytes(6).toString('hex')}`
  const uri = databaseUri(inject('storeUri'), database)
  const open = () => connectStore(uri)
  const connection = await open()
  const others = await Promise.all(Array.from({ length: processes - 1 }, open))
  onTestFinished(async () => {
    await connection.db?.dropDatabase()
    await Promise.all([connection, ...others].map((one) => one.close()))
  })
  const trails: TrailStore['trails'] = [
    createAuditTrail(connection),
    ...others.map((one) => createAuditTrail(one)),
  ]
  await makeIndexes(connection)
  return { trails, connection, uri }
}

export const random = { bytes: (length: number) => Uint8Array.from(randomBytes(length)) }
