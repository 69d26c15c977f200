import type { ChatChannel, ChatIdentity } from '../../domain/chat.ts'
import type { ShownIdentity } from '../chat-ports.ts'
import type { VerdictView } from './view-verdict.ts'

/** Who says something to us in chat, and where. */
export interface ChatSpeaker {
  identity: ChatIdentity
  shown_as: ShownIdentity
  /** The channel it was said in; absent in a conversation with the app alone. */
  channel?: ChatChannel
}

/** A request that waits for somebody. `action` is the visible form, in full; the renderer cuts and says by how much. */
export interface PendingRow {
  request_id: string
  action: string
  requested_by: string
  high_impact: boolean
  expires_at: Date
  url: string
}

/** What we answer to a command: shown to the speaker alone, unless a verdict is to be shared. */
export type ChatAnswer =
  | { kind: 'verdict'; view: VerdictView; share: boolean }
  | {
      kind: 'help'
      /** What was said is no command. */
      unknown?: true
      /** Name and account of the person who linked this identity; absent when nobody did. */
      linked_as?: string
      commands: { usage: string; does: string }[]
    }
  /** A one-time link; `purpose` words are ours. */
  | { kind: 'link'; purpose: 'link' | 'browser' | 'channel'; url: string; expires_at: Date }
  | {
      kind: 'pending'
      rows: PendingRow[]
      more: number
      /** Agents that ask for a key of the speaker's account; absent when none does. */
      agents?: number
      /** The account page, where all of it is listed. */
      open: string
    }
  /** Our words alone: nothing of a caller is in them. */
  | { kind: 'notice'; tone: 'done' | 'refused' | 'problem'; heading: string; sentence: string }
