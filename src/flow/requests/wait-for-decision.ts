import { refusal } from '../../domain/errors.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { isHeldBy } from '../../domain/restore.ts'
import type { Watch } from '../../store/requests/change-signal.ts'
import type { FlowDeps } from '../deps.ts'
import type { Caller } from '../keys/authenticate-caller.ts'
import type { SignedIn } from '../people/sessions.ts'
import { readOwnRequest } from './read-request.ts'
import { settleRequest } from './settle-request.ts'

/** The milliseconds that the caller waits at most, and the signal that ends the wait earlier. */
export interface Wait {
  ms: number
  signal: AbortSignal
}

/** A wait that has begun. `until`: by the steady clock, so that setting the machine's clock changes no wait. */
export interface Patience {
  until: number
  signal: AbortSignal
}

/**
 * Returns the requests, in the order of their ids, as soon as one of them is no longer pending, else as they are at the time-out.
 * Decisions written by other processes are noticed as well. Revoking the key meanwhile ends the wait (T54).
 * @param ids no id twice
 * @param timeoutSeconds 1–60
 * @returns undefined when `signal` aborted meanwhile
 * @throws Refusal `not_found`, `invalid or missing API key`
 */
export async function waitForDecision(
  deps: FlowDeps,
  caller: Caller,
  ids: readonly string[],
  timeoutSeconds: number,
  signal: AbortSignal,
): Promise<ApprovalRequest[] | undefined> {
  const patience = begin(deps, { ms: timeoutSeconds * 1000, signal })
  const watch = deps.changes.watch(ids, caller.key.id)
  try {
    const read = ids.map((id) => readOwnRequest(deps, caller, id))
    let requests: ApprovalRequest[] | undefined = await Promise.all(read)
    while (requests?.every(({ status }) => status === 'pending') && hasPatience(deps, patience)) {
      const known = requests.map((request) => knownOf(deps, request))
      requests = undefined
      requests = await nextStates(deps, watch, known, patience)
    }
    return requests
  } finally {
    watch.close()
  }
}

/**
 * Yields the caller's own request as it is now, then again after every write to it, until it is no longer pending or
 * patience ends. Nothing is read ahead of the consumer.
 * @throws Refusal `not_found` at the first step, `invalid or missing API key` when the key is revoked meanwhile (T54)
 */
export async function* watchRequest(
  deps: FlowDeps,
  caller: Caller,
  id: string,
  wait: Wait,
): AsyncGenerator<ApprovalRequest, void, undefined> {
  const patience = begin(deps, wait)
  const watch = deps.changes.watch([id], caller.key.id)
  try {
    let request: ApprovalRequest | undefined = await readOwnRequest(deps, caller, id)
    yield request
    while (request?.status === 'pending' && hasPatience(deps, patience)) {
      const known = knownOf(deps, request)
      request = undefined
      request = (await nextStates(deps, watch, [known], patience))?.[0]
      if (request !== undefined && request.version !== known.version) yield request
    }
  } finally {
    watch.close()
  }
}

/**
 * Yields whenever the person's inbox may have changed, the first time at once, until patience ends. Watching does not count as
 * use of the session, so it does not keep the session alive (T23).
 * @throws Refusal `not_signed_in` soon after the session has ended
 */
export async function* watchInbox(
  deps: FlowDeps,
  { session, user }: SignedIn,
  wait: Wait,
): AsyncGenerator<'changed', void, undefined> {
  const patience = begin(deps, wait)
  const watch = deps.inbox.watch(user.id, session.id)
  try {
    while (hasPatience(deps, patience)) {
      const news = await watch.next(patience.until - deps.clock.steady(), patience.signal)
      if (news === 'session_over') throw refusal('not_signed_in')
      if (news === 'changed') yield news
    }
  } finally {
    watch.close()
  }
}

/** Milliseconds before looking again: by the database's clock a deadline may still be ahead that is past by ours. */
const GRACE_MS = 20

/** Milliseconds for which a store that could not be reached is left alone. */
export const AWAY_MS = 500

/** What is kept of a request while a caller waits: thousands may wait, and the answer reads the whole request again. */
export type Known = Pick<ApprovalRequest, 'version' | 'status' | 'expires_at'> & { due: Date }

export function knownOf({ restores }: FlowDeps, request: ApprovalRequest): Known {
  const { version, status, expires_at, sandbox_plan } = request
  const due = isHeldBy(request, restores.last()) ? expires_at : (sandbox_plan?.due_at ?? expires_at)
  return { version, status, expires_at, due }
}

export function begin({ clock }: FlowDeps, { ms, signal }: Wait): Patience {
  return { until: clock.steady() + ms, signal }
}

/** Checks whether the caller still waits, and the service still runs. */
export function hasPatience({ clock, changes }: FlowDeps, { until, signal }: Patience): boolean {
  return clock.steady() < until && !signal.aborted && !changes.stopped()
}

/**
 * Waits until something may have happened to pending requests (the time of one ran out, a sandbox decision is due, one was written
 * to, perhaps by another process) or until patience ends, then returns the requests up to date.
 * @returns undefined when the signal aborted
 * @throws Refusal `invalid or missing API key` when the key was revoked meanwhile (T54)
 */
async function nextStates(
  deps: FlowDeps,
  watch: Watch,
  known: readonly Known[],
  patience: Patience,
): Promise<ApprovalRequest[] | undefined> {
  const versions = known.map(({ version }) => version)
  for (let grace = GRACE_MS; ; grace = AWAY_MS) {
    try {
      const news = await watch.next(versions, mostMs(deps, known, patience, grace), patience.signal)
      if (news === undefined) return undefined
      if (news.revoked) throw refusal('invalid or missing API key')
      return await Promise.all(news.requests.map((request) => settleFound(deps, request)))
    } catch (error) {
      // A store that is unavailable for a moment does not end the wait.
      if (!deps.storeIsDown(error) || !hasPatience(deps, patience)) throw error
    }
  }
}

/** @throws Refusal `not_found` when the request was deleted meanwhile */
async function settleFound(deps: FlowDeps, found: ApprovalRequest | undefined): Promise<ApprovalRequest> {
  if (found === undefined) throw refusal('not_found')
  return settleRequest(deps, found)
}

/** Returns the milliseconds until the next look: when a request expires or is due, but not at once, or when patience ends. */
export function mostMs(
  { clock }: FlowDeps,
  known: readonly Known[],
  { until }: Patience,
  grace: number,
): number {
  const times = known.map(({ expires_at, due }) => Math.min(expires_at.getTime(), due.getTime()))
  const soonest = Math.min(...times) + GRACE_MS - clock.now().getTime()
  return Math.min(until - clock.steady(), Math.max(soonest, grace))
}
