import type { Log } from './ports.ts'

/** Warnings about one kind of trouble. */
export type SeldomWarning = ReturnType<typeof warnSeldom>

/** Milliseconds between two warnings while the trouble lasts. */
const TELL_EVERY_MS = 10_000

/**
 * Warns about an operation that may fail with every write while the store is away: once when it begins to fail, then every
 * ten seconds with the number of failures since the last warning, in `times`.
 * @param now a monotonic clock, in milliseconds
 */
export function warnSeldom(
  log: Pick<Log, 'warn'>,
  message: string,
  now: () => number = () => performance.now(),
) {
  let toldAt = Number.NEGATIVE_INFINITY
  let times = 0
  return {
    /** Reports a failure: warns, unless there was a warning within the last ten seconds. */
    failed(error: unknown): void {
      times += 1
      if (now() - toldAt < TELL_EVERY_MS) return
      log.warn({ error, times }, message)
      toldAt = now()
      times = 0
    },
    /** Reports a success: the next failure is new trouble and is logged at once. */
    worked(): void {
      toldAt = Number.NEGATIVE_INFINITY
      times = 0
    },
  }
}
