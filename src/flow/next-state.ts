import { refusal } from '../domain/errors.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import type { Watch } from '../store/change-signal.ts'
import type { FlowDeps } from './deps.ts'
import { settleRequest } from './settle-request.ts'

/** What waiting for a request takes. */
export type WaitDeps = Pick<FlowDeps, 'requests' | 'clock' | 'random' | 'changes' | 'signer' | 'settings'>

/** How long somebody waits at most, and what ends it before. */
export interface Patience {
  until: Date
  signal: AbortSignal
}

/** The database may still call a deadline future that our clock calls past; look again a moment later, not at once. */
const GRACE_MS = 20

/** Is there any use in waiting on? */
export function isWorthWaiting(
  deps: Pick<WaitDeps, 'clock' | 'changes'>,
  request: ApprovalRequest,
  { until, signal }: Patience,
): boolean {
  return (
    request.status === 'pending' && deps.clock.now() < until && !signal.aborted && !deps.changes.stopped()
  )
}

/**
 * Waits until something may have happened to a pending request, then returns it up to date: its time ran out, a sandbox
 * decision is due, somebody wrote it, or patience ends. Also when nobody in this process did it.
 * @throws Refusal `invalid or missing API key` when the key was revoked meanwhile (T54)
 */
export async function nextState(
  deps: WaitDeps,
  watch: Watch,
  request: ApprovalRequest,
  { until, signal }: Patience,
): Promise<ApprovalRequest> {
  const news = await watch.next(request.version, nextDeadline(deps, request, until), signal)
  if (news === undefined) return request
  if (news.revoked) throw refusal('invalid or missing API key')
  if (news.request === undefined) throw refusal('not_found')
  return settleRequest(deps, news.request)
}

function nextDeadline(deps: Pick<WaitDeps, 'clock'>, request: ApprovalRequest, until: Date): Date {
  const due = request.sandbox_plan?.due_at ?? request.expires_at
  const soonest = Math.min(request.expires_at.getTime(), due.getTime()) + GRACE_MS
  const notAtOnce = deps.clock.now().getTime() + GRACE_MS
  return new Date(Math.min(until.getTime(), Math.max(soonest, notAtOnce)))
}
