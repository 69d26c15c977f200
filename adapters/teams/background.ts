import { createOpenWork } from '../../src/flow/chat/open-work.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'

/** Work that goes on after Teams has its answer. */
export interface Background {
  /** What is thrown is logged, with these words. */
  run(work: () => Promise<void>, failed: string): void
  /** Resolves when nothing is under way any more, or after five seconds. */
  settled(): Promise<void>
}

export function createBackground(log: FlowDeps['log']): Background {
  const open = createOpenWork()
  return {
    run: (work, failed) => open.add(work().catch((error: unknown) => log.error({ error }, failed))),
    settled: () => open.settled(),
  }
}
