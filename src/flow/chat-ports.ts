import type { AuditEntry } from '../domain/audit.ts'
import type { CardView, ReplyView } from '../domain/card-view.ts'
import type { Card, ChatIdentity, ChatPlatform, MessageRef } from '../domain/chat.ts'
import type { OutboxEvent } from '../domain/event.ts'

/** What became of one call to a platform. */
export type ChatOutcome<T> =
  | { ok: true; value: T; duration_ms: number }
  | {
      ok: false
      /** `unreachable`: trying again will not help (no such person, not in the channel, the app was removed). */
      outcome: 'unreachable' | 'rate_limited' | 'timeout' | 'failed'
      /** Whole seconds the platform asked for. */
      retry_after?: number
      /** The platform's own error code, for the log. */
      code?: string
      duration_ms: number
    }

/** Where a card goes: to a person, or to a channel of a workspace. */
export type ChatAddress = ChatIdentity | { platform: ChatPlatform; tenant: string; channel: string }

/** A chat platform as the verbs use it. Every call is exactly one attempt, ends by a deadline and never throws. */
export interface ChatPort {
  readonly platform: ChatPlatform
  /** Workspaces whose cards of this account go through here: all of them with one token, else those it installed. */
  tenantsOf(accountId: string): Promise<string[]>
  /** Looks a person up by e-mail, only to address a card (T37). */
  lookup(tenant: string, email: string): Promise<ChatOutcome<ChatIdentity | undefined>>
  post(to: ChatAddress, view: CardView): Promise<ChatOutcome<MessageRef>>
  update(message: MessageRef, view: CardView): Promise<ChatOutcome<void>>
  reply(message: MessageRef, view: ReplyView): Promise<ChatOutcome<void>>
}

/** What is known of a request when its cards are told of it. */
export interface CardNews {
  request_id: string
  version: number
  /** Lines to be said once under every card; known ones are not queued again. */
  replies: { id: string; kind: 'decided' | 'reminder' }[]
  at: Date
}

/** How an attempt at a card ends in the store. */
export interface CardResult {
  state: Card['state']
  next_at: Date
  tries: number
  /** The version that the message shows now. */
  shown: number
  message?: MessageRef
  /** Ids of replies that were said, or need not be said any more. */
  said: string[]
  dropped: string[]
  attempts: Card['attempts']
  events: OutboxEvent[]
  audit: AuditEntry[]
}

export interface CardStore {
  /** Those whose {request, platform, recipient} exists already are left out. */
  insertNew(cards: readonly Card[]): Promise<void>
  /** Raises `wanted` of every card of these requests, never lowers it, adds replies not yet known, and makes them due. */
  follow(news: readonly CardNews[]): Promise<void>
  /** As deliveries: the one due longest, or whose lease ended, until `leaseEnds`. */
  claim(query: {
    now: Date
    leaseEnds: Date
    busyConversations: readonly string[]
  }): Promise<Card | undefined>
  /**
   * Writes what became of the claimed attempt; when `wanted` has grown or replies were added meanwhile, the card stays due.
   * @returns false when the claim is no longer the newest
   */
  finish(id: string, claim: number, result: CardResult): Promise<boolean>
  find(id: string): Promise<Card | undefined>
  ofRequest(requestId: string): Promise<Card[]>
  nextDue(): Promise<Date | undefined>
}

/** A one-time link asked for in chat: its token is in the link's fragment, only the keyed hash is stored. */
export interface ChatLink {
  id: string
  /** `link`: ties the identity to who signs in; `browser`: makes the browser known for e-mail and code sign-in. */
  kind: 'link' | 'browser'
  token_hash: string
  identity: ChatIdentity
  /** How the platform calls person and workspace, shown before anything is tied. */
  shown_as: { person: string; workspace: string }
  /** `browser`: whose. */
  user_id?: string
  expires_at: Date
  created_at: Date
}

export interface ChatLinkStore {
  insert(link: ChatLink): Promise<void>
  /** Unused and unexpired by the database's clock. */
  find(tokenHash: string, kind: ChatLink['kind']): Promise<ChatLink | undefined>
  /** @returns false when somebody else used it, or it expired */
  consume(id: string): Promise<boolean>
}

/** A workspace that installed the app by OAuth. The tokens are sealed with the tenant as associated data. */
export interface ChatInstallation {
  platform: ChatPlatform
  tenant: string
  /** Accounts whose owners installed it. */
  account_ids: string[]
  workspace_name: string
  sealed: string
  installed_at: Date
}

export interface ChatInstallationStore {
  put(
    installation: Omit<ChatInstallation, 'account_ids'>,
    accountId: string,
    audit: AuditEntry,
  ): Promise<void>
  find(platform: ChatPlatform, tenant: string): Promise<ChatInstallation | undefined>
  tenantsOf(platform: ChatPlatform, accountId: string): Promise<string[]>
  /** Uninstalled, or all tokens revoked: tokens go, cards to it become unreachable. */
  remove(platform: ChatPlatform, tenant: string, audit: AuditEntry): Promise<boolean>
}
