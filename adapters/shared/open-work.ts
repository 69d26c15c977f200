import type { Log } from '../../src/ports/ports.ts'
import { within } from '../../src/ports/within.ts'

/** Milliseconds, a part of the time that stopping may take (`serve.ts`). */
const SETTLE_MS = 5_000

/** Tracks work that a receiver has begun and does not wait for. */
export function createOpenWork() {
  const open = new Set<Promise<unknown>>()
  return {
    /** Counts the work until it settles; the caller that began it handles its errors. */
    add(work: Promise<unknown>): void {
      const over: Promise<unknown> = work.catch(() => undefined).finally(() => open.delete(over))
      open.add(over)
    },
    /** Resolves when all work has settled, or after five seconds. */
    async settled(): Promise<void> {
      await within(SETTLE_MS, Promise.all(open))
    },
  }
}

export type Background = ReturnType<typeof createBackground>

/** Runs work that goes on after the platform has its answer. */
export function createBackground(log: Log) {
  const open = createOpenWork()
  return {
    /** Runs it; an error is logged with the words of `failed`. */
    run: (work: () => Promise<void>, failed: string): void =>
      open.add(work().catch((error: unknown) => log.error({ error }, failed))),
    settled: open.settled,
  }
}
