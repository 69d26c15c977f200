import type { ChatOutcome } from '../../src/flow/ports.ts'

/** A card, and the words for places that draw none: notifications, lists of chats. */
export interface BotMessage {
  card: object
  text: string
}

/** A conversation as the bot needs it; plain JSON, kept in the store. */
export interface BotConversation {
  kind: 'person' | 'group' | 'channel'
  service_url: string
  conversation_id: string
  /** Of a channel: the team it belongs to, where Teams said so. */
  team?: string | undefined
}

/** Where a message goes: into a conversation, to a person whose conversation has to be opened first, as a new thread of a channel. */
export type BotAddress =
  | BotConversation
  | { kind: 'unmet'; service_url: string; user: string }
  | { kind: 'thread'; service_url: string; channel: string }

/** Where and by whom something was said or pressed. The service address has passed every check. */
export interface BotSource {
  conversation: BotConversation
  /** Tells repeats of the same activity in the same conversation; may be empty. */
  activity_id: string
  /** The message whose button was pressed; may be missing. */
  message_id?: string
  /** `aadObjectId` in lower case; absent for whatever is no person of the tenant. */
  user?: string
  /** What the same person is called among the members of the conversation; it means nothing elsewhere. */
  member?: string
  user_name?: string
  /** Group chats and channels: the id without that of a thread. */
  channel?: string
  channel_name?: string
}

/** A button of a card was pressed. */
export interface BotClick extends BotSource {
  verb: string
  data: unknown
  /** An older client, which took the button's fallback: it cannot show an answer in place of the card. */
  fallback: boolean
}

/** What the presser sees: another card in place of theirs, or a sentence. */
export type ClickAnswer = { card: object } | { words: string }

/** A person wrote to the bot; mentions of it and the markup of Teams are undone. */
export interface BotCommand extends BotSource {
  text: string
}

/** The bot was added (`here`), or removed; with a team of the conversation to or from all of its channels. */
export interface BotPresence extends BotSource {
  here: boolean
  /** A person has just got the app for themselves. */
  new_to_person: boolean
}

/** What Teams tells us, after every check. */
export interface BotEvents {
  /** Must answer within seconds; may come twice. */
  onClick(click: BotClick): Promise<ClickAnswer>
  onCommand(command: BotCommand): Promise<void>
  onInstalled(presence: BotPresence): Promise<void>
}

/** Where a message has got to. */
export interface SentMessage {
  conversation_id: string
  /** Empty when Teams told none; such a message cannot be edited. */
  message_id: string
}

/** What the directory of the tenant says about a person. */
export interface BotUser {
  email?: string
  name?: string
}

/** What we tell Teams. Every call is exactly one attempt, ends by a deadline and never throws. */
export interface BotCalls {
  post(to: BotAddress, message: BotMessage): Promise<ChatOutcome<SentMessage>>
  update(conversation: BotConversation, messageId: string, message: BotMessage): Promise<ChatOutcome<void>>
  /** @param member as `BotSource.member` */
  resolveUser(conversation: BotConversation, member: string): Promise<ChatOutcome<BotUser>>
}

/**
 * Everything that is asked of a bot library: three functions in, three out, and the intake between them. Its end of life is
 * then the end of one file.
 */
export interface TeamsBot extends BotCalls {
  /**
   * Takes in one activity whose own checks have passed, has the library check its token once more, and calls `events`.
   * @returns what to answer Teams
   * @throws Refusal `chat_token_refused`
   */
  receive(
    authorization: string,
    activity: object,
    events: BotEvents,
  ): Promise<{ status: number; body?: unknown }>
}
