import type { ChatChannel } from './chat.ts'
import type { ChatTrouble } from './chat-trouble.ts'
import type { Volumes } from './hearing.ts'
import type { Policy } from './policy.ts'

/** A channel that is notified of every request. Its names are from when it was added, in visible form. */
export interface AccountChannel extends ChatChannel {
  name?: string
  workspace?: string
}

/** A person other than the owner who works in an account; while only invited, they may do nothing. */
export interface Member {
  user_id: string
  role: Exclude<Role, 'owner'>
  state: 'invited' | 'active'
  invited_at: Date
  joined_at: Date | null
  /** The name the owner gave them in the invitation; shown until they accept. */
  name?: string
}

/** An account: owned by one user; holds keys, members, policy and the monthly quota. */
export interface Account {
  id: string
  owner_id: string
  name: string
  policy: Policy
  members: Member[]
  /** Channels that are notified of every request. */
  channels: AccountChannel[]
  /** Chat workspaces and channels that currently take none of the account's cards. */
  chat_troubles?: ChatTrouble[]
  /** Whether cards in channels name people; absent: they show references. */
  names_in_channels?: boolean
  /** What people who chose nothing themselves are told of the account's requests; absent: everything. */
  volumes?: Volumes
  /** What approvers choose from when they reject; absent: `REJECT_REASONS`. */
  reject_reasons?: string[]
  /** Requests per calendar month (UTC), including sandbox requests; 0 = no limit. */
  monthly_quota: number
  created_at: Date
  /** Days until the account's finished requests are erased; never longer than the service's own `RETENTION_DAYS`; 0 counts as absent. */
  retention_days?: number
  /** All requests made until then are erased. */
  erased_until?: Date
  /** Set while the account has never had a webhook; removed before the first one is stored. */
  no_webhooks?: true
  /** Grows with every change of name, policy and members. */
  version: number
}

/** Reasons for rejecting, as long as an account has no list of its own. */
export const REJECT_REASONS: readonly string[] = [
  'Not enough information',
  'Wrong amount or recipient',
  'Not now',
  'Not allowed',
]

/** Most reasons of an account. */
export const MOST_REASONS = 8

/** Most members of an account, including invited ones. */
export const MAX_MEMBERS = 50

/** Most channels that an account may have notified. */
export const MAX_CHANNELS = 5

/** Checks whether this channel is notified of the account's requests. */
export function hasChannel(
  account: Account | undefined,
  { platform, tenant, channel }: ChatChannel,
): boolean {
  return (account?.channels ?? []).some(
    (known) => known.platform === platform && known.tenant === tenant && known.channel === channel,
  )
}

export const DEFAULT_MONTHLY_QUOTA = 10_000

/** A person's role in an account. */
export type Role = 'owner' | 'approver' | 'auditor'

/** Roles that an owner can give. */
export const MEMBER_ROLES = ['approver', 'auditor'] as const

/**
 * What a role allows in an account. `decide`: requests that name the person. `read_own`: requests that name the person, and
 * their audit entries. `read_all`: every request, the whole trail, exports. `manage`: keys, webhooks, policy, members, channels.
 */
export type Permission = 'decide' | 'read_own' | 'read_all' | 'manage'

const GRANTED: Readonly<Record<Role, readonly Permission[]>> = {
  owner: ['decide', 'read_own', 'read_all', 'manage'],
  approver: ['decide', 'read_own'],
  auditor: ['read_own', 'read_all'],
}

/** Checks whether a role has a permission. A person without a role may do nothing. */
export function may(role: Role | undefined, what: Permission): boolean {
  return role !== undefined && GRANTED[role].includes(what)
}

/** Returns the person's role in the account; undefined for strangers and for people who have not accepted an invitation. */
export function roleIn(account: Pick<Account, 'owner_id' | 'members'>, userId: string): Role | undefined {
  if (account.owner_id === userId) return 'owner'
  return account.members.find((member) => member.user_id === userId && member.state === 'active')?.role
}
