import type { Requirement } from './policy.ts'
import type { Outcome } from './receipt.ts'

/** The part of a vote that counts. */
export interface CountedVote {
  /** Who acted. */
  user_id: string
  /** Whose vote it is: the approver, or the person a delegate stood in for. */
  on_behalf_of: string
  decision: Outcome
}

/**
 * Tally, whatever the order: one rejection rejects; `quorum` different approvers approve; strangers never count; nobody is
 * counted twice. Hands that acted for several people count for none of them: votes are written so that there are none such
 * (`whoseVote`), and this is the last to notice.
 */
export function tally(votes: readonly CountedVote[], requirement: Requirement): 'pending' | Outcome {
  const named = new Set(requirement.approvers.map((approver) => approver.user_id))
  const counting = votes.filter((vote) => named.has(vote.on_behalf_of))
  if (counting.some((vote) => vote.decision === 'rejected')) return 'rejected'
  const approvals = new Set(
    counting.filter((vote) => actedForOne(counting, vote.user_id)).map((vote) => vote.on_behalf_of),
  )
  return approvals.size >= requirement.quorum ? 'approved' : 'pending'
}

function actedForOne(votes: readonly CountedVote[], actor: string): boolean {
  return new Set(votes.filter((vote) => vote.user_id === actor).map((vote) => vote.on_behalf_of)).size === 1
}
