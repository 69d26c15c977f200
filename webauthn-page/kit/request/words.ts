import type { Review } from '../api/contract.ts'

/** How people call a way of proving presence. */
export function methodWord(method: string): string {
  return { passkey: 'Passkey', totp: 'Authenticator code', sandbox: 'Sandbox, no person' }[method] ?? method
}

/** The first heading of the page for each state. */
export function headingOf(review: Review): string {
  const mine = review.votes.find((vote) => vote.mine)
  if (review.status === 'pending') {
    if (mine !== undefined) return `You ${mine.decision}. Waiting for others`
    return review.may_decide ? 'Approve or reject this action?' : 'Waiting for a decision'
  }
  if (review.status === 'expired')
    return review.cancelled === true ? 'Withdrawn by the caller' : 'Expired without a decision'
  return review.status === 'approved' ? 'Approved' : 'Rejected'
}
