import { refusal } from '../domain/errors.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import { isWorthWaiting, nextState, type WaitDeps } from './next-state.ts'
import type { Caller } from './ports.ts'
import { readOwnRequest } from './read-request.ts'

/** Open waits and streams (T67): few per key, bounded per process, so that idle connections cannot exhaust it. */
export interface WaitSlots {
  /** @returns a function that gives the slot back. @throws Refusal `too_many_waits` */
  take(keyId: string): () => void
}

const PER_KEY = 10
const PER_PROCESS = 1_000

/** Creates the slots of one process. */
export function createWaitSlots(): WaitSlots {
  const open = new Map<string, number>()
  let total = 0
  return {
    take(keyId) {
      const held = open.get(keyId) ?? 0
      if (held >= PER_KEY || total >= PER_PROCESS) throw refusal('too_many_waits', { retry_after: 3 })
      open.set(keyId, held + 1)
      total += 1
      return () => {
        const left = (open.get(keyId) ?? 1) - 1
        if (left === 0) open.delete(keyId)
        else open.set(keyId, left)
        total -= 1
      }
    },
  }
}

/**
 * Returns the request as soon as it is no longer pending, else as it is at the time-out. Works for decisions by other
 * processes too. A key revoked meanwhile ends the wait (T54).
 * @param timeoutSeconds 1–60
 * @throws Refusal `not_found`, `invalid or missing API key`
 */
export async function waitForDecision(
  deps: WaitDeps,
  caller: Caller,
  id: string,
  timeoutSeconds: number,
  signal: AbortSignal,
): Promise<ApprovalRequest> {
  const patience = { until: new Date(deps.clock.now().getTime() + timeoutSeconds * 1000), signal }
  const watch = deps.changes.watch(id, caller.key.id)
  try {
    let request = await readOwnRequest(deps, caller, id)
    while (isWorthWaiting(deps, request, patience)) request = await nextState(deps, watch, request, patience)
    return request
  } finally {
    watch.close()
  }
}
