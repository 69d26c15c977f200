import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Db, MongoJobRepository, type ObjectId } from '@agendajs/mongo-backend'
import { Agenda, type JobParameters, type JobRepositoryOptions } from 'agenda'
import type { Clock, Log } from '../ports/ports.ts'
import { warnSeldom } from '../ports/warn-seldom.ts'

/** The only kind of job: each kind costs one query of the store per round, so all sweeps share one. */
export const JOB = 'sweep'

/** How often a process asks for jobs. It looks as far ahead, so a job made earlier than that is not delayed. */
export const ROUND_MS = 200

/** Age of a lock after which the process that took the job up, and did not finish it, counts as dead. */
export const LOCK_MS = 10_000

/** Makes an Agenda on the service's own connection. Its errors are logged, and never end the process. */
export function createAgenda(repository: JobRepository, log: Log): Agenda {
  const agenda = new Agenda({
    name: randomUUID(),
    backend: {
      name: 'MongoDB',
      repository,
      ownsConnection: false,
      // `connect` only sets fields: Agenda's constructor calls it, where nothing could handle a rejection.
      connect: () => repository.connect(),
      disconnect: async () => undefined,
    },
    processEvery: ROUND_MS,
    maxConcurrency: 50,
    defaultConcurrency: 50,
    defaultLockLifetime: LOCK_MS,
  })
  const trouble = warnSeldom(log, 'the job scheduler reported an error; it continues')
  agenda.on('error', trouble.failed)
  return agenda
}

/** Time after which a query without an answer counts as lost. */
const LOST_MS = 10_000

/** Delay before a job taken by another process is looked at again: it may be free and due long before its lock expires. */
const TAKEN_MS = 2_000

/**
 * Agenda's repository with four differences. Jobs are stored in the database's time, whatever the clocks of the processes
 * say (T75). The store is asked for a job only when one may be due: this process knows the times of all jobs from its last look,
 * and its own changes since. A job found early is held back until it is due: Agenda's own timer may fire a millisecond too soon,
 * and would then sleep through a whole round. And no failure escapes as an unhandled rejection.
 */
export class JobRepository extends MongoJobRepository {
  readonly #clock: Clock
  readonly #ids: ObjectId[]
  /** The time from which each job (by id) may be taken, in the database's time; undefined before the first look. */
  #due: Map<string, number> | undefined
  /** The number of changes that this process made to `#due`. */
  #changes = 0
  #asking: { since: number; answered: Promise<unknown> } | undefined
  #held = false
  #closed = false

  /** @param ids the ids of all jobs */
  constructor(db: Db, clock: Clock, ids: readonly ObjectId[]) {
    super({ mongo: db, db: { collection: 'jobs' }, ensureIndex: false })
    this.#clock = clock
    this.#ids = [...ids]
  }

