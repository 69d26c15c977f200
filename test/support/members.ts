import type { Member } from '../../src/domain/account.ts'

/** These people as approvers of an account, as its document holds them once they have accepted. */
export function asMembers(ids: readonly (string | undefined)[], role: Member['role'] = 'approver'): Member[] {
  const at = new Date()
  return ids
    .filter((id) => id !== undefined)
    .map((user_id) => ({ user_id, role, state: 'active', invited_at: at, joined_at: at }))
}
