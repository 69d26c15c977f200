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
  const renewal = setInterval(() => void lease.renew().catch(ignore), LEASE_MS / 3)
  try {
    await lease.end(await work.work(lease.note))
  } catch (error) {
    await lease.end({}).catch(ignore)
    throw error
  } finally {
    clearInterval(renewal)
  }
}

function ignore(): void {}

/** It lapses when the process that holds it dies. */
function createLease(leases: mongo.Collection<LeaseDocument>, id: string, clock: Clock) {
  const holder = randomUUID()
  const held = () => ({ holder, until: new Date(clock.now().getTime() + LEASE_MS) })
  return {
    async take(): Promise<boolean> {
      if (await unlessTaken(() => leases.insertOne({ _id: id, ...held() }))) return true
      const now = clock.now()
      const latest = beyond(new Date(now.getTime() + LEASE_MS))
      const free = { _id: id, $or: [{ until: null }, { until: { $lte: now } }, { until: { $gt: latest } }] }
      return (await leases.updateOne(free, { $set: held() })).matchedCount === 1
    },
    async renew(): Promise<void> {
      await leases.updateOne({ _id: id, holder }, { $set: held() })
    },
    async note(change: Note): Promise<void> {
      await leases.updateOne({ _id: id, holder }, change)
    },
    async end(outcome: Note): Promise<void> {
      await leases.updateOne({ _id: id, holder }, { ...outcome, $unset: { holder: 1, until: 1 } })
    },
  }
}
