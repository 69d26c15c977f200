import { type Db, MongoJobRepository } from '@agendajs/mongo-backend'
import type { JobParameters, JobRepositoryOptions } from 'agenda'
import type { Clock } from '../flow/ports.ts'
import { moved, shifted, until } from './job-time.ts'

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

  /** Hands out no more jobs; resolves when none is on its way. */
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
