import type { ChatOutcome } from '../../src/ports/ports.ts'

/** A card, and the words for places that draw no card: notifications, lists of chats. */
export interface BotMessage {
  card: object
  text: string
}

/** A conversation in the form that the bot needs; plain JSON, kept in the store. */
export interface BotConversation {
  kind: 'person' | 'group' | 'channel'
  service_url: string
  conversation_id: string
  /** The team of a channel, if Teams has named it. */
  team?: string | undefined
}

/** A message's destination: a conversation, a person whose conversation must be opened first, or a new thread in a channel. */
export type BotAddress =
  | BotConversation
  | { kind: 'unmet'; service_url: string; user: string }
  | { kind: 'thread'; service_url: string; channel: string }

/** Where and by whom a message was written or a button pressed. The service address has passed every check. */
export interface BotSource {
  conversation: BotConversation
  /** Identifies repeats of the same activity in the same conversation; may be empty. */
  activity_id: string
  /** The message whose button was pressed; may be missing. */
  message_id?: string
  /** `aadObjectId` in lower case; absent if the sender is not a person of the tenant. */
  user?: string
  /** The person's id among the members of the conversation; not valid elsewhere. */
  member?: string
  user_name?: string
  /** Group chats and channels: the id, without the thread's part. */
  channel?: string
  channel_name?: string
}

/** A click on a card's button. */
export interface BotClick extends BotSource {
  verb: string
  data: unknown
  /** An older client used the button's fallback; it cannot show an answer in place of the card. */
  fallback: boolean
}

/** The answer to a click: another card in place of the clicked one, or a sentence. */
export type ClickAnswer = { card: object } | { words: string }

/** A person's message to the bot, without mentions of the bot and Teams' markup. */
export interface BotCommand extends BotSource {
  text: string
}

/** The bot, or the conversation with it, was added or restored (`here`) or removed; in a team usually in all its channels. */
export interface BotPresence extends BotSource {
  here: boolean
  /** Only the channel is concerned, not the rest of its team. */
  of_channel_alone: boolean
  /** A person has just installed the app for themselves. */
  new_to_person: boolean
}

/** The meaning of an activity for us. */
export type BotEvent =
  | { kind: 'click'; click: BotClick }
  | { kind: 'command'; command: BotCommand }
  | { kind: 'presence'; presence: BotPresence }
  /** An unknown invoke: the answer must say that we do not support it. */
  | { kind: 'unknown_invoke' }
  | { kind: 'nothing' }

/** Events from Teams, after every check. */
export interface BotEvents {
  /** Must answer within seconds; the same click may arrive twice. */
  onClick(click: BotClick): Promise<ClickAnswer>
  onCommand(command: BotCommand): Promise<void>
  onInstalled(presence: BotPresence): Promise<void>
}

/** Where a sent message is. */
export interface SentMessage {
  conversation_id: string
  /** Empty when Teams gave no id; such a message cannot be edited. */
  message_id: string
}

/** What the tenant's directory says about a person. */
export interface BotUser {
  email?: string
  name?: string
}

/** Our calls to Teams. Every call is exactly one attempt, ends by a deadline and never throws. */
export interface BotCalls {
  post(to: BotAddress, message: BotMessage): Promise<ChatOutcome<SentMessage>>
  update(conversation: BotConversation, messageId: string, message: BotMessage): Promise<ChatOutcome<void>>
  /** @param member see `BotSource.member` */
  resolveUser(conversation: BotConversation, member: string): Promise<ChatOutcome<BotUser>>
}

/**
 * Everything that we need from a bot library: three calls out, three events in, and `receive` between them. When the library
 * is replaced, only one file has to change.
 */
export interface TeamsBot extends BotCalls {
  /**
   * Runs the turn of an activity that has passed every check, its token's too: passes its event on to `events`.
   * @param activity what we read of the body; the library sees nothing else of it
   * @returns the answer for Teams
   */
  receive(
    activity: { type: string },
    event: BotEvent,
    events: BotEvents,
  ): Promise<{ status: number; body?: unknown }>
}
