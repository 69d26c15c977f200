import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Db, ObjectId } from '@agendajs/mongo-backend'
import { coalesce } from '../ports/coalesce.ts'
import type { Clock, Log } from '../ports/ports.ts'
import { createAgenda, JOB, JobRepository, LOCK_MS, ROUND_MS } from './agenda.ts'
import { isSweepName, nextRun, SWEEP_NAMES, type SweepName, type Sweeps } from './sweeps.ts'

/** All timed work. Agenda only wakes it, the documents hold what is due: losing any or all jobs costs time, never a duty. */
export type Jobs = ReturnType<typeof createJobs>

/** How long running jobs may take at shutdown. */
const DRAIN_MS = 5_000

/** @param db the database of the service's own connection */
export function createJobs(db: Db, deps: { clock: Clock; log: Log }) {
  const repository = new JobRepository(db, deps.clock, SWEEP_NAMES.map(idOf))
  const agenda = createAgenda(repository, deps.log)
  let stopWatchdog = async (): Promise<void> => undefined
  let stopping = false
  return {
    /** Runs these sweeps from now on, in this process or another one of the same database. */
    async start(sweeps: Sweeps): Promise<void> {
      const run = runner(sweeps, deps)
      agenda.define(JOB, async function runSweep(job) {
        const { sweep } = { sweep: undefined, ...Object(job.attrs.data) }
        if (!isSweepName(sweep)) return
        const wait = await stayWhileDue(
          () => run(sweep),
          deps.clock,
          () => stopping,
        )
        job.schedule(new Date(Date.now() + wait))
      })
      await agenda.start()
      stopWatchdog = startWatchdog(repository, sweeps, run, deps)
    },
    /** Takes up no more jobs and resolves when the running jobs are done, or after `DRAIN_MS`. */
    async stop(): Promise<void> {
      stopping = true
      await Promise.all([stopWatchdog(), repository.close()])
      await agenda.drain(DRAIN_MS)
    },
  }
}

/** Delay before a failed sweep runs again; a sweep that seldom runs is tried again within a minute. */
const RETRY_MS = 2_000
const SELDOM_RETRY_MS = 60_000

/** How long a job may keep running its sweep: its lock must not grow old. */
const STAY_MS = LOCK_MS / 2

/**
 * For a while, repeats a sweep that is due again before Agenda would look, so that a burst of small tasks costs no jobs.
 * @returns milliseconds until the next run
 */
async function stayWhileDue(
  run: () => Promise<Date>,
  clock: Clock,
  stopping: () => boolean,
): Promise<number> {
  const end = performance.now() + STAY_MS
  for (;;) {
    const wait = (await run()).getTime() - clock.now().getTime()
    if (wait > ROUND_MS || stopping() || performance.now() > end) return wait
    await pause(wait)
  }
}

/** Runs a sweep; never throws. @returns when to run it again */
function runner(sweeps: Sweeps, { clock, log }: { clock: Clock; log: Log }) {
  return async (name: SweepName): Promise<Date> => {
    const sweep = sweeps[name]
    try {
      return nextRun(sweep, await sweep.run(), clock.now())
    } catch (error) {
      log.warn({ error, sweep: name }, 'a sweep failed; it will run again')
      const least = Math.min(sweep.between.least, SELDOM_RETRY_MS)
      return new Date(clock.now().getTime() + Math.max(RETRY_MS, least))
    }
  }
}

/** How often the watchdog of a process looks at the jobs. */
const LOOK_EVERY_MS = 5_000

/** How late the job of a sweep may be before a watchdog runs the sweep. */
const LATE_MS = 3_000

/** The most by which the clocks of two processes may differ. */
const SKEW_MS = 5_000

type JobDocuments = JobRepository['collection']

/**
 * Watches the jobs from outside Agenda: runs a sweep whose job is lost, stuck or unreadable, and makes its job again. So losing
 * the whole collection, or Agenda, costs seconds and no duty.
 * @returns a function that stops the watchdog and resolves when it rests
 */
function startWatchdog(
  repository: Pick<JobRepository, 'collection' | 'look'>,
  sweeps: Sweeps,
  run: (name: SweepName) => Promise<Date>,
  { clock, log }: { clock: Clock; log: Log },
): () => Promise<void> {
  const look = coalesce(async () => {
    const neglected = await findNeglected(repository, sweeps, clock).catch(() => SWEEP_NAMES)
    const revived = await Promise.allSettled(
      neglected.map(async (name) => putJob(repository.collection, name, await run(name), clock)),
    )
    const failed = revived.find((result) => result.status === 'rejected')
    if (failed !== undefined) log.warn({ error: failed.reason }, 'storing jobs failed; sweeps run late')
    if (revived.length > 0) await repository.look().catch(() => undefined)
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

/** Finds the sweeps that nothing will wake: their job is missing, or late. */
async function findNeglected(
  repository: Pick<JobRepository, 'look'>,
  sweeps: Sweeps,
  clock: Clock,
): Promise<SweepName[]> {
  const now = clock.now()
  const jobs = await repository.look()
  const byId = new Map(jobs.map((job) => [job._id?.toHexString(), job]))
  return SWEEP_NAMES.filter((name) => {
    const job = byId.get(idOf(name).toHexString())
    const locked = isWithin(job?.lockedAt, now, -LOCK_MS, SKEW_MS)
    // A time further ahead than the sweep ever waits was written by a clock that was wrong once.
    return !locked && !isWithin(job?.nextRunAt, now, -LATE_MS, sweeps[name].between.most + SKEW_MS)
  })
}

/**
 * Makes the one standing job of the sweep, or frees its lock, due at that time. A process that has meanwhile taken the job keeps
 * it, because Agenda gives up a job whose lock is gone.
 */
async function putJob(
  collection: JobDocuments,
  name: SweepName,
  at: Date,
  clock: Pick<Clock, 'now'>,
): Promise<void> {
  const _id = idOf(name)
  const free = { nextRunAt: at, lockedAt: null }
  const made = { name: JOB, type: 'normal' as const, priority: 0, data: { sweep: name }, ...free }
  // A lost collection has also lost its index. Made before the job, since Agenda queries as soon as there is one.
  await collection.createIndex({ name: 1, nextRunAt: 1, priority: -1 }, { name: 'next_job' })
  const now = clock.now().getTime()
  const held = { $gt: new Date(now - LOCK_MS), $lte: new Date(now + SKEW_MS) }
  const freed = await collection.updateOne({ _id, lockedAt: { $not: held } }, { $set: free })
  if (freed.matchedCount === 0) await collection.updateOne({ _id }, { $setOnInsert: made }, { upsert: true })
}

/** Derives a job's id from its sweep's name, so that two processes cannot make the same job twice, as Agenda's `every` can. */
function idOf(name: SweepName): ObjectId {
  return new ObjectId(createHash('sha256').update(`${JOB} ${name}`).digest().subarray(0, 12))
}

/** Checks whether a time lies between two distances from now, in milliseconds. */
function isWithin(time: Date | null | undefined, now: Date, from: number, to: number): boolean {
  if (time === null || time === undefined) return false
  const distance = time.getTime() - now.getTime()
  return distance > from && distance <= to
}
