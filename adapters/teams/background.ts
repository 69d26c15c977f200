import type { FlowDeps } from '../../src/flow/deps.ts'

/** Work that goes on after Teams has its answer. */
export interface Background {
  /** What is thrown is logged, with these words. */
  run(work: () => Promise<void>, failed: string): void
  /** Resolves when nothing is under way any more, or after five seconds. */
  settled(): Promise<void>
}

const SETTLE_MS = 5_000

export function createBackground(log: FlowDeps['log']): Background {
  const open = new Set<Promise<void>>()
  return {
    run(work, failed) {
      const running: Promise<void> = work()
        .catch((error: unknown) => log.error({ error }, failed))
        .finally(() => open.delete(running))
      open.add(running)
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
