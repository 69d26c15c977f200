import type { KeyPolicy } from './key-shapes.ts'

/** What a key adds to the account's policy, in words. */
export function policyWords({ approvers, quorum, passkey_only, high_impact }: KeyPolicy): string {
  return [
    approvers && (approvers.length === 1 ? 'one approver' : `${approvers.length} of the approvers`),
    quorum && (quorum === 1 ? 'at least one approval' : `at least ${quorum} approvals`),
    passkey_only && 'passkeys only',
    high_impact && 'every request is high impact',
  ]
    .filter(Boolean)
    .join(', ')
}
