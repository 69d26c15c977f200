import type { Requirement } from './policy.ts'
import type { Outcome } from './receipt.ts'

/** The part of a vote that counts. */
export interface CountedVote {
  /** Whose vote it is: the approver, or the person a delegate stood in for. */
  on_behalf_of: string
  decision: Outcome
}

/** Tally: one rejection rejects; `quorum` different approvers approve; nobody counts twice; strangers never count. */
export function tally(votes: readonly CountedVote[], requirement: Requirement): 'pending' | Outcome {
  const named = new Set(requirement.approvers.map((approver) => approver.user_id))
  const counting = votes.filter((vote) => named.has(vote.on_behalf_of))
  if (counting.some((vote) => vote.decision === 'rejected')) return 'rejected'
  const approvals = new Set(counting.map((vote) => vote.on_behalf_of))
  return approvals.size >= requirement.quorum ? 'approved' : 'pending'
}
