import { setTimeout as pause } from 'node:timers/promises'
import type { Clock, Log } from '../flow/ports.ts'
import { LOCK_MS, ROUND_MS } from './agenda.ts'
import { nextRun, type SweepName, type Sweeps } from './sweep.ts'

/** A sweep that failed is tried again after this. */
const RETRY_MS = 2_000

/** How long a job may go on by itself: its lock must not grow old. */
const STAY_MS = LOCK_MS / 2

/**
 * Runs again by itself what is due sooner than Agenda would look, for a while: a burst of small things costs no jobs.
 * @returns milliseconds until the next run
 */
export async function stayWhileDue(
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
export function runner(sweeps: Sweeps, { clock, log }: { clock: Clock; log: Log }) {
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
