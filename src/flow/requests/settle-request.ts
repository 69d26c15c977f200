import { drawEvent } from '../../domain/event.ts'
import { expiredData } from '../../domain/event-data.ts'
import { drawId } from '../../domain/identifier.ts'
import type { ApprovalRequest, Vote } from '../../domain/request.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { NoSigningKeyError } from '../../signing/keys.ts'
import type { FlowDeps } from '../deps.ts'
import { auditEntry, closingChange } from './close-request.ts'
import { decisionTime, stateIntent } from './state-intent.ts'

/** Brings a request up to date after it was read: makes a due sandbox decision, expires a lapsed request. */
export async function settleRequest(deps: FlowDeps, request: ApprovalRequest): Promise<ApprovalRequest> {
  const current = await expireIfLapsed(deps, request)
  return current.status === 'pending' && current.sandbox ? autoDecideSandbox(deps, current) : current
}

/**
 * Decides a sandbox request whose deadline has come, once: of any number of concurrent reads one write wins and the
 * others read its result (T84). The receipt is real, but made by the sandbox key and marked inside the signed bytes.
 */
export async function autoDecideSandbox(deps: FlowDeps, request: ApprovalRequest): Promise<ApprovalRequest> {
  const plan = request.sandbox_plan
  const now = deps.clock.now()
  if (request.status !== 'pending' || plan === undefined || plan.due_at > now) return request
  if (await deps.restores.isHeld(request)) return request
  const intent = stateIntent(deps, request, plan.decision, { approverRef: plan.approver })
  const owner = request.requirement.approvers[0]?.user_id ?? request.account_id
  const vote: Vote = {
    decision_id: drawId(deps, 'dec'),
    user_id: owner,
    on_behalf_of: owner,
    approver: plan.approver,
    decision: plan.decision,
    method: 'sandbox',
    at: decisionTime(now, request),
    comment: null,
    intent_json: canonicalize(intent),
    evidence: { type: 'sandbox' },
  }
  const change = await closingChange(deps, request, [vote], plan.decision, { kind: 'service' })
  const decided = await deps.requests.recordSandboxDecision(request.id, request.version, change)
  if (decided !== undefined) deps.changes.changed(request.id)
  return decided ?? (await deps.requests.find(request.id)) ?? request
}

/** Expires a request whose time seems to be up; leaves any other as it is. */
export async function expireIfLapsed(deps: FlowDeps, request: ApprovalRequest): Promise<ApprovalRequest> {
  if (request.status !== 'pending' || request.expires_at > deps.clock.now()) return request
  return expireLapsed(deps, request)
}

/** Makes a lapsed request `expired`: no signature, no callback, one event. The database decides whether it has lapsed. */
async function expireLapsed(deps: FlowDeps, request: ApprovalRequest): Promise<ApprovalRequest> {
  const now = deps.clock.now()
  const event = drawEvent(deps, 'approval.expired', now, expiredData(request))
  const audit = auditEntry(deps, request, 'approval.expired', { kind: 'service' }, now)
  const expired = await deps.requests.expire(request.id, event, audit)
  if (expired !== undefined) deps.changes.changed(request.id)
  return expired ?? (await deps.requests.find(request.id)) ?? request
}

/**
 * Expires every request whose time is up, even if it is never read again. Safe to run in any process, any number of
 * times at once: each expiry is one conditional write.
 * @returns when the next request is due
 */
export async function expireRequests(deps: FlowDeps): Promise<Date | undefined> {
  const { nextExpiry: next, lapsed: read } = deps.requests
  return settleDue(deps, { next, read }, (request) => expireLapsed(deps, request))
}

/** Documents settled at a time: enough to keep the store busy, few enough to leave it to others in between. */
const BATCH = 32

/** Batches of one run; the next run takes the rest, so that no run outlives its lock. */
const BATCHES = 60

/**
 * Settles due documents, batch by batch, until less than a batch is left or the run has done its share. A document that no key can
 * sign for does not stop the others.
 * @returns when the next document is due; undefined if one cannot be signed: it stays due, and must not be read again at once
 */
export async function settleDue<Document extends { id: string }>(
  { clock, log }: FlowDeps,
  from: {
    next: () => Promise<Date | undefined>
    read: (now: Date, limit: number) => Promise<Document[]>
  },
  settle: (due: Document) => Promise<unknown>,
): Promise<Date | undefined> {
  const first = await from.next()
  if (first === undefined || first > clock.now()) return first
  const unsigned = new Map<string, string>()
  const settleIfSigned = (due: Document): Promise<unknown> =>
    settle(due).catch((error: unknown) => {
      if (!(error instanceof NoSigningKeyError)) throw error
      unsigned.set(due.id, error.message)
    })
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const due = (await from.read(clock.now(), BATCH + unsigned.size)).filter(({ id }) => !unsigned.has(id))
    await Promise.all(due.map(settleIfSigned))
    if (due.length < BATCH) break
  }
  const [reason] = unsigned.values()
  if (reason === undefined) return from.next()
  log.error({ reason, count: unsigned.size }, 'settling requests failed; they stay due')
  return undefined
}
