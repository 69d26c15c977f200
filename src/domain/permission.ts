import type { Account } from './account.ts'

/** What somebody is in an account. */
export type Role = 'owner' | 'approver' | 'auditor'

/** Roles that an owner can give. */
export const MEMBER_ROLES = ['approver', 'auditor'] as const

/**
 * What people do in an account. `decide`: requests that name them. `read_own`: requests that name them and what the trail
 * says of those. `read_all`: every request, the whole trail, exports. `manage`: keys, webhooks, policy, members, channels.
 */
export type Permission = 'decide' | 'read_own' | 'read_all' | 'manage'

const GRANTED: Readonly<Record<Role, readonly Permission[]>> = {
  owner: ['decide', 'read_own', 'read_all', 'manage'],
  approver: ['decide', 'read_own'],
  auditor: ['read_own', 'read_all'],
}

/** May somebody in this role do that? Nobody without a role may anything. */
export function may(role: Role | undefined, what: Permission): boolean {
  return role !== undefined && GRANTED[role].includes(what)
}

/** The person's role in the account; undefined for strangers and for who has not accepted an invitation. */
export function roleIn(account: Pick<Account, 'owner_id' | 'members'>, userId: string): Role | undefined {
  if (account.owner_id === userId) return 'owner'
  return account.members.find((member) => member.user_id === userId && member.state === 'active')?.role
}
