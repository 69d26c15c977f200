import { identityKey } from '../../domain/chat.ts'
import { visibleString } from '../../domain/text.ts'
import type { FlowDeps } from '../deps.ts'
import type { ChatAnswer, ChatSpeaker } from './chat-answer.ts'

const COMMANDS = [
  { usage: 'verify <id or receipt>', does: 'Check an approval: req_…, dec_… or a pasted receipt.' },
  { usage: 'verify <id or receipt> share', does: 'The same, shown to everybody here.' },
  { usage: 'pending', does: 'What waits for your decision.' },
  { usage: 'link', does: 'Say who you are in Countersign.' },
  { usage: 'unlink', does: 'Take that back.' },
  { usage: 'browser', does: 'Make a browser known, so that codes sign you in there.' },
  { usage: 'channel', does: 'Have this channel told of every request of your account.' },
  { usage: 'help', does: 'Show this list.' },
]

/** `help`: the commands, and who the speaker is for us. */
export async function answerHelp(
  { users }: Pick<FlowDeps, 'users'>,
  { identity }: Pick<ChatSpeaker, 'identity'>,
): Promise<ChatAnswer> {
  const person = await users.findByIdentity(identityKey(identity))
  return {
    kind: 'help',
    ...(person === undefined ? {} : { linked_as: visibleString(`${person.name} (${person.email})`) }),
    commands: COMMANDS,
  }
}