  /** Hands out no more jobs; resolves when none is running. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#asking?.answered
  }

  /** Reads all jobs from the store, and notes when the next may be due. */
  async look() {
    const before = this.#changes
    const jobs = await this.collection.find({ _id: { $in: this.#ids } }).toArray()
    const now = this.#clock.now().getTime()
    const seen = new Map(jobs.map((job) => [String(job._id), takenFrom(job, now)]))
    // The look may have missed changes made here meanwhile. The earlier time counts: asking too early costs only one query.
    const earlier = before === this.#changes ? undefined : this.#due
    for (const [id, time] of earlier ?? []) seen.set(id, Math.min(time, seen.get(id) ?? time))
    this.#due = seen
    return jobs
  }

  /**
   * Asks the store one query at a time: while the store is slow, a new one every round would take all its connections. After a
   * held-back job the next call returns none, since Agenda runs nothing before it has asked until there is no further job.
   */
  override async getNextJobToRun(...question: Question): Promise<JobParameters | undefined> {
    const asked = this.#asking
    if (this.#closed || (asked !== undefined && this.#clock.steady() - asked.since < LOST_MS))
      return undefined
    if (this.#held) {
      this.#held = false
      return undefined
    }
    if (!this.#mayBeDue(question[1])) return undefined
    const answer = this.#nextJob(question)
    const asking = { since: this.#clock.steady(), answered: answer.catch(() => undefined) }
    this.#asking = asking
    try {
      return await answer
    } finally {
      if (this.#asking === asking) this.#asking = undefined
    }
  }

  async #nextJob([name, ...rest]: Question): Promise<JobParameters | undefined> {
    const [nextScanAt, lockDeadline, now = new Date(), options] = rest
    const ahead = this.#ahead()
    const times = [shifted(nextScanAt, ahead), shifted(lockDeadline, ahead), shifted(now, ahead)] as const
    const found = await super.getNextJobToRun(name, ...times, options)
    if (found === undefined) {
      await this.look()
      return undefined
    }
    this.#note(found, now.getTime() + ahead + LOCK_MS)
    const job = moved(found, -ahead)
    this.#held = await until(job.nextRunAt?.getTime() ?? 0)
    if (!this.#closed) return job
    await this.unlockJob(found)
    return undefined
  }

  #mayBeDue(nextScanAt: Date): boolean {
    const until = nextScanAt.getTime() + this.#ahead()
    return this.#due === undefined || [...this.#due.values()].some((time) => time <= until)
  }

  #note({ _id }: JobParameters, takenFrom: number): void {
    this.#due?.set(String(_id), takenFrom)
    this.#changes += 1
  }

  override async unlockJob(job: JobParameters): Promise<void> {
    // Agenda does not wait for this; a job that stays locked is taken up again when its lock is old.
    await super.unlockJob(job).catch(() => undefined)
    this.#note(job, Number.NEGATIVE_INFINITY)
  }

  /** Skips saving the start of a job: its lock says as much, and a process that takes the job over goes by the lock. */
  override async saveJobState(job: JobParameters, options: JobRepositoryOptions | undefined): Promise<void> {
    if (job.lockedAt !== undefined && job.lockedAt !== null) return
    const saved = moved(job, this.#ahead())
    await super.saveJobState(saved, options)
    this.#note(saved, saved.nextRunAt?.getTime() ?? Number.POSITIVE_INFINITY)
  }

  /** Milliseconds by which the database's clock is ahead of this process's. */
  #ahead(): number {
    return this.#clock.now().getTime() - Date.now()
  }
}

/** Returns the time from which this job may be taken; soon if another process holds its lock, which it may free at any time. */
function takenFrom(job: { [field in 'disabled' | 'lockedAt' | 'nextRunAt']?: unknown }, now: number): number {
  if (job.disabled === true) return Number.POSITIVE_INFINITY
  if (job.lockedAt instanceof Date) return Math.min(job.lockedAt.getTime() + LOCK_MS, now + TAKEN_MS)
  return job.nextRunAt instanceof Date ? job.nextRunAt.getTime() : Number.POSITIVE_INFINITY
}

type Question = Parameters<MongoJobRepository['getNextJobToRun']>

const DATES = ['nextRunAt', 'lockedAt', 'lastRunAt', 'lastFinishedAt', 'failedAt'] as const

/** The longest wait, in milliseconds, for a job that was found before it is due. */
const PATIENCE_MS = 1_000

/** Returns the time that many milliseconds later. */
function shifted(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms)
}

/** Returns a copy of the job with all its times moved. */
function moved<D>(job: JobParameters<D>, ms: number): JobParameters<D> {
  const copy = { ...job }
  for (const field of DATES) {
    const time = copy[field]
    if (time !== undefined && time !== null) copy[field] = shifted(time, ms)
  }
  return copy
}

/** Waits until a local time, never less; not at all when it is past or far away. @returns whether it waited */
async function until(time: number): Promise<boolean> {
  let waited = false
  for (let left = time - Date.now(); left > 0 && left < PATIENCE_MS; left = time - Date.now()) {
    waited = true
    await pause(left, undefined, { ref: false })
  }
  return waited
}
