import { createHash } from 'node:crypto'
import { ObjectId } from '@agendajs/mongo-backend'
import { coalesce } from '../flow/delivery/coalesce.ts'
import type { Clock, Log } from '../flow/ports.ts'
import { JOB, type JobRepository, LOCK_MS } from './agenda.ts'
import { SWEEP_NAMES, type SweepName, type Sweeps } from './sweeps.ts'

/** How often a process looks after the jobs. */
const LOOK_EVERY_MS = 5_000

/** A sweep's job may be late by so much before another process takes care of it. */
const LATE_MS = 3_000

/** What two processes' clocks may differ by. */
const SKEW_MS = 5_000

type Jobs = JobRepository['collection']

/**
 * Looks after the jobs from outside of Agenda: a sweep whose job is lost, stuck or cannot even be read is run here, and its
 * job is made again. So losing the whole collection, or Agenda, costs seconds and no duty.
 * @returns a function that stops it and resolves when it rests
 */
export function startWatchdog(
  { collection }: Pick<JobRepository, 'collection'>,
  sweeps: Sweeps,
  run: (name: SweepName) => Promise<Date>,
  { clock, log }: { clock: Clock; log: Log },
): () => Promise<void> {
  const look = coalesce(async () => {
    const neglected = await findNeglected(collection, sweeps, clock.now()).catch(() => SWEEP_NAMES)
    const revived = await Promise.allSettled(
      neglected.map(async (name) => putJob(collection, name, await run(name))),
    )
    const failed = revived.find((result) => result.status === 'rejected')
    if (failed !== undefined) log.warn({ error: failed.reason }, 'jobs could not be stored; sweeps run late')
  })
  let looking = look()
  const timer = setInterval(() => {
    looking = look()
  }, LOOK_EVERY_MS).unref()
  return async () => {
    clearInterval(timer)
    await looking
  }
}

/** The sweeps that nothing will wake: their job is missing, or late. */
async function findNeglected(collection: Jobs, sweeps: Sweeps, now: Date): Promise<SweepName[]> {
  const jobs = await collection.find({ _id: { $in: SWEEP_NAMES.map(idOf) } }).toArray()
  const byId = new Map(jobs.map((job) => [job._id?.toHexString(), job]))
  return SWEEP_NAMES.filter((name) => {
    const job = byId.get(idOf(name).toHexString())
    const locked = isWithin(job?.lockedAt, now, -LOCK_MS, SKEW_MS)
    // A time further ahead than the sweep ever waits was written by a clock that was wrong once.
    return !locked && !isWithin(job?.nextRunAt, now, -LATE_MS, sweeps[name].between.most + SKEW_MS)
  })
}

/** Makes the one standing job of the sweep, or sets it free, due at that time. */
async function putJob(collection: Jobs, name: SweepName, at: Date): Promise<void> {
  const fixed = { name: JOB, type: 'normal' as const, priority: 0, data: { sweep: name } }
  const update = { $set: { nextRunAt: at, lockedAt: null }, $setOnInsert: fixed }
  await collection.updateOne({ _id: idOf(name) }, update, { upsert: true })
  // Gone with the collection, if that is what happened.
  await collection.createIndex({ name: 1, nextRunAt: 1, priority: -1 }, { name: 'next_job' })
}

/** A job's id follows from its sweep's name, so that no two processes can make two of one: Agenda's own `every` can. */
function idOf(name: SweepName): ObjectId {
  return new ObjectId(createHash('sha256').update(`${JOB} ${name}`).digest().subarray(0, 12))
}

/** Between these distances from now, in milliseconds? */
function isWithin(time: Date | null | undefined, now: Date, from: number, to: number): boolean {
  if (time === null || time === undefined) return false
  const distance = time.getTime() - now.getTime()
  return distance > from && distance <= to
}
