import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Db, ObjectId } from '@agendajs/mongo-backend'
import { coalesce } from '../flow/delivery/coalesce.ts'
import type { Clock, Log } from '../flow/ports.ts'
import { createAgenda, JOB, JobRepository, LOCK_MS, ROUND_MS } from './agenda.ts'
import { isSweepName, nextRun, SWEEP_NAMES, type SweepName, type Sweeps } from './sweeps.ts'

/** Everything timed. Agenda wakes, documents remember: losing any job, or all, costs time and never a duty. */
export type Jobs = ReturnType<typeof createJobs>

/** How long jobs under way may take at shutdown. */
const DRAIN_MS = 5_000

/** @param db of the service's own connection */
export function createJobs(db: Db, deps: { clock: Clock; log: Log }) {
  const repository = new JobRepository(db, deps.clock, SWEEP_NAMES.map(idOf))
  const agenda = createAgenda(repository, deps.log)
  let stopWatchdog = async (): Promise<void> => undefined
  let stopping = false
  return {
    /** Runs these sweeps from now on, in this process or another one of the same database. */
    async start(sweeps: Sweeps): Promise<void> {
      const run = runner(sweeps, deps)
      agenda.define(JOB, async (job) => {
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
    /** Takes up no more jobs and resolves when those under way are done, or after some seconds. */
    async stop(): Promise<void> {
      stopping = true
      await Promise.all([stopWatchdog(), repository.close()])
      await agenda.drain(DRAIN_MS)
    },
  }
}

/** A sweep that failed is tried again after this, and one that seldom runs within a minute. */
const RETRY_MS = 2_000
const SELDOM_RETRY_MS = 60_000

/** How long a job may go on by itself: its lock must not grow old. */
const STAY_MS = LOCK_MS / 2

/**
 * Runs again by itself what is due sooner than Agenda would look, for a while: a burst of small things costs no jobs.
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
      log.warn({ error, sweep: name }, 'a sweep failed; it runs again')
      const least = Math.min(sweep.between.least, SELDOM_RETRY_MS)
      return new Date(clock.now().getTime() + Math.max(RETRY_MS, least))
    }
  }
}

/** How often a process looks after the jobs. */
const LOOK_EVERY_MS = 5_000

/** A sweep's job may be late by so much before another process takes care of it. */
const LATE_MS = 3_000

/** What two processes' clocks may differ by. */
const SKEW_MS = 5_000

type JobDocuments = JobRepository['collection']

/**
 * Looks after the jobs from outside of Agenda: a sweep whose job is lost, stuck or cannot even be read is run here, and its
 * job is made again. So losing the whole collection, or Agenda, costs seconds and no duty.
 * @returns a function that stops it and resolves when it rests
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
    if (failed !== undefined) log.warn({ error: failed.reason }, 'jobs could not be stored; sweeps run late')
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

/** The sweeps that nothing will wake: their job is missing, or late. */
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
 * Makes the one standing job of the sweep, or sets it free, due at that time. A process that has taken it meanwhile keeps it:
 * Agenda gives up a job whose lock is gone.
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
  // Gone with the collection, if that is what happened. Before the job: Agenda asks as soon as there is one.
  await collection.createIndex({ name: 1, nextRunAt: 1, priority: -1 }, { name: 'next_job' })
  const now = clock.now().getTime()
  const held = { $gt: new Date(now - LOCK_MS), $lte: new Date(now + SKEW_MS) }
  const freed = await collection.updateOne({ _id, lockedAt: { $not: held } }, { $set: free })
  if (freed.matchedCount === 0) await collection.updateOne({ _id }, { $setOnInsert: made }, { upsert: true })
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
