import type { Log } from '../ports.ts'

/** Warnings of one kind of trouble. */
export type SeldomWarning = ReturnType<typeof warnSeldom>

/** How often trouble is logged while it lasts. */
const TELL_EVERY_MS = 10_000

/**
 * Warns of something that may fail with every write while the store is away: once when it begins, then every ten seconds
 * with the number of failures since the last warning, in `times`.
 * @param now milliseconds that only grow
 */
export function warnSeldom(
  log: Pick<Log, 'warn'>,
  message: string,
  now: () => number = () => performance.now(),
) {
  let toldAt = Number.NEGATIVE_INFINITY
  let times = 0
  return {
    /** It failed: warns, unless it was warned of a moment ago. */
    failed(error: unknown): void {
      times += 1
      if (now() - toldAt < TELL_EVERY_MS) return
      log.warn({ error, times }, message)
      toldAt = now()
      times = 0
    },
    /** It worked again: the next failure is new trouble, and told at once. */
    worked(): void {
      toldAt = Number.NEGATIVE_INFINITY
      times = 0
    },
  }
}
