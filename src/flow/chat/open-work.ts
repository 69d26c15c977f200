import type { Log } from '../ports.ts'

/** Part of how long stopping may take (`serve.ts`). */
const SETTLE_MS = 5_000

/** Work that a receiver has begun and does not wait for. */
export function createOpenWork() {
  const open = new Set<Promise<unknown>>()
  return {
    /** Counts it until it ends, well or badly; the caller that began it deals with what it throws. */
    add(work: Promise<unknown>): void {
      const over: Promise<unknown> = work.catch(() => undefined).finally(() => open.delete(over))
      open.add(over)
    },
    /** Resolves when nothing is under way any more, or after five seconds. */
    async settled(): Promise<void> {
      let timer: NodeJS.Timeout | undefined
      const enough = new Promise((resolve) => {
        timer = setTimeout(resolve, SETTLE_MS)
      })
      await Promise.race([Promise.all(open), enough])
      clearTimeout(timer)
    },
  }
}

export type Background = ReturnType<typeof createBackground>

/** Work that goes on after the platform has its answer. */
export function createBackground(log: Log) {
  const open = createOpenWork()
  return {
    /** What is thrown is logged, with these words. */
    run: (work: () => Promise<void>, failed: string): void =>
      open.add(work().catch((error: unknown) => log.error({ error }, failed))),
    settled: open.settled,
  }
}
