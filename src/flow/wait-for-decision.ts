import { refusal } from '../domain/errors.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import type { FlowDeps } from './deps.ts'
import type { Caller } from './ports.ts'
import { readOwnRequest } from './read-request.ts'

/** Open waits (T67): few per key, bounded per process, so that idle connections cannot exhaust it. */
export interface WaitSlots {
  /** @returns a function that gives the slot back. @throws Refusal `too_many_waits` */
  take(keyId: string): () => void
}

const PER_KEY = 10
const PER_PROCESS = 1_000

/** The database may still call a deadline future that our clock calls past; look again a moment later, not at once. */
const GRACE_MS = 20

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

type WaitDeps = Pick<
  FlowDeps,
  'requests' | 'apiKeys' | 'clock' | 'random' | 'changes' | 'signer' | 'settings'
>

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
  const end = deps.clock.now().getTime() + timeoutSeconds * 1000
  let request = await readOwnRequest(deps, caller, id)
  const over = () => deps.clock.now().getTime() >= end || signal.aborted || deps.changes.stopped()
  while (request.status === 'pending' && !over()) {
    const deadline = nextDeadline(request, end, deps.clock.now().getTime())
    await deps.changes.wait({
      requestId: id,
      version: request.version,
      keyId: caller.key.id,
      deadline,
      signal,
    })
    await refuseRevoked(deps, caller)
    request = await readOwnRequest(deps, caller, id)
  }
  return request
}

function nextDeadline(request: ApprovalRequest, end: number, now: number): Date {
  const due = request.sandbox_plan?.due_at.getTime() ?? Number.POSITIVE_INFINITY
  const soonest = Math.min(request.expires_at.getTime() + GRACE_MS, due + GRACE_MS)
  return new Date(Math.min(end, Math.max(soonest, now + GRACE_MS)))
}

async function refuseRevoked(deps: Pick<FlowDeps, 'apiKeys'>, caller: Caller): Promise<void> {
  const key = await deps.apiKeys.find(caller.key.id)
  if (key === undefined || key.revoked_at !== null) throw refusal('invalid or missing API key')
}
