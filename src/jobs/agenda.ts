import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Db, MongoJobRepository } from '@agendajs/mongo-backend'
import { Agenda, type JobParameters, type JobRepositoryOptions } from 'agenda'
import { warnSeldom } from '../flow/delivery/warn-seldom.ts'
import type { Clock, Log } from '../flow/ports.ts'

/** The one kind of job. One kind costs one question to the store a round, however many sweeps there are. */
export const JOB = 'sweep'

/** How often a process asks for jobs; it looks as far ahead, so this is no delay for a job made earlier than that. */
export const ROUND_MS = 200

/** A job that was taken up and not finished for so long belongs to a process that died. */
export const LOCK_MS = 10_000

/** Agenda on the service's own connection. Its errors are logged, and never end the process. */
export function createAgenda(repository: JobRepository, log: Log): Agenda {
  const agenda = new Agenda({
    name: randomUUID(),
    backend: {
      name: 'MongoDB',
      repository,
      ownsConnection: false,
      // Sets fields only; the constructor calls it, and no code could handle a rejection there.
      connect: () => repository.connect(),
      disconnect: async () => undefined,
    },
    processEvery: ROUND_MS,
    maxConcurrency: 50,
    defaultConcurrency: 50,
    defaultLockLifetime: LOCK_MS,
  })
  const trouble = warnSeldom(log, 'the job scheduler met an error; it goes on')
  agenda.on('error', trouble.failed)
  return agenda
}

/** A question unanswered for so long counts as lost. */
const LOST_MS = 10_000

/**
 * Agenda's repository with three differences. Jobs are stored in the database's time, whatever the clocks of the processes
 * say (T75). A job found early is held back until it is due: Agenda's own timer may fire a millisecond too soon, and would
 * then sleep through a whole round. And no failure escapes as an unhandled rejection.
 */
export class JobRepository extends MongoJobRepository {
  readonly #clock: Clock
  #asking: { since: number; answered: Promise<unknown> } | undefined
  #held = false
  #closed = false

  constructor(db: Db, clock: Clock) {
    super({ mongo: db, db: { collection: 'jobs' }, ensureIndex: false })
    this.#clock = clock
  }

  /** Hands out no more jobs; resolves when none is running. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#asking?.answered
  }

  /**
   * One question at a time: while the store is slow, a new one every round would take all its connections. After a job that
   * was held back the next question gets no answer, since Agenda asks on until there is none before it runs anything.
   */
  override async getNextJobToRun(...question: Question): Promise<JobParameters | undefined> {
    const asked = this.#asking
    if (this.#closed || (asked !== undefined && Date.now() - asked.since < LOST_MS)) return undefined
    if (this.#held) {
      this.#held = false
      return undefined
    }
    const answer = this.#nextJob(question)
    const asking = { since: Date.now(), answered: answer.catch(() => undefined) }
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
    if (found === undefined) return undefined
    const job = moved(found, -ahead)
    this.#held = await until(job.nextRunAt?.getTime() ?? 0)
    if (!this.#closed) return job
    await this.unlockJob(found)
    return undefined
  }

  override async unlockJob(job: JobParameters): Promise<void> {
    // Agenda does not wait for this; what stays locked is taken up again when the lock is old.
    await super.unlockJob(job).catch(() => undefined)
  }

  override saveJobState(job: JobParameters, options: JobRepositoryOptions | undefined): Promise<void> {
    return super.saveJobState(moved(job, this.#ahead()), options)
  }

  override async saveJob<D>(
    job: JobParameters<D>,
    options: JobRepositoryOptions | undefined,
  ): Promise<JobParameters<D>> {
    const ahead = this.#ahead()
    return moved(await super.saveJob(moved(job, ahead), options), -ahead)
  }

  /** Milliseconds by which the database's clock is ahead of this process's. */
  #ahead(): number {
    return this.#clock.now().getTime() - Date.now()
  }
}

type Question = Parameters<MongoJobRepository['getNextJobToRun']>

const DATES = ['nextRunAt', 'lockedAt', 'lastRunAt', 'lastFinishedAt', 'failedAt'] as const

/** Longest wait for a job that was found ahead of its time. */
const PATIENCE_MS = 1_000

/** That many milliseconds later. */
function shifted(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms)
}

/** A copy of the job with all its times moved. */
function moved<D>(job: JobParameters<D>, ms: number): JobParameters<D> {
  const copy = { ...job }
  for (const field of DATES) {
    const time = copy[field]
    if (time !== undefined && time !== null) copy[field] = shifted(time, ms)
  }
  return copy
}

/** Resolves at that local time, never before; at once when it is past or far away. @returns whether that took a while */
async function until(time: number): Promise<boolean> {
  let waited = false
  for (let left = time - Date.now(); left > 0 && left < PATIENCE_MS; left = time - Date.now()) {
    waited = true
    await pause(left, undefined, { ref: false })
  }
  return waited
}
