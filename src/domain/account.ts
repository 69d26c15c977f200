import type { AuditEntry } from './audit.ts'
import type { ChatChannel } from './chat.ts'
import type { OutboxEvent } from './event.ts'
import type { Role } from './permission.ts'
import type { KeyPolicy, Policy } from './policy.ts'

/** A channel that is told of every request, with the names it had when it was added, in visible form. */
export interface AccountChannel extends ChatChannel {
  name?: string
  workspace?: string
}

/** Somebody besides the owner who works in an account; whoever is only invited may nothing yet. */
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
  /** Channels that are told of every request. */
  channels: AccountChannel[]
  /** Requests a calendar month (UTC), sandbox counted; 0 = no limit. */
  monthly_quota: number
  created_at: Date
  /** Grows with every change of name, policy and members. */
  version: number
}

/** Members an account may have, invited ones counted. */
export const MAX_MEMBERS = 50

/** Channels an account may have told. */
export const MAX_CHANNELS = 5

/** Is this channel told of the account's requests? */
export function hasChannel(
  account: Account | undefined,
  { platform, tenant, channel }: ChatChannel,
): boolean {
  return (account?.channels ?? []).some(
    (known) => known.platform === platform && known.tenant === tenant && known.channel === channel,
  )
}

export const DEFAULT_MONTHLY_QUOTA = 10_000

export const SCOPES = ['approval:create', 'approval:read', 'approval:verify'] as const
export type Scope = (typeof SCOPES)[number]

/** An API key as it is stored: never the key itself. */
export interface ApiKey {
  id: string
  account_id: string
  name: string
  /** HMAC-SHA256 of the raw key under the pepper; absent on the internal pseudo-key, which no header can name. */
  key_hash?: string
  /** First 14 characters of the raw key. */
  key_prefix: string
  scopes: Scope[]
  sandbox: boolean
  /** Narrows the account's policy for the requests of this key; absent: the account's alone holds. */
  policy?: KeyPolicy
  /** Used by a source-control integration: everything it asks is high impact. */
  source_control?: true
  /** The account's pseudo-key for the internal service token: gives it limits, quota and a webhook secret. */
  internal?: true
  /** Rotation counter of the derived webhook secret. */
  secret_version: number
  created_at: Date
  last_used_at: Date | null
  revoked_at: Date | null
  outbox: OutboxEvent[]
  audit: AuditEntry[]
}
