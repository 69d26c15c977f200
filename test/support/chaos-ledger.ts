import { type Db, MongoClient } from 'mongodb'
import { onTestFinished, vi } from 'vitest'
import type { AuditRecord } from '../../src/domain/audit.ts'
import type { ApprovalRequest } from '../../src/domain/request.ts'
import type { Delivery } from '../../src/domain/webhook.ts'
import { type RecordDocument, toRecord } from '../../src/store/audit/audit-trail.ts'
import { type RequestDocument, requestOf } from '../../src/store/requests/request-schema.ts'
import { patienceFor } from './patience.ts'

type Stored<T> = Omit<T, 'id'> & { _id: string }

/** Everything that a store holds about decisions and their delivery. */
export interface Ledger {
  requests: Stored<ApprovalRequest>[]
  deliveries: Stored<Delivery>[]
  trail: AuditRecord[]
  keys: { _id: string; revoked_at: Date | null }[]
  webhooks: { _id: string; state: string }[]
  sessions: { _id: string; ended_at: Date | null }[]
  users: { _id: string }[]
  signingKeys: { _id: string }[]
}

/** A database past all services, until the test ends. */
export async function useDatabase(uri: string): Promise<Db> {
  const client = new MongoClient(uri)
  onTestFinished(() => client.close())
  await client.connect()
  return client.db()
}

/** Reads it all. */
export async function readLedger(db: Db): Promise<Ledger> {
  const all = <T extends object>(name: string) => db.collection(name).find<T>({}).toArray()
  const records = db.collection<RecordDocument>('audit_log').find({}).sort({ _id: 1 })
  const trail = (await records.toArray()).map(toRecord)
  const requests = await all<RequestDocument>('requests')
  return {
    requests: requests.map((document) => ({ ...requestOf(document), _id: document._id })),
    deliveries: await all('deliveries'),
    trail,
    keys: await all('api_keys'),
    webhooks: await all('webhooks'),
    sessions: await all('sessions'),
    users: await all('users'),
    signingKeys: await all('signing_keys'),
  }
}

/**
 * What is still to be done: deliveries that are due or under way, outbox entries that are not carried on yet. Deliveries are
 * counted first: from then on only an outbox entry can make one, and one carried on between two counts made the trail longer.
 */
async function openDuties(db: Db): Promise<string[]> {
  const open: string[] = []
  const records = await trailLength(db)
  const deliveries = await db.collection('deliveries').countDocuments({ state: { $in: ['due', 'leased'] } })
  if (deliveries > 0) open.push(`${deliveries} deliveries`)
  for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
    const entries = await db.collection(name).countDocuments({ outbox_token: { $gt: '' } })
    if (entries > 0) open.push(`${entries} outbox entries in ${name}`)
  }
  if ((await trailLength(db)) !== records) open.push('a trail that grows')
  return open
}

const trailLength = (db: Db): Promise<number> => db.collection('audit_log').countDocuments({})

/**
 * Resolves when nothing is left to do. The last retry, which comes five minutes after the one before, is brought forward: on a slow
 * machine a receiver's answers may come too late four times. Retries after 30 s and leases of 30 s that dead processes left are
 * waited for. @throws naming what is left
 */
export async function untilSettled(db: Db): Promise<void> {
  const ms = patienceFor(90_000)
  const deliveries = db.collection('deliveries')
  await vi.waitFor(
    async () => {
      const inMinutes = { state: 'due', next_at: { $gt: new Date(Date.now() + 60_000) } }
      await deliveries.updateMany(inMinutes, { $set: { next_at: new Date() } })
      const open = await openDuties(db)
      if (open.length > 0) throw new Error(`not done after ${ms} ms: ${open.join(', ')}`)
    },
    { timeout: ms, interval: 200 },
  )
}
