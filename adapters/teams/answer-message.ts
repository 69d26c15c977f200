import { answerCommand } from '../../src/flow/chat/answer-command.ts'
import type { ChatAnswer, ChatSpeaker } from '../../src/flow/chat/chat-answer.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { renderAnswer } from './answer-card.ts'
import type { BotCalls, BotCommand } from './bot-port.ts'
import type { Places } from './places.ts'
import { say } from './say.ts'
import { NOTICES } from './words.ts'

export interface AnsweringParts {
  deps: FlowDeps
  calls: BotCalls
  places: Places
  tenant: string
}

/**
 * Answers a command where it was given. Where others read along, they get verdicts and help; whatever is about the speaker
 * goes to the speaker's own conversation with the app, and the others are told so: Teams has no answer that only one of them
 * sees.
 */
export async function answerMessage(parts: AnsweringParts, command: BotCommand): Promise<void> {
  const speaker = await speakerOf(parts, command)
  if (speaker === undefined) return
  const { deps, calls, places } = parts
  const tell = (answer: ChatAnswer) =>
    say(calls, deps.log, command.place, renderAnswer(answer, { now: deps.clock.now() }))
  const answer = await answerCommand(deps, speaker, command.text).catch((error: unknown) => {
    deps.log.error({ error }, 'a command from Teams could not be answered')
    return NOTICES.wentWrong
  })
  if (command.place.kind === 'person') {
    await tell(answer)
    return
  }
  if (answer.kind === 'verdict' || answer.kind === 'help' || answer === NOTICES.wentWrong) {
    await tell(forEverybody(answer))
    return
  }
  const own = await places.ofPerson(speaker.identity.user)
  const sent = await say(calls, deps.log, own, renderAnswer(answer, { now: deps.clock.now() }))
  await tell(sent.ok ? NOTICES.sentToYou : NOTICES.cannotReachYou)
}

/** Who the speaker is in Countersign is nobody else's business. */
function forEverybody(answer: ChatAnswer): ChatAnswer {
  if (answer.kind !== 'help') return answer
  const { linked_as: _, ...help } = answer
  return help
}

/** Only a link made by the signed-in person says who that is here (T37). */
async function speakerOf(
  { places, tenant }: AnsweringParts,
  { user, user_name, channel, channel_name }: BotCommand,
): Promise<ChatSpeaker | undefined> {
  if (user === undefined) return undefined
  const identity = { platform: 'teams', tenant, user } as const
  const shown_as = { person: user_name ?? user, workspace: tenant }
  if (channel === undefined) return { identity, shown_as }
  const name = channel_name ?? (await places.nameOf(channel)) ?? channel
  return {
    identity,
    shown_as: { ...shown_as, channel: name },
    channel: { platform: 'teams', tenant, channel },
  }
}
