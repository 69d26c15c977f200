import type { ChatChannel, ChatIdentity, ChatPlatform, ShownIdentity } from '../../domain/chat.ts'
import type { TextWarnings } from '../../domain/text-warnings.ts'
import type { VerdictView } from './verdict.ts'

/** The person who wrote to the app in chat, and where. */
export interface ChatSpeaker {
  identity: ChatIdentity
  shown_as: ShownIdentity
  /** The channel; absent in a conversation with the app alone. */
  channel?: ChatChannel
}

/** A request that waits for a person. `action` is its complete visible form; the renderer shortens it and shows by how much. */
export interface PendingRow extends Partial<TextWarnings> {
  request_id: string
  action: string
  requested_by: string
  high_impact: boolean
  expires_at: Date
  url: string
}

/** The answer to a command, shown to the speaker alone unless a verdict is shared. */
export type ChatAnswer =
  | { kind: 'verdict'; view: VerdictView; share: boolean }
  | {
      kind: 'help'
      /** The text was not a command. */
      unknown?: true
      /** Name and account of the person who linked this identity; absent while it is not linked. */
      linked_as?: string
      commands: { usage: string; does: string }[]
    }
  /** A one-time link; the words of `purpose` are ours. */
  | {
      kind: 'link'
      purpose: 'link' | 'browser' | 'channel'
      url: string
      expires_at: Date
      /** The speaker wrote something after the command; it is ignored. */
      words_ignored?: true
    }
  | {
      kind: 'pending'
      rows: PendingRow[]
      more: number
      /** The number of agents that ask for a key of the speaker's account; absent when there are none. */
      agents?: number
      /** Address of the page that lists all of them. */
      open: string
    }
  /** Only our own words, without any text of a caller. */
  | { kind: 'notice'; tone: 'done' | 'refused' | 'problem'; heading: string; sentence: string }

export type Notice = ChatAnswer & { kind: 'notice' }

/** Returns the command as it is typed on that platform. */
export function commandLine(platform: ChatPlatform, command: string): string {
  return platform === 'slack' ? `/countersign ${command}` : `“${command}”`
}

const noticeOf = (tone: Notice['tone']) => {
  return (heading: string, sentence: string): Notice => ({ kind: 'notice', tone, heading, sentence })
}

export const done = noticeOf('done')
const refused = noticeOf('refused')
export const problem = noticeOf('problem')

/** All answers besides lists and verdicts. None contains a caller's text. */
export const notices = {
  notLinked: (platform: ChatPlatform) =>
    refused(
      'You are not linked yet',
      `Type ${commandLine(platform, 'link')}, open the link you get, and confirm.`,
    ),
  alreadyLinked: (platform: ChatPlatform) =>
    refused(
      'Already linked',
      `Type ${commandLine(platform, 'help')} to see to whom, or ${commandLine(platform, 'unlink')} to unlink yourself first.`,
    ),
  unlinked: (platform: ChatPlatform) =>
    done(
      'Unlinked',
      `Countersign no longer knows you here. Cards may still reach you by your e-mail address. Type ${commandLine(platform, 'link')} to link yourself again.`,
    ),
  unlinksYouAlone: (platform: ChatPlatform) =>
    refused(
      'Only for yourself',
      `Nothing was done. Type ${commandLine(platform, 'unlink')} alone to unlink yourself; you cannot unlink others.`,
    ),
  wasNotLinked: () => done('Not linked', 'This chat account is not linked, so nothing was changed.'),
  noCodes: () =>
    refused(
      'Nothing to do',
      'This command is for signing in with codes, and you have not set them up. A passkey signs you in on any browser.',
    ),
  notInChannel: (platform: ChatPlatform) =>
    refused('Which channel?', `Type ${commandLine(platform, 'channel')} in the channel you want to notify.`),
  channelKnown: () =>
    done(
      'Already notified',
      'This channel is notified of every request of your account. Turn this off under Integrations.',
    ),
  channelsFull: () =>
    refused('Too many channels', 'Your account has 5 channels already. Remove one under Integrations first.'),
  noAccount: () =>
    refused(
      'No account of your own',
      'You were invited into the account of another owner, who alone adds channels to it.',
    ),
  notServed: () =>
    refused(
      'Not connected',
      'Your account sends no cards to this workspace, so this channel would receive none. Install the app for your account first.',
    ),
  verifyWhat: (verify: string) =>
    problem(
      'Say what to verify',
      `Type ${verify} followed by the id of a request (req_…) or of a receipt (dec_…), or by the whole receipt.`,
    ),
  nothingToVerify: (verify: string) =>
    problem(
      'Not a receipt, id or address that can be verified',
      `Type ${verify} followed by one id that starts with req_ or dec_, the address of an approval page, or a whole receipt from { to }.`,
    ),
  unreadable: (verify: string) =>
    problem(
      'The receipt cannot be read',
      `It is incomplete, or the chat changed it. Nothing was verified. Paste all of it from { to }, or type ${verify} with its id.`,
    ),
  tooMany: (minutes: number) =>
    refused(
      'Too many at once',
      `Wait ${minutes === 1 ? 'a minute' : `${minutes} minutes`}, then try again. Nothing was done.`,
    ),
}
