import type { CardStatus, CardView } from './card-view.ts'

/** Signs beside the words, never instead of them. */
export const STATUS_SIGNS: Record<CardStatus['kind'], string> = {
  pending: '⏳',
  approved: '✅',
  rejected: '❌',
  expired: '⌛',
  withdrawn: '↩️',
}

/** The first line of a card: the words of the hosted page. */
export function cardHeading({ status, voted, voted_by, audience, sandbox }: CardView): string {
  switch (status.kind) {
    case 'pending':
      if (voted_by !== undefined) return 'This vote is cast. Waiting for others'
      if (voted !== undefined) return `You ${voted}. Waiting for others`
      return audience === 'approver' && !sandbox ? 'Approve or reject this action?' : 'Waiting for a decision'
    case 'approved':
      return 'Approved'
    case 'rejected':
      return 'Rejected'
    case 'expired':
      return 'Expired without a decision'
    case 'withdrawn':
      return 'Withdrawn by the caller'
  }
}

/** What notifications and screen readers say first: our words, nothing that the caller wrote (T41). */
export function cardSummary(view: CardView): string {
  if (view.status.kind !== 'pending' || view.voted !== undefined) return `${cardHeading(view)}.`
  return 'A request waits for a decision on the approval page.'
}

/** How far the approvals are. Undefined where the heading says it all. */
export function quorumWords({ status, quorum: { approved, needed } }: CardView): string | undefined {
  if (status.kind !== 'pending') {
    return needed > 1 ? `${approved} of ${needed} needed approvals were given.` : undefined
  }
  if (needed === 1) return 'One approval is needed. One rejection rejects.'
  return `${approved} of ${needed} needed approvals so far. One rejection rejects.`
}

/** How people call a way of proving presence. */
export function methodWord(method: string): string {
  return { passkey: 'Passkey', totp: 'Authenticator code', sandbox: 'Sandbox, no person' }[method] ?? method
}

/** "3 d", "1 h 5 min", "40 s": whole units, the two largest, never negative. */
export function durationWords(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000))
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor((seconds % 86_400) / 3600), 'h'],
    [Math.floor((seconds % 3600) / 60), 'min'],
    [seconds % 60, 's'],
  ]
  const first = parts.findIndex(([count]) => count > 0)
  if (first < 0) return '0 s'
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}
