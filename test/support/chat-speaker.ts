import type { ChatIdentity } from '../../src/domain/chat.ts'
import { answerCommand } from '../../src/flow/chat/answer-command.ts'
import type { ChatAnswer, ChatSpeaker } from '../../src/flow/chat/chat-answer.ts'
import { type EnrolledPerson, expectStatus, linkToken, passkeyProof } from './enrolled.ts'
import type { TestService } from './service.ts'

let speakers = 0

/** Somebody on a chat platform whom nobody has linked yet. */
export function newSpeaker(more: Partial<ChatIdentity> = {}): ChatSpeaker {
  speakers += 1
  return {
    identity: { platform: 'slack', tenant: 'T1', user: `U${speakers}`, ...more },
    shown_as: { person: `Speaker ${speakers}`, workspace: 'Acme' },
  }
}

/** The same somebody, speaking in a channel. */
export function inChannel(speaker: ChatSpeaker, channel: string): ChatSpeaker {
  const { platform, tenant } = speaker.identity
  return {
    ...speaker,
    shown_as: { ...speaker.shown_as, channel: `name of ${channel}` },
    channel: { platform, tenant, channel },
  }
}

/** Says something to the service. */
export function say(service: TestService, speaker: ChatSpeaker, text: string): Promise<ChatAnswer> {
  return answerCommand(service.composition.deps, speaker, text)
}

/** Asks for a one-time link. @returns its token */
export async function askFor(
  service: TestService,
  speaker: ChatSpeaker,
  command: 'link' | 'browser' | 'channel',
): Promise<string> {
  const answer = await say(service, speaker, command)
  if (answer.kind !== 'link') throw new Error(`no link: ${JSON.stringify(answer)}`)
  return linkToken(answer.url)
}

/** A fresh proof by passkey for one link, as the page makes it. */
export async function proofForLink(
  service: TestService,
  person: EnrolledPerson,
  token: string,
): ReturnType<typeof passkeyProof> {
  const { id, kind } = expectStatus(await person.browser.post('/api/v1/chat-links/look', { token }), 200)
  return passkeyProof(person, service, `chat.${kind}`, id)
}

/** Links the speaker to a signed-in person, by all the steps. */
export async function linkTo(
  service: TestService,
  person: EnrolledPerson,
  speaker: ChatSpeaker,
): Promise<void> {
  const token = await askFor(service, speaker, 'link')
  const proof = await proofForLink(service, person, token)
  expectStatus(await person.browser.post('/api/v1/chat-links/use', { token, proof }), 200)
}
