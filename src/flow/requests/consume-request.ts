import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { isId } from '../../domain/identifier.ts'
import { type ApprovalRequest, usableUntil } from '../../domain/request.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { sha256Hex } from '../../signing/digest.ts'
import type { FlowDeps } from '../deps.ts'
import { type Caller, callerActor } from '../keys/authenticate-caller.ts'
import { auditEntry } from './close-request.ts'
import { findOwnRequest } from './read-request.ts'
import { expireIfLapsed } from './settle-request.ts'

/** What is about to run, as far as the caller says; each part that is given must equal what was approved. */
export interface Use {
  action?: string | undefined
  context?: Record<string, unknown> | undefined
  /** 64 hex characters, lower case. */
  context_sha256?: string | undefined
  /** Of the content of each attachment, in order, as above. */
  attachments_sha256?: string[] | undefined
  /** Refuses an approval that no person gave. */
  refuse_sandbox?: boolean | undefined
}

/**
 * Uses up an approval, once: of any number of attempts one succeeds. A refused attempt writes nothing.
 * @param key an `Idempotency-Key`: repeating the call that succeeded, with its key, gives its answer again, in case it was lost
 * @returns the request, and whether an earlier call with this key used it up
 * @throws Refusal `not_found`, `sandbox_approval`, `not_approved`, `already_consumed`, `mismatch`, `held_after_restore`,
 *   `approval_lapsed`
 */
export function consumeRequest(
  deps: FlowDeps,
  caller: Caller,
  id: string,
  { key, ...use }: Use & { key: string | undefined },
): Promise<Consumed> {
  return consumeTraced(deps, caller, id, { ...use, ...given({ consumed_with: key && sha256Hex(key) }) })
}

/** No hash of an `Idempotency-Key`: an approval that a token used up is used up for `consume`, and the other way round. */
const BY_TOKEN = 'token'

/**
 * Uses up an approval by giving a token, until its request expires; as often as it is called, that is one use.
 * @throws Refusal as `consumeRequest`; `sandbox_approval` always, for a reader that knows only JWT could overlook a mark
 */
export async function consumeByToken(
  deps: FlowDeps,
  caller: Caller,
  id: string,
  use: Use,
): Promise<ApprovalRequest> {
  const by = { ...use, refuse_sandbox: true, consumed_with: BY_TOKEN }
  return (await consumeTraced(deps, caller, id, by)).request
}

interface Consumed {
  request: ApprovalRequest
  replayed: boolean
}

type Using = Use & { consumed_with?: string }

function consumeTraced(deps: FlowDeps, caller: Caller, id: string, use: Using): Promise<Consumed> {
  // The id is whatever the caller wrote in the path.
  const attributes = isId('req', id) ? { approval_id: id } : undefined
  return deps.tracing.span(
    { name: 'consume', ...given({ attributes }) },
    () => consumeOnce(deps, caller, id, use),
    ({ replayed }) => ({ result: replayed ? 'replayed' : 'consumed' }),
  )
}

async function consumeOnce(
  deps: FlowDeps,
  caller: Caller,
  id: string,
  { consumed_with, ...use }: Using,
): Promise<Consumed> {
  const request = await expireIfLapsed(deps, await findOwnRequest(deps, caller, id))
  const { status, sandbox } = request
  if (sandbox && use.refuse_sandbox === true) throw refusal('sandbox_approval')
  if (status !== 'approved')
    throw refusal('not_approved', {
      status,
      ...(sandbox && status === 'pending' && { detail: 'A dry run is decided when its status is read.' }),
    })
  const replay = (used: ApprovalRequest | undefined) => {
    if (used === undefined || consumed_with === undefined || used.consumed_with !== consumed_with)
      throw refusal('already_consumed')
    return { request: used, replayed: true }
  }
  const earlier = request.consumed_at === undefined ? undefined : replay(request)
  // What was approved is gone: only the call that used it up may hear so again.
  if (request.erased_at === undefined) refuseDifferent(request, use)
  else if (earlier === undefined) throw refusal('mismatch', { field: 'action' })
  if (earlier !== undefined) return earlier
  await refuseHeld(deps, request)
  const at = deps.clock.now()
  const entry = auditEntry(deps, request, 'approval.consumed', callerActor(caller), at)
  const byToken = consumed_with === BY_TOKEN
  const audit = byToken ? { ...entry, detail: { ...entry.detail, token: true } } : entry
  const until = untilOf(request, byToken)
  const used = { consumed_at: at, ...given({ consumed_with, until }) }
  const consumed = await deps.requests.consume(id, used, audit)
  // Another call was faster, or an earlier attempt at this write, whose answer the driver lost.
  if (consumed === undefined) {
    const other = await deps.requests.find(id)
    if (other?.consumed_at === undefined) await refuseUnusable(deps, other ?? request, byToken)
    return replay(other)
  }
  deps.changes.changed(id)
  return { request: consumed, replayed: false }
}

/** Says why an approval that nobody used cannot be used; the database's clock judged whether it has lapsed. */
async function refuseUnusable(deps: FlowDeps, request: ApprovalRequest, byToken: boolean): Promise<void> {
  await refuseHeld(deps, request)
  const until = untilOf(request, byToken)
  if (until !== undefined && request.erased_at === undefined)
    throw refusal('approval_lapsed', { detail: `It could be used until ${until.toISOString()}.` })
}

/** Returns until when the approval can be used; no token outlives its request, and each has at least a second to live. */
function untilOf(request: ApprovalRequest, byToken: boolean): Date | undefined {
  const until = usableUntil(request)
  if (!byToken) return until
  return new Date(Math.min(+request.expires_at, +(until ?? request.expires_at)) - 1_000)
}

/** After a restore nobody knows whether the approval was used already. @throws Refusal `held_after_restore` */
async function refuseHeld(deps: FlowDeps, request: ApprovalRequest): Promise<void> {
  if (await deps.restores.isHeld(request)) throw refusal('held_after_restore')
}

/** Refuses any other use. Action and context change only when they are erased, after which the write uses nothing up. */
function refuseDifferent(
  request: ApprovalRequest,
  { action, context, context_sha256, attachments_sha256 }: Use,
): void {
  if (action !== undefined && action !== request.action) throw refusal('mismatch', { field: 'action' })
  if (context !== undefined && canonicalize(context) !== request.context_json)
    throw refusal('mismatch', { field: 'context' })
  if (context_sha256 !== undefined && context_sha256 !== request.context_sha256)
    throw refusal('mismatch', { field: 'context_sha256' })
  const attached = (request.attachments ?? []).map(({ sha256 }) => sha256)
  if (attachments_sha256 !== undefined && attachments_sha256.join() !== attached.join())
    throw refusal('mismatch', { field: 'attachments_sha256' })
}
