import type { CardView, ConsentView, MovedView, NoticeView, ReplyView } from '../domain/card-view.ts'
import type { ChatChannel, ChatIdentity, ChatPlatform, MessageRef } from '../domain/chat.ts'

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
export type ChatAddress = ChatIdentity | ChatChannel

/** A workspace whose people get cards: of Slack, or an organisation in Teams. */
interface ChatWorkspace {
  tenant: string
  /** As it was told last. */
  name?: string
  /** Only where owners install the app. */
  installed_at?: Date
}

/** How a platform is set up: `one` workspace by the operator, for all accounts; `many`, whose owners install the app. */
export interface ChatSetup {
  mode: 'one' | 'many'
  /** Those of the account; none while the platform has not said which one it is. */
  workspaces: ChatWorkspace[]
}

/** A chat platform as the verbs use it. Every call is exactly one attempt, ends by a deadline and never throws. */
export interface ChatPort {
  readonly platform: ChatPlatform
  /** `lookup` reads our own store alone: its answers cost nothing, and hold for the moment only. */
  readonly lookupIsLocal?: true
  /**
   * Workspaces whose cards of this account go through here: all of them with one token, else those it installed. Holds
   * `UNKNOWN_TENANT` while the platform has not said which it is: cards are made meanwhile, and wait.
   */
  tenantsOf(accountId: string): Promise<string[]>
  /** How it is set up for the account, for its owner to see. Absent: by the operator, for what `tenantsOf` says. */
  setupFor?(accountId: string): Promise<ChatSetup>
  /** Looks a person up by e-mail, only to address a card (T37). */
  lookup(tenant: string, email: string): Promise<ChatOutcome<ChatIdentity | undefined>>
  post(to: ChatAddress, view: CardView | ConsentView | NoticeView): Promise<ChatOutcome<MessageRef>>
  update(message: MessageRef, view: CardView | ConsentView | MovedView): Promise<ChatOutcome<void>>
  reply(message: MessageRef, view: ReplyView): Promise<ChatOutcome<void>>
}

/** How the platform itself names somebody, for people to recognise. Never safe markup, never proof of anything. */
export interface ShownIdentity {
  person: string
  workspace: string
  /** The channel the link is about, `channel` links only. */
  channel?: string
}

/**
 * A one-time link that somebody asked for in chat. Only the token's keyed hash is stored; the token travels in the link's
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

/** A workspace in which the app is installed. */
export interface ChatInstallation {
  platform: ChatPlatform
  /** Slack `team_id` (of an organisation-wide installation the enterprise id), Teams `tid`. */
  tenant: string
  workspace_name: string
  /** Accounts whose cards it gets: those whose owners installed it. */
  account_ids: string[]
  /** The platform's tokens, sealed; what is inside is the adapter's affair. */
  sealed: string
  installed_at: Date
}

export interface ChatInstallationStore {
  /** Inserts, or replaces name and tokens and adds the account. */
  put(installation: ChatInstallation): Promise<void>
  find(platform: ChatPlatform, tenant: string): Promise<ChatInstallation | undefined>
  list(platform: ChatPlatform): Promise<ChatInstallation[]>
  /** Tenants whose cards of this account go through here. */
  tenantsOf(platform: ChatPlatform, accountId: string): Promise<string[]>
  /** Those of an account, by tenant. */
  ofAccount(platform: ChatPlatform, accountId: string): Promise<ChatInstallation[]>
  /** @returns what was removed */
  remove(platform: ChatPlatform, tenant: string): Promise<ChatInstallation | undefined>
  /**
   * Takes the account away from it; what no account has any more is deleted, with its tokens.
   * @returns what it was before; undefined when the account did not have it
   */
  leave(platform: ChatPlatform, tenant: string, accountId: string): Promise<ChatInstallation | undefined>
}

/** Where somebody, or a channel, can be written to on a platform that has to be met first (Teams conversation references). */
export interface ChatConversation {
  platform: ChatPlatform
  tenant: string
  /** A person's or a channel's id on the platform. */
  who: string
  kind: 'person' | 'channel'
  /** The platform's own reference as JSON text; what is inside is the adapter's affair. */
  reference: string
  /** Normalised; as the platform's directory says it: addresses a card, proves nothing (T37). */
  email?: string
  /** As the platform names them; never safe markup. */
  name?: string
  seen_at: Date
}

export interface ChatConversationStore {
  /** Inserts or replaces. */
  put(conversation: ChatConversation): Promise<void>
  /** Adds what is known of a conversation that is there; one that was removed stays removed. Nothing given, nothing written. */
  describe(
    platform: ChatPlatform,
    tenant: string,
    who: string,
    known: Partial<Pick<ChatConversation, 'email' | 'name'>>,
  ): Promise<void>
  find(platform: ChatPlatform, tenant: string, who: string): Promise<ChatConversation | undefined>
  /** @returns the one person with that address; undefined as well when there are several: nobody's guess gets a card */
  findByEmail(platform: ChatPlatform, tenant: string, email: string): Promise<ChatConversation | undefined>
  /** The one seen last: tells by which service address the tenant is reached. */
  newest(platform: ChatPlatform, tenant: string): Promise<ChatConversation | undefined>
  remove(platform: ChatPlatform, tenant: string, who: string): Promise<void>
}
