import type { Member } from '../../src/domain/account.ts'

/** These people as members of an account, as its document holds them once they are invited or have accepted. */
export function asMembers(
  ids: readonly (string | undefined)[],
  role: Member['role'] = 'approver',
  state: Member['state'] = 'active',
): Member[] {
  const at = new Date()
  const joined_at = state === 'active' ? at : null
  return ids
    .filter((id) => id !== undefined)
    .map((user_id) => ({ user_id, role, state, invited_at: at, joined_at }))
}
