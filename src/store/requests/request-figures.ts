import type { Figured } from '../../domain/overview.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import { type ListPosition, OLDEST_FIRST } from '../mongo/filters.ts'
import type { RequestDocument } from './request-schema.ts'

/** Documents that a read gets from the store at once: each is some hundred bytes. */
const BATCH = 1000

const READ = {
  ...{ status: 1, created_at: 1, expires_at: 1, cancelled: 1, api_key_id: 1, seen: 1, sandbox: 1 },
  ...{ 'decision.decided_at': 1, 'votes.user_id': 1, 'votes.approver': 1, 'votes.delegate': 1 },
  ...{ 'votes.decision': 1, 'votes.at': 1, 'votes.reason': 1 },
}

/** Reads what the figures of an account count, without the texts of its requests. */
export function createRequestFigures(connection: StoreConnection) {
  const collection = connection.collection<RequestDocument>('requests')
  return {
    /** Yields the live requests of the account that were made at that time or later, oldest first. */
    async *since(account_id: string, from: Date): AsyncGenerator<Figured, void, undefined> {
      const filter = { account_id, created_at: { $gte: from } }
      const found = collection.find(filter, { projection: READ, batchSize: BATCH }).sort(OLDEST_FIRST)
      for await (const document of found) if (!document.sandbox) yield figured(document)
    },
    /** Reads those of these requests that are still stored. */
    async byId(ids: readonly string[]): Promise<Figured[]> {
      const found = collection.find({ _id: { $in: [...ids] } }, { projection: READ, batchSize: BATCH })
      return (await found.toArray()).map(figured)
    },
    /** Returns the account's longest pending live request; a lapsed one may not be marked yet. */
    async oldestPending(account_id: string, now: Date): Promise<ListPosition | undefined> {
      const filter = { account_id, status: 'pending' as const, sandbox: false, expires_at: { $gt: now } }
      const projection = { created_at: 1 }
      const found = await collection.findOne(filter, { projection, sort: OLDEST_FIRST })
      return found === null ? undefined : { id: found._id, created_at: found.created_at }
    },
  }
}

function figured({ _id, sandbox: _, decision, ...rest }: RequestDocument): Figured {
  return { ...rest, id: _id, ...(decision === undefined ? {} : { decided_at: decision.decided_at }) }
}
