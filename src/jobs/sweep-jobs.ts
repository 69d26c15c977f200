import { createHash } from 'node:crypto'
import { ObjectId } from '@agendajs/mongo-backend'
import { JOB, LOCK_MS } from './agenda.ts'
import type { JobRepository } from './job-repository.ts'
import { SWEEP_NAMES, type Sweep, type SweepName } from './sweep.ts'

/** A sweep's job may be late by so much before somebody else takes care of it. */
const LATE_MS = 3_000

/** What two processes' clocks may differ by. */
const SKEW_MS = 5_000

/** The one standing job of each sweep. */
export interface SweepJobs {
  /** The sweeps that nothing will wake: their job is missing, or late. */
  neglected(now: Date): Promise<SweepName[]>
  /** Makes the sweep's job, or sets it free, due at that time. */
  put(name: SweepName, at: Date): Promise<void>
}

/** Its id follows from its name, so that no two processes can make two of one: Agenda's own `every` can. */
export function createSweepJobs(
  { collection }: Pick<JobRepository, 'collection'>,
  sweeps: Readonly<Record<SweepName, Pick<Sweep, 'between'>>>,
): SweepJobs {
  return {
    async neglected(now) {
      const jobs = await collection.find({ _id: { $in: SWEEP_NAMES.map(idOf) } }).toArray()
      const byId = new Map(jobs.map((job) => [job._id?.toHexString(), job]))
      return SWEEP_NAMES.filter((name) => {
        const job = byId.get(idOf(name).toHexString())
        const locked = isWithin(job?.lockedAt, now, -LOCK_MS, SKEW_MS)
        // A time further ahead than the sweep ever waits was written by a clock that was wrong once.
        return !locked && !isWithin(job?.nextRunAt, now, -LATE_MS, sweeps[name].between.most + SKEW_MS)
      })
    },
    async put(name, at) {
      const fixed = { name: JOB, type: 'normal' as const, priority: 0, data: { sweep: name } }
      const update = { $set: { nextRunAt: at, lockedAt: null }, $setOnInsert: fixed }
      await collection.updateOne({ _id: idOf(name) }, update, { upsert: true })
      // Gone with the collection, if that is what happened.
      await collection.createIndex({ name: 1, nextRunAt: 1, priority: -1 }, { name: 'next_job' })
    },
  }
}

function idOf(name: SweepName): ObjectId {
  return new ObjectId(createHash('sha256').update(`${JOB} ${name}`).digest().subarray(0, 12))
}

/** Between these distances from now, in milliseconds? */
function isWithin(time: Date | null | undefined, now: Date, from: number, to: number): boolean {
  if (time === null || time === undefined) return false
  const distance = time.getTime() - now.getTime()
  return distance > from && distance <= to
}
