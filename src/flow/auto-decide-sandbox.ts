import { drawId } from '../domain/identifier.ts'
import type { ApprovalRequest, Vote } from '../domain/request.ts'
import { canonicalize } from '../signing/canonical.ts'
import { closingChange } from './close-request.ts'
import type { FlowDeps } from './deps.ts'
import { decisionTime, stateIntent } from './state-intent.ts'

/**
 * Decides a sandbox request whose deadline has come, once: of any number of concurrent reads one write wins and the
 * others read its result (T84). The receipt is real, but made by the sandbox key and marked inside the signed bytes.
 */
export async function autoDecideSandbox(
  deps: Pick<FlowDeps, 'requests' | 'clock' | 'random' | 'changes' | 'signer' | 'settings'>,
  request: ApprovalRequest,
): Promise<ApprovalRequest> {
  const plan = request.sandbox_plan
  const now = deps.clock.now()
  if (request.status !== 'pending' || plan === undefined || plan.due_at > now) return request
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
