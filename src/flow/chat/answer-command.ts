import { identityKey } from '../../domain/chat.ts'
import { Refusal } from '../../domain/errors.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { answerHelp } from './answer-help.ts'
import { answerPending } from './answer-pending.ts'
import { answerVerify } from './answer-verify.ts'
import { askForBrowser, askForChannel, askToLink } from './ask-for-link.ts'
import type { ChatAnswer, ChatSpeaker } from './chat-answer.ts'
import { limitSpeaker } from './limit-speaker.ts'
import { unlinkIdentity } from './link-identity.ts'
import { notices } from './notices.ts'
import { type Command, parseCommand } from './parse-command.ts'

/**
 * Answers what somebody says to us in chat. `text` is the command's text as the person meant it: mentions of the app and
 * the platform's own escaping are undone before. Whoever speaks is known by the platform's word alone: they verify what
 * anybody may, see what waits for the person who linked them, and get links; they never decide and never sign in (T37).
 * @throws only when the store does not answer
 */
export async function answerCommand(deps: FlowDeps, speaker: ChatSpeaker, text: string): Promise<ChatAnswer> {
  const command = parseCommand(text)
  if (command.verb === 'verify') {
    const refused = await limitSpeaker(deps, speaker.identity, 'look')
    return refused ?? answerVerify(deps, speaker, command)
  }
  const person = await deps.users.findByIdentity(identityKey(speaker.identity))
  return answerPerson(deps, speaker, person, command.verb)
}

async function answerPerson(
  deps: FlowDeps,
  speaker: ChatSpeaker,
  person: User | undefined,
  verb: Exclude<Command['verb'], 'verify'>,
): Promise<ChatAnswer> {
  const { platform } = speaker.identity
  if (verb === 'help' || verb === 'unknown') return answerHelp(person, verb)
  if (verb === 'link') return askToLink(deps, speaker, person)
  if (person === undefined) return verb === 'unlink' ? notices.wasNotLinked() : notices.notLinked(platform)
  switch (verb) {
    case 'pending':
      return (await limitSpeaker(deps, speaker.identity, 'look')) ?? answerPending(deps, person)
    case 'browser':
      return askForBrowser(deps, speaker, person)
    case 'channel':
      return askForChannel(deps, speaker, person)
    case 'unlink':
      return unlink(deps, speaker, person)
  }
}

async function unlink(deps: FlowDeps, { identity }: ChatSpeaker, person: User): Promise<ChatAnswer> {
  try {
    await unlinkIdentity(deps, { userId: person.id, key: identityKey(identity), inChat: true })
    return notices.unlinked(identity.platform)
  } catch (error) {
    // Taken back on the account page, or by a second click, at the same moment.
    if (error instanceof Refusal && error.code === 'not_found') return notices.wasNotLinked()
    throw error
  }
}
