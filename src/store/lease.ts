import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { mongo } from 'mongoose'
import type { Clock } from '../ports/ports.ts'
import { beyond } from './clock.ts'
import type { StoreConnection } from './mongo/connect.ts'
import { unlessTaken } from './mongo/failures.ts'

/** The collection of the leases. */
export const LEASES = 'schema'

/** The lease of the process that does some work, and what it notes of that. */
export interface LeaseDocument {
  _id: string
  version?: number
  /** The oldest version whose processes may use the store (`OLDEST_BESIDE`). Stores of version 10 have none. */
  oldest?: number
  holder?: string
  until?: Date | null
  /** Of an import: the checksum of the archive, and the step to go on with. */
  archive?: string
  step?: 'documents' | 'indexes'
}

const LEASE_MS = 30_000
const LOOK_EVERY_MS = 500

/** Work that must be done before any process may serve. */
interface Work {
  id: string
  isDone(): Promise<boolean>
  /** Called once, before this process waits for the one that works. */
  onWait(): void
  /** Its parts may be repeated: a process may die in it. @returns what to note at its end; `note` notes something before */
  work(note: (change: Note) => Promise<void>): Promise<Note>
}

type Note = mongo.UpdateFilter<LeaseDocument>

/** Lets one process do the work while the others wait for it. */
export async function doOnce(connection: StoreConnection, clock: Clock, work: Work): Promise<void> {
  if (await work.isDone()) return
  const lease = createLease(connection.collection<LeaseDocument>(LEASES), work.id, clock)
  for (let told = false; !(await lease.take()); told = true) {
    if (!told) work.onWait()
    await pause(LOOK_EVERY_MS)
    if (await work.isDone()) return
  }
  // The process that held it may have ended its work after this one looked.
  if (await work.isDone()) return lease.end({})
  const stop = lease.keep()
  try {
    await lease.end(await work.work(async (change) => void (await lease.note(change))))
  } catch (error) {
    await lease.end({}).catch(ignore)
    throw error
  } finally {
    stop()
  }
}

function ignore(): void {}

/** Makes a lease, which lapses when the process that holds it dies. */
export function createLease(leases: mongo.Collection<LeaseDocument>, id: string, clock: Clock) {
  const holder = randomUUID()
  const mine = { _id: id, holder }
  let until = new Date(0)
  const held = () => ({ holder, until: new Date(clock.now().getTime() + LEASE_MS) })
  const isTaken = async (write: (lease: ReturnType<typeof held>) => Promise<boolean>): Promise<boolean> => {
    const lease = held()
    const taken = await write(lease)
    until = taken ? lease.until : new Date(0)
    return taken
  }
  const change = async (filter: mongo.Filter<LeaseDocument>, update: Note): Promise<boolean> =>
    (await leases.updateOne(filter, update)).matchedCount === 1
  return {
    /** @param first noted with it if there was none. @param alone whoever held it before is dead */
    take: (first: Partial<LeaseDocument> = {}, alone = false): Promise<boolean> =>
      isTaken(async (lease) => {
        if (await unlessTaken(() => leases.insertOne({ ...first, _id: id, ...lease }))) return true
        const now = clock.now()
        const latest = beyond(new Date(now.getTime() + LEASE_MS))
        const free = { $or: [{ until: null }, { until: { $lte: now } }, { until: { $gt: latest } }] }
        return change({ _id: id, ...(alone ? {} : free) }, { $set: lease })
      }),
    /** Renews it until the returned function is called. */
    keep(): () => void {
      const renew = () => isTaken((lease) => change(mine, { $set: lease }))
      const timer = setInterval(() => void renew().catch(ignore), LEASE_MS / 3)
      return () => clearInterval(timer)
    },
    /** Whether no other process can have it, unless a clock was set. */
    isHeld: (): boolean => clock.now() < until,
    /** @returns whether it is still this process's. */
    note: (more: Note): Promise<boolean> => change(mine, more),
    async end(outcome: Note): Promise<void> {
      await change(mine, { ...outcome, $unset: { holder: 1, until: 1 } })
    },
    /** @returns whether it was still this process's. */
    remove: async (): Promise<boolean> => (await leases.deleteOne(mine)).deletedCount === 1,
  }
}
