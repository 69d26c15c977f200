import type { ApprovalRequest } from '../domain/request.ts'
import type { AccountView } from '../flow/account/view-account.ts'
import { presentPolicy } from './present-members.ts'

/** An account, its quota and, for its owner, its policy. */
export function presentAccount({ account, role, owner, used, month, policy }: AccountView) {
  return {
    id: account.id,
    name: account.name,
    role,
    owner: { id: owner.id, name: owner.name, email: owner.email, approver: owner.approver },
    created_at: account.created_at.toISOString(),
    quota: {
      limit: account.monthly_quota,
      used,
      month: month.name,
      resets_at: month.ends.toISOString(),
    },
    ...(policy === undefined ? {} : { policy: presentPolicy(policy) }),
  }
}

/** A request as the history lists it: neither context nor receipts. */
export function presentHistoryRow(request: ApprovalRequest) {
  const { decision } = request
  return {
    id: request.id,
    status: request.status,
    ...(request.cancelled ? { cancelled: true } : {}),
    action: request.action,
    high_impact: request.high_impact,
    ...(request.sandbox ? { sandbox: true } : {}),
    requested_by: {
      key_name: request.requested_by.key_name,
      account_name: request.requested_by.account_name,
    },
    created_at: request.created_at.toISOString(),
    expires_at: request.expires_at.toISOString(),
    ...(decision === undefined
      ? {}
      : {
          decided_at: decision.decided_at.toISOString(),
          decision: {
            id: decision.id,
            decision: decision.decision,
            method: decision.method,
            approver: decision.approver,
            ...(decision.delegate === undefined ? {} : { delegate: decision.delegate }),
          },
        }),
    quorum: presentQuorum(request),
  }
}

/** How many must approve, and how many have. */
export function presentQuorum({ requirement, votes }: ApprovalRequest) {
  const approved = votes.filter(({ decision }) => decision === 'approved')
  return {
    needed: requirement.quorum,
    approved: new Set(approved.map(({ on_behalf_of }) => on_behalf_of)).size,
  }
}
