import { setTimeout as pause } from 'node:timers/promises'
import type { Db } from '@agendajs/mongo-backend'
import type { Clock, Log } from '../flow/ports.ts'
import { createAgenda, JOB, JobRepository, LOCK_MS, ROUND_MS } from './agenda.ts'
import { isSweepName, nextRun, type SweepName, type Sweeps } from './sweeps.ts'
import { startWatchdog } from './watchdog.ts'

/** Everything timed. Agenda wakes, documents remember: losing any job, or all, costs time and never a duty. */
export interface Jobs {
  /** Runs these sweeps from now on, in this process or another one of the same database. */
  start(sweeps: Sweeps): Promise<void>
  /** Takes up no more jobs and resolves when those under way are done, or after some seconds. */
  stop(): Promise<void>
}

/** How long jobs under way may take at shutdown. */
const DRAIN_MS = 5_000

/** @param db of the service's own connection */
export function createJobs(db: Db, deps: { clock: Clock; log: Log }): Jobs {
  const repository = new JobRepository(db, deps.clock)
  const agenda = createAgenda(repository, deps.log)
  let stopWatchdog = async (): Promise<void> => undefined
  let stopping = false
  return {
    async start(sweeps) {
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
    async stop() {
      stopping = true
      await Promise.all([stopWatchdog(), repository.close()])
      await agenda.drain(DRAIN_MS)
    },
  }
}

/** A sweep that failed is tried again after this. */
const RETRY_MS = 2_000

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
      return nextRun(sweep, new Date(clock.now().getTime() + RETRY_MS), clock.now())
    }
  }
}
