import { statedAttachments } from '../../domain/attachment.ts'
import { given } from '../../domain/given.ts'
import { buildIntent, type DecisionIntent } from '../../domain/intent.ts'
import { type ApproverSnapshot, shownPolicy } from '../../domain/policy.ts'
import type { Outcome } from '../../domain/receipt.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { toBase64Url } from '../../signing/base64.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { sha256Hex } from '../../signing/digest.ts'
import type { FlowDeps } from '../deps.ts'

/** States what a person (or the sandbox) consents to, with a salt drawn now: after the caller's text was fixed (T69). */
export function stateIntent(
  deps: Pick<FlowDeps, 'random' | 'settings'>,
  request: ApprovalRequest,
  decision: Outcome,
  { approverRef, delegateRef }: { approverRef: string; delegateRef?: string },
): DecisionIntent {
  const { quorum } = request.requirement
  return buildIntent({
    aud: deps.settings.baseUrl,
    rid: request.id,
    decision,
    approver: approverRef,
    ...given({ delegate: delegateRef }),
    action: request.action,
    context_sha256: request.context_sha256,
    request_created_at: request.created_at.toISOString(),
    exp: Math.floor(request.expires_at.getTime() / 1000),
    high_impact: request.high_impact,
    requester: {
      key: request.api_key_id,
      name: request.requested_by.key_name,
      account: request.account_id,
    },
    policy_sha256: sha256Hex(canonicalize({ ...shownPolicy(request.requirement), quorum })),
    quorum,
    ...given({ audience: request.audience, reversibility: request.reversibility }),
    ...given({ use_within_seconds: request.use_within_seconds }),
    ...given({ attachments: statedAttachments(request, delegateRef ?? approverRef) }),
    salt: toBase64Url(deps.random.bytes(32)),
  })
}

/**
 * Returns the time under which a vote is recorded: now, but within the request's life. The database judges expiry; a local clock
 * some milliseconds ahead must not turn the database's "in time" into a receipt with `ts > exp`.
 */
export function decisionTime(now: Date, request: ApprovalRequest): Date {
  const time = Math.min(Math.max(now.getTime(), request.created_at.getTime()), request.expires_at.getTime())
  return new Date(time)
}

/** Returns the intent's references to the person whose vote it is and, if another person acts, to that person. */
export function referencesOf(whose: ApproverSnapshot, acting: { id: string; approver: string }) {
  return {
    approverRef: whose.approver,
    ...(whose.user_id === acting.id ? {} : { delegateRef: acting.approver }),
  }
}
