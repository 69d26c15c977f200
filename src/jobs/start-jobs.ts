import type { Db } from '@agendajs/mongo-backend'
import type { Job } from 'agenda'
import type { Wakeups } from '../flow/delivery-ports.ts'
import type { Clock, Log } from '../flow/ports.ts'
import { createAgenda, JOB, LOCK_MS } from './agenda.ts'
import { JobRepository } from './job-repository.ts'
import { runner, stayWhileDue } from './run-sweep.ts'
import { isSweepName, type Sweeps } from './sweep.ts'
import { createSweepJobs } from './sweep-jobs.ts'
import { createWakeups } from './wakeups.ts'
import { startWatchdog } from './watchdog.ts'

/** Everything timed. Agenda wakes, documents remember: losing any job, or all, costs time and never a duty. */
export interface Jobs {
  wakeups: Wakeups
  /** Runs these sweeps from now on, in this process or another one of the same database. */
  start(sweeps: Sweeps): Promise<void>
  /** Takes up no more jobs and resolves when those under way are done, or after some seconds. Wake-ups are still stored. */
  stop(): Promise<void>
  /** Resolves when every wake-up asked for is stored. */
  flush(): Promise<void>
}

/** How long jobs under way may take at shutdown. */
const DRAIN_MS = 5_000

/** @param db of the service's own connection */
export function createJobs(db: Db, deps: { clock: Clock; log: Log }): Jobs {
  const repository = new JobRepository(db, deps.clock)
  const agenda = createAgenda(repository, deps.log)
  const wakeups = createWakeups(agenda, deps.clock, deps.log)
  let stopWatchdog = async (): Promise<void> => undefined
  let stopping = false
  return {
    wakeups,
    flush: wakeups.flush,
    async start(sweeps) {
      const run = runner(sweeps, deps)
      agenda.define(JOB, async (job) => {
        const { sweep, once } = { sweep: undefined, once: false, ...Object(job.attrs.data) }
        if (!isSweepName(sweep)) return
        const wait = await stayWhileDue(
          () => run(sweep),
          deps.clock,
          () => stopping,
        )
        if (once === true) await removeJob(job)
        else job.schedule(new Date(Date.now() + wait))
      })
      await agenda.start()
      stopWatchdog = startWatchdog(createSweepJobs(repository, sweeps), run, deps)
    },
    async stop() {
      stopping = true
      await Promise.all([stopWatchdog(), repository.close()])
      await agenda.drain(DRAIN_MS)
    },
  }
}

/** Not left to Agenda, whose `drain` then waits for its whole time. What could not be removed runs, and goes, another time. */
async function removeJob(job: Job): Promise<void> {
  await job.remove().catch(() => job.schedule(new Date(Date.now() + LOCK_MS)))
}
