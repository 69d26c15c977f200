import type { AuditEntry } from './audit.ts'
import type { OutboxEvent } from './event.ts'

export type ChatPlatform = 'slack' | 'teams'

/**
 * Somebody on a chat platform: Slack `team_id` + `user_id`, Teams `tid` + `aadObjectId`. Only a link made by the signed-in
 * person themselves says who that is here; an e-mail address in a chat profile merely addresses a card (T37).
 */
export interface ChatIdentity {
  platform: ChatPlatform
  tenant: string
  user: string
}

/** An identity that a person has linked. */
export interface LinkedIdentity extends ChatIdentity {
  linked_at: Date
}

/** One line of text, for unique indexes: `slack:T024BE7LD:U023BECGF`. */
export function identityKey({ platform, tenant, user }: ChatIdentity): string {
  return `${platform}:${tenant}:${user}`
}

/** Whom a card is for. The channel's card shows action, requester and status, never the context. */
export type CardRecipient = { kind: 'approver'; user_id: string } | { kind: 'channel'; channel: string }

/** Where a posted message is; what the platform needs to edit it and to answer in its thread. */
export interface MessageRef {
  tenant: string
  /** Slack: the `D…` or `C…` id; Teams: the conversation reference as JSON text. */
  conversation: string
  /** Slack `ts`; Teams activity id. */
  message: string
}

/** A line to be said under a card, once. */
export interface CardReply {
  /** `evt_…` of what it tells of: the same news is never queued twice. */
  id: string
  kind: 'decided' | 'reminder'
  state: 'due' | 'said' | 'dropped'
}

/**
 * One message about a request: to one recipient on one platform there is exactly one. `wanted` is the version of the request
 * that it should show, `shown` the one it shows: who is behind is edited, and a late edit never shows less than a newer one.
 */
export interface Card {
  /** `crd_…` */
  id: string
  account_id: string
  request_id: string
  platform: ChatPlatform
  recipient: CardRecipient
  /** `unreachable`: the platform knows nobody to send it to; said on the hosted page and in the delivery log. */
  state: 'due' | 'leased' | 'idle' | 'unreachable'
  wanted: number
  shown: number
  message?: MessageRef
  replies: CardReply[]
  next_at: Date
  tries: number
  claim: number
  /** Newest last, bounded; coarse classes as in deliveries. */
  attempts: { at: Date; what: 'post' | 'update' | 'reply'; outcome: string; duration_ms: number }[]
  created_at: Date
  outbox: OutboxEvent[]
  audit: AuditEntry[]
}
