import { refusal } from '../domain/errors.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import type { Caller } from './authenticate-caller.ts'
import { isWorthWaiting, nextState, type WaitDeps } from './next-state.ts'
import { readOwnRequest } from './read-request.ts'

/**
 * Open waits, streams and files (T67): few per key or person, bounded per process, so that idle connections cannot exhaust it.
 */
export interface WaitSlots {
  /** @returns a function that gives the slot back. @throws Refusal `too_many_waits` */
  take(holder: string): () => void
}

/** Slots for waits and streams of one process. */
const WAITS = { each: 10, process: 1_000 }

/** Slots for files of one process: each takes far more out of the store than a wait does. */
export const FILES = { each: 2, process: 50 }

/** Creates the slots of one process. */
export function createWaitSlots(most: { each: number; process: number } = WAITS): WaitSlots {
  const open = new Map<string, number>()
  let total = 0
  return {
    take(holder) {
      const held = open.get(holder) ?? 0
      if (held >= most.each || total >= most.process) throw refusal('too_many_waits', { retry_after: 3 })
      open.set(holder, held + 1)
      total += 1
      return () => {
        const left = (open.get(holder) ?? 1) - 1
        if (left === 0) open.delete(holder)
        else open.set(holder, left)
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
