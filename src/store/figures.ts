import { OPEN_STATES } from './delivery/queue.ts'
import type { StoreConnection } from './mongo/connect.ts'

/** Counts end here, so that none costs a scrape more than some milliseconds: of an index, and of what must be read for it. */
const MOST_ENTRIES = 10_000
const MOST_READ = 1_000

/** Pending requests that are looked through for the oldest: those that expire first. */
const LOOKED_THROUGH = 100

/** The collections whose documents wait to be sent. */
type Queue = 'deliveries' | 'pushes' | 'cards'

/** Bytes that the store takes on its disk, and bytes free there. */
export interface StoreSize {
  bytes: number
  free: number
}

export type Figures = ReturnType<typeof createFigures>

/** Reads what the metrics tell of the store's contents: bounded reads, most from an index alone. */
export function createFigures(connection: StoreConnection) {
  const requests = connection.collection<{ sandbox: boolean; created_at: Date }>('requests')
  const command = async (asked: object): Promise<Record<string, unknown>> => ({
    ...(await connection.db?.command({ ...asked })),
  })
  /** Past `countDocuments`, which has no limit on the embedded store. */
  const count = async (collection: string, query: object, limit = MOST_ENTRIES): Promise<number> =>
    Number((await command({ count: collection, query, limit })).n)
  return {
    /** Counts the pending requests that expire after `now`, dry runs among them. */
    pending: (now: Date) => count('requests', pendingAt(now)),
    /** Returns when the oldest of the pending live requests was made, of those that expire first. */
    async oldestPending(now: Date): Promise<Date | undefined> {
      const projection = { _id: 0, sandbox: 1, created_at: 1 }
      const options = { projection, limit: LOOKED_THROUGH, batchSize: LOOKED_THROUGH + 1 }
      const found = await requests.find(pendingAt(now), options).sort({ expires_at: 1 }).toArray()
      const times = found.filter(({ sandbox }) => !sandbox).map(({ created_at }) => created_at.getTime())
      return times.length === 0 ? undefined : new Date(Math.min(...times))
    },
    /** Counts what is not sent yet, also what waits for its next try. */
    unsent: (queue: Queue) =>
      count(queue, { state: { $in: OPEN_STATES }, next_at: { $gte: new Date(0) } }, MOST_READ),
    /** Counts the callbacks and webhook events that were given up and not sent again. */
    deadLetters: () => count('deliveries', { state: 'dead' }),
    /** Returns the size of a MongoDB's database and the room on its disk; the embedded store does not know its own. */
    async size(): Promise<StoreSize> {
      const { storageSize, indexSize, fsTotalSize, fsUsedSize } = await command({ dbStats: 1 })
      return {
        bytes: Number(storageSize) + Number(indexSize),
        free: Number(fsTotalSize) - Number(fsUsedSize),
      }
    },
  }
}

function pendingAt(now: Date) {
  return { status: 'pending', expires_at: { $gt: now } }
}
