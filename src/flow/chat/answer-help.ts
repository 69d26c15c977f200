import { visibleString } from '../../domain/text.ts'
import type { User } from '../../domain/user.ts'
import type { ChatAnswer } from './chat-answer.ts'

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
export function answerHelp(person: User | undefined, verb: 'help' | 'unknown'): ChatAnswer {
  return {
    kind: 'help',
    ...(verb === 'unknown' ? { unknown: true as const } : {}),
    ...(person === undefined ? {} : { linked_as: visibleString(`${person.name} (${person.email})`) }),
    commands: COMMANDS,
  }
}
