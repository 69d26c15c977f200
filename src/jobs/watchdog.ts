import { coalesce } from '../flow/delivery/coalesce.ts'
import type { Clock, Log } from '../flow/ports.ts'
import { SWEEP_NAMES, type SweepName } from './sweep.ts'
import type { SweepJobs } from './sweep-jobs.ts'

/** How often a process looks after the jobs. */
const LOOK_EVERY_MS = 5_000

/**
 * Looks after the jobs from outside of Agenda: a sweep whose job is lost, stuck or cannot even be read is run here, and its
 * job is made anew. So losing the whole collection, or Agenda, costs seconds and no duty.
 * @returns a function that stops it and resolves when it rests
 */
export function startWatchdog(
  jobs: SweepJobs,
  run: (name: SweepName) => Promise<Date>,
  { clock, log }: { clock: Clock; log: Log },
): () => Promise<void> {
  const revive = async (name: SweepName): Promise<void> => {
    const next = await run(name)
    await jobs.put(name, next)
  }
  const look = coalesce(async () => {
    const neglected = await jobs.neglected(clock.now()).catch(() => SWEEP_NAMES)
    const revived = await Promise.allSettled(neglected.map(revive))
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
