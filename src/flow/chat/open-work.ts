import type { Log } from '../ports.ts'

/** Work that a receiver has begun and does not wait for. */
export interface OpenWork {
  /** Counts it until it ends, well or badly; the caller that began it deals with what it throws. */
  add(work: Promise<unknown>): void
  /** Resolves when nothing is under way any more, or after five seconds. */
  settled(): Promise<void>
}

/** Part of how long stopping may take (`serve.ts`). */
const SETTLE_MS = 5_000

export function createOpenWork(): OpenWork {
  const open = new Set<Promise<unknown>>()
  return {
    add(work) {
      const over: Promise<unknown> = work.catch(() => undefined).finally(() => open.delete(over))
      open.add(over)
    },
    async settled() {
      let timer: NodeJS.Timeout | undefined
      const enough = new Promise((resolve) => {
        timer = setTimeout(resolve, SETTLE_MS)
      })
      await Promise.race([Promise.all(open), enough])
      clearTimeout(timer)
    },
  }
}

/** Work that goes on after the platform has its answer. */
export interface Background {
  /** What is thrown is logged, with these words. */
  run(work: () => Promise<void>, failed: string): void
  /** As in `OpenWork`. */
  settled(): Promise<void>
}

export function createBackground(log: Log): Background {
  const open = createOpenWork()
  return {
    run: (work, failed) => open.add(work().catch((error: unknown) => log.error({ error }, failed))),
    settled: () => open.settled(),
  }
}
