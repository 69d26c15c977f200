import type { Log } from '../ports/ports.ts'

/** How often the watch looks. */
const LOOK_EVERY_MS = 1_000

/** The least step of the wall clock that is reported: NTP corrects less without one. */
const STEP_MS = 1_000

/** The least pause that is reported: a look that comes so late shows that the process stood still. */
const PAUSE_MS = 5_000

/** What the watch has seen since it began. */
export interface TimeWatch {
  steps: number
  pauses: number
  wall(): number
  stop(): void
}

/**
 * Reports steps of the wall clock, and pauses of the process: stopped by a signal, frozen with its machine or starved. Both
 * explain what is strange in the lines around them, such as requests that expired all at once.
 * @param wall milliseconds of the clock that may be set
 * @param steady milliseconds of one that is never set; it stands still while the machine sleeps, which then looks like a step
 */
export function watchTime(
  log: Pick<Log, 'warn'>,
  wall: () => number = Date.now,
  steady: () => number = () => performance.now(),
): TimeWatch {
  let seen = { wall: wall(), steady: steady() }
  const watch = { steps: 0, pauses: 0, wall, stop: () => clearInterval(timer) }
  const look = (): void => {
    const before = seen
    seen = { wall: wall(), steady: steady() }
    const passed = seen.steady - before.steady
    const step = seen.wall - before.wall - passed
    if (Math.abs(step) >= STEP_MS) {
      watch.steps += 1
      log.warn({ seconds: seconds(step) }, 'the clock of this machine was set, or the machine slept')
    }
    if (passed - LOOK_EVERY_MS < PAUSE_MS) return
    watch.pauses += 1
    log.warn({ seconds: seconds(passed) }, 'this process stood still; nothing was answered meanwhile')
  }
  const timer = setInterval(look, LOOK_EVERY_MS).unref()
  return watch
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10
}
