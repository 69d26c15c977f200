import type { AuditEntry } from './audit.ts'
import type { FactorNotice } from './factor-notice.ts'

export type ChatPlatform = 'slack' | 'teams'

/**
 * A person on a chat platform: Slack `team_id` + `user_id`, Teams `tid` + `aadObjectId`. Only a link made by the signed-in
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
  /** How the platform named them then, in visible form: for people to recognise, never proof of anything. */
  shown_as?: { person: string; workspace: string }
}

/** One line of text, for unique indexes: `slack:T024BE7LD:U023BECGF`. */
export function identityKey({ platform, tenant, user }: ChatIdentity): string {
  return `${platform}:${tenant}:${user}`
}

/** Stands for a workspace that its platform has not named yet; no platform names one so. */
export const UNKNOWN_TENANT = '?'

/** A channel of a workspace. */
export interface ChatChannel {
  platform: ChatPlatform
  tenant: string
  channel: string
}

/**
 * Whom a card is for. The channel's card shows action, requester and status, never the context. A notice goes to one
 * identity: all of a person's are notified.
 */
export type CardRecipient =
  | { kind: 'approver'; user_id: string }
  | { kind: 'identity'; user_id: string; tenant: string; user: string }
  | { kind: 'channel'; tenant: string; channel: string }

/**
 * The recipient on its platform as one line of text. It names the card of a request, which has one per recipient, and the cards
 * that are posted and edited one after the other: they are in one conversation.
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

/** Where a posted message is; what the platform needs to edit it and to answer in its thread. */
export interface MessageRef {
  tenant: string
  /** Slack: the `D…` or `C…` id; Teams: the conversation reference as JSON text. */
  conversation: string
  /** Slack `ts`; Teams activity id. */
  message: string
  /** The person it was posted to; absent for channels. */
  user?: string
  /** That person was found by e-mail address alone. */
  by_email?: true
}

/** A line to be said under a card, once. */
export interface CardReply {
  /** `evt_…` of what it is about: the same news is never queued twice. */
  id: string
  kind: 'decided' | 'reminder'
  /** When that happened. */
  at: Date
  /** A reminder by the policy, not by a caller. */
  automatic?: true
  state: 'due' | 'said' | 'dropped'
}

/** Replies that a card remembers, so that the same news is not queued again. */
export const REPLIES_KEPT = 50

/** One call to the platform, or a claim that never reported back. */
export interface CardAttempt {
  at: Date
  what: 'post' | 'update' | 'reply'
  outcome: 'accepted' | 'unreachable' | 'unavailable' | 'rate_limited' | 'timeout' | 'failed' | 'interrupted'
  duration_ms: number
}

/** Attempts that a card remembers. */
export const CARD_ATTEMPTS_KEPT = 50

/**
 * One message about a request, about an agent's request for a key (`bst_…`) or about a change of a person's factors (the
 * `evt_…` of its entry, with the `notice`; posted once and never edited): to one recipient on one platform there is
 * exactly one. `wanted` is the version of the request that it should show, `shown` the one it shows: a card that shows an older version is edited,
 * and a late edit never shows less than a newer one.
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
   * `idle`: nothing to do until the next change. `unreachable`: the platform knows no one to send it to; said on the hosted
   * page and in the delivery log.
   */
  state: 'due' | 'leased' | 'idle' | 'unreachable'
  /** Only ever grows. */
  wanted: number
  /** 0 while nothing was posted. */
  shown: number
  message?: MessageRef
  /** A post whose answer was lost may stand somewhere, with its buttons. */
  perhaps_posted?: true
  /** When the platform had accepted the message: reminders from before are said by it. */
  posted_at?: Date
  /** A process that lost the claim may have edited the message to an older version since: edit it whatever `shown` says. */
  stale?: true
  replies: CardReply[]
  /** Grows with all news for the card: news that arrives while a process works on it keeps it due. */
  news: number
  /** Due: when. Leased: when the lease ends. */
  next_at: Date
  /** Failed attempts in a row. */
  tries: number
  /** Grows with every claim: a process with an older number can no longer write (T82). */
  fence: number
  /** Newest last, at most `CARD_ATTEMPTS_KEPT`; coarse classes as in deliveries. */
  attempts: CardAttempt[]
  created_at: Date
  audit: AuditEntry[]
}

/** How the platform itself names a person, for people to recognise. Never safe markup, never proof of anything. */
export interface ShownIdentity {
  person: string
  workspace: string
  /** The channel the link is about, `channel` links only. */
  channel?: string
}

/**
 * A one-time link that a person asked for in chat. Only the token's keyed hash is stored; the token travels in the link's
 * fragment and alone allows nothing: `link` and `channel` need a signed-in person's fresh proof, `browser` a sign-in code.
 */
export interface ChatLink {
  /** `cln_…` */
  id: string
  /** Link this identity to a person; make a browser known; tell a channel of every request of an account. */
  kind: 'link' | 'browser' | 'channel'
  token_hash: string
  /** Who asked for it. */
  identity: ChatIdentity
  shown_as: ShownIdentity
  /** The person who had linked the identity then: `browser` and `channel` only. */
  user_id?: string
  /** `channel` only. */
  channel?: ChatChannel
  expires_at: Date
  created_at: Date
}
