import type { ChatChannel } from './chat.ts'
import type { ChatTrouble } from './chat-trouble.ts'
import type { Policy } from './policy.ts'

/** A channel that is notified of every request, with the names it had when it was added, in visible form. */
export interface AccountChannel extends ChatChannel {
  name?: string
  workspace?: string
}

/** A person besides the owner who works in an account; with an invitation alone they may do nothing yet. */
export interface Member {
  user_id: string
  role: Exclude<Role, 'owner'>
  state: 'invited' | 'active'
  invited_at: Date
  joined_at: Date | null
  /** How the owner called them when they were invited; shown until they accept. */
  name?: string
}

/** Owned by one user; holds keys, members, policy and the monthly quota. */
export interface Account {
  id: string
  owner_id: string
  name: string
  policy: Policy
  members: Member[]
  /** Channels that are notified of every request. */
  channels: AccountChannel[]
  /** Chat workspaces that take no cards of the account now. */
  chat_troubles?: ChatTrouble[]
  /** Cards in channels name people; absent: they show references. */
  names_in_channels?: boolean
  /** Requests a calendar month (UTC), sandbox counted; 0 = no limit. */
  monthly_quota: number
  created_at: Date
  /** It never had a webhook: gone before the first one is stored. */
  no_webhooks?: true
  /** Grows with every change of name, policy and members. */
  version: number
}

/** Members an account may have, invited ones counted. */
export const MAX_MEMBERS = 50

/** Channels an account may have told. */
export const MAX_CHANNELS = 5

/** Is this channel notified of the account's requests? */
export function hasChannel(
  account: Account | undefined,
  { platform, tenant, channel }: ChatChannel,
): boolean {
  return (account?.channels ?? []).some(
    (known) => known.platform === platform && known.tenant === tenant && known.channel === channel,
  )
}

export const DEFAULT_MONTHLY_QUOTA = 10_000

/** What a person is in an account. */
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

/** May a person in this role do that? Without a role a person may do nothing. */
export function may(role: Role | undefined, what: Permission): boolean {
  return role !== undefined && GRANTED[role].includes(what)
}

/** The person's role in the account; undefined for strangers and for a person who has not accepted an invitation. */
export function roleIn(account: Pick<Account, 'owner_id' | 'members'>, userId: string): Role | undefined {
  if (account.owner_id === userId) return 'owner'
  return account.members.find((member) => member.user_id === userId && member.state === 'active')?.role
}
