import { refusal } from '../domain/errors.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import { canonicalize } from '../signing/canonical.ts'
import { type Caller, callerActor } from './authenticate-caller.ts'
import { auditEntry } from './close-request.ts'
import type { FlowDeps } from './deps.ts'
import { findOwnRequest } from './read-request.ts'
import { expireIfLapsed } from './settle-request.ts'

/** What is about to run, as far as the caller says; each part that is there must be what was approved. */
export interface Use {
  action?: string | undefined
  context?: Record<string, unknown> | undefined
  /** 64 hex characters, lower case. */
  context_sha256?: string | undefined
}

/**
 * Uses an approval up, once: of any number of attempts one succeeds. Nothing is written when it is refused.
 * @throws Refusal `not_found`, `not_approved`, `already_consumed`, `mismatch`
 */
export async function consumeRequest(
  deps: FlowDeps,
  caller: Caller,
  id: string,
  use: Use,
): Promise<ApprovalRequest> {
  const request = await expireIfLapsed(deps, await findOwnRequest(deps, caller, id))
  refuseUnusable(request)
  refuseDifferent(request, use)
  const at = deps.clock.now()
  const audit = auditEntry(deps, request, 'approval.consumed', callerActor(caller), at)
  const consumed = await deps.requests.consume(id, at, audit)
  if (consumed === undefined) throw refusal('already_consumed')
  deps.changes.changed(id)
  return consumed
}

function refuseUnusable(request: ApprovalRequest): void {
  if (request.status !== 'approved') throw refusal('not_approved', { status: request.status })
  if (request.consumed_at !== undefined) throw refusal('already_consumed')
}

/** Action and context never change once stored, so what was compared is what the write uses up. */
function refuseDifferent(request: ApprovalRequest, { action, context, context_sha256 }: Use): void {
  if (action !== undefined && action !== request.action) throw refusal('mismatch', { field: 'action' })
  if (context !== undefined && canonicalize(context) !== request.context_json)
    throw refusal('mismatch', { field: 'context' })
  if (context_sha256 !== undefined && context_sha256 !== request.context_sha256)
    throw refusal('mismatch', { field: 'context_sha256' })
}
