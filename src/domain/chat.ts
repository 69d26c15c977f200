import type { AuditEntry } from './audit.ts'
import type { FactorNotice } from './factor-notice.ts'

export type ChatPlatform = 'slack' | 'teams'

/**
 * A person on a chat platform: Slack `team_id` + `user_id`, Teams `tid` + `aadObjectId`. Only a link made by the signed-in
 * person themselves ties it to a user; an e-mail address in a chat profile merely addresses a card (T37).
 */
export interface ChatIdentity {
  platform: ChatPlatform
  tenant: string
  user: string
}

/** An identity that a person has linked. */
export interface LinkedIdentity extends ChatIdentity {
  linked_at: Date
  /** The names on the platform at that time, in visible form: for people to recognise, never proof of anything. */
  shown_as?: { person: string; workspace: string }
}

/** Writes an identity as one line of text, for unique indexes: `slack:T024BE7LD:U023BECGF`. */
export function identityKey({ platform, tenant, user }: ChatIdentity): string {
  return `${platform}:${tenant}:${user}`
}

/** Stands for a workspace whose id the platform has not told yet; no platform uses this id. */
export const UNKNOWN_TENANT = '?'

/** A channel of a workspace. */
export interface ChatChannel {
  platform: ChatPlatform
  tenant: string
  channel: string
}

/**
 * The recipient of a card. A channel's card shows action, requester and status, never the context. A notice's card goes to
 * one identity; each of a person's identities gets its own. A person whom a request names in `notify` counts as its `approver`
 * here, whether or not they are asked.
 */
export type CardRecipient =
  | { kind: 'approver'; user_id: string }
  | { kind: 'identity'; user_id: string; tenant: string; user: string }
  | { kind: 'channel'; tenant: string; channel: string }

/**
 * Writes a recipient on its platform as one line of text. A request has one card per recipient, so this identifies the card.
 * Cards with the same key are in one conversation, so they are posted and edited one after the other.
 */
export function recipientKey({ platform, recipient }: Pick<Card, 'platform' | 'recipient'>): string {
  switch (recipient.kind) {
    case 'approver':
      return `${platform}:approver:${recipient.user_id}`
    case 'identity':
      return `${platform}:identity:${recipient.tenant}:${recipient.user}`
    case 'channel':
      return `${platform}:channel:${recipient.tenant}:${recipient.channel}`
  }
}

/** The place of a posted message: all that the platform needs to edit it and to reply in its thread. */
export interface MessageRef {
  tenant: string
  /** Slack: the `D…` or `C…` id; Teams: the conversation reference as JSON text. */
  conversation: string
  /** Slack `ts`; Teams activity id. */
  message: string
  /** The person to whom the message was posted; absent for channels. */
  user?: string
  /** That person was found by e-mail address alone, without a linked identity. */
  by_email?: true
  /** They were looked up although they had linked these identities (`identityKey`), to none of which a message could be sent. */
  instead_of?: string[]
}

/** A reply to be posted once, in the thread under a card. */
export interface CardReply {
  /** `evt_…` of the event that the reply is about, so that the same news is never queued twice. */
  id: string
  /** `decided`: the request is over. That it expired or was withdrawn is said only where the request wants its outcome told. */
  kind: 'decided' | 'reminder'
  /** Time of that event. */
  at: Date
  /** The policy reminds, not a caller. */
  automatic?: true
  state: 'due' | 'said' | 'dropped'
}

/** Most replies that a card keeps, so that the same news is not queued again. */
export const REPLIES_KEPT = 50

/** One call to the platform, or a claim that never reported back. */
export interface CardAttempt {
  at: Date
  what: 'post' | 'update' | 'reply'
  outcome: 'accepted' | 'unreachable' | 'unavailable' | 'rate_limited' | 'timeout' | 'failed' | 'interrupted'
  duration_ms: number
}

/**
 * One message about a request, about a batch of requests (`bat_…`), about an agent's request for a key (`bst_…`) or about a change of a person's factors (the
 * `evt_…` of its entry, with the `notice`; posted once and never edited). There is exactly one per subject, recipient and
 * platform. `wanted` is the version that the card should show, `shown` the version that it shows: an older card is edited,
 * and a late edit never replaces a newer version by an older one.
 */
export interface Card {
  /** `crd_…` */
  id: string
  account_id: string
  request_id: string
  platform: ChatPlatform
  recipient: CardRecipient
  notice?: FactorNotice
  /**
   * `idle`: nothing to do until the next change. `unreachable`: the platform has no one to send the card to; the hosted page and
   * the delivery log say so.
   */
  state: 'due' | 'leased' | 'idle' | 'unreachable'
  /** Only ever grows. */
  wanted: number
  /** 0 while nothing was posted. */
  shown: number
  message?: MessageRef
  /** The answer to a post was lost, so a message with buttons may stand in the chat. */
  perhaps_posted?: true
  /** When the platform accepted the message. Earlier reminders need no reply: the message itself served as one. */
  posted_at?: Date
  /** A process that lost its claim may have edited the message to an older version since: edit it whatever `shown` says. */
  stale?: true
  replies: CardReply[]
  /** Grows with every news for the card: news that arrives while a process works on the card keeps the card due. */
  news: number
  /** When the card is due, or when its lease ends. */
  next_at: Date
  /** Failed attempts in a row. */
  tries: number
  /** Fencing token. Grows with every claim; a process with an older number can no longer write (T82). */
  fence: number
  /** Newest last, at most `ATTEMPTS_KEPT`; coarse classes as in deliveries. */
  attempts: CardAttempt[]
  created_at: Date
  audit: AuditEntry[]
}

/** The platform's own names, for people to recognise. Never safe markup, never proof of anything. */
export interface ShownIdentity {
  person: string
  workspace: string
  /** The channel the link is about, `channel` links only. */
  channel?: string
}

/**
 * A one-time link that a person asked for in chat. Only the token's keyed hash is stored. The token travels in the link's
 * fragment and allows nothing by itself: `link` and `channel` need a signed-in person's fresh proof, `browser` a sign-in code.
 */
export interface ChatLink {
  /** `cln_…` */
  id: string
  /** Purpose: link this identity to a person; make a browser known; notify a channel of every request of an account. */
  kind: 'link' | 'browser' | 'channel'
  token_hash: string
  /** The identity that asked for the link. */
  identity: ChatIdentity
  shown_as: ShownIdentity
  /** The person to whom the identity was linked at that time: `browser` and `channel` only. */
  user_id?: string
  /** `channel` only. */
  channel?: ChatChannel
  expires_at: Date
  created_at: Date
}
