import { expect } from 'vitest'
import { drawCopyMark } from '../../src/cli/copy-mark.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { findHeld, type Held, takeUpCopy } from '../../src/flow/restore/restored-store.ts'

/** Makes the store one that was restored from a copy, which was made now, as its first start does. */
export async function restoreStore(deps: FlowDeps): Promise<Held> {
  await deps.restores.mark(drawCopyMark('backup', deps.clock.now()))
  await takeUpCopy(deps)
  return (await findHeld(deps)) ?? expect.unreachable()
}
