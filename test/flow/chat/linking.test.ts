import { generateSync } from 'otplib'
import { expect, it } from 'vitest'
import type { User } from '../../../src/domain/user.ts'
import { answerCommand } from '../../../src/flow/chat/answer-command.ts'
import { linkIdentity } from '../../../src/flow/chat/link-identity.ts'
import { openChatLink } from '../../../src/flow/chat/open-link.ts'
import { startSession } from '../../../src/flow/people/start-session.ts'
import { nowShown } from '../../support/chat-platform.ts'
import { newSpeaker } from '../../support/chat-speaker.ts'
import { linkToken } from '../../support/enrolled.ts'
import { type CardSetting, untilAtRest, useCardSetting } from './card-setting.ts'

const SEED = Uint8Array.from({ length: 20 }, (_, index) => index)

/** Links an identity by command, one-time link and code. */
async function link({ worker: { deps } }: CardSetting, person: User, user: string): Promise<void> {
  const speaker = newSpeaker({ user })
  const sealed_seed = deps.vault.seal(SEED, `totp:${person.id}`)
  const totp = {
    sealed_seed,
    confirmed_at: deps.clock.now(),
    last_step: 0,
    failures: 0,
    locked_until: null,
    locks: 0,
    disabled_at: null,
  }
  const fresh = (await deps.users.find(person.id)) ?? expect.unreachable()
  const owner = (await deps.users.change(person.id, fresh.version, { totp }, [])) ?? expect.unreachable()
  const answer = await answerCommand(deps, speaker, 'link')
  if (answer.kind !== 'link') throw new Error(answer.kind)
  const open = await openChatLink(deps, linkToken(answer.url))
  const { session } = await startSession(deps, owner, { address: '127.0.0.1', user_agent: '' }, 'test')
  const epoch = Math.floor(deps.clock.now().getTime() / 1000)
  const proof = { totp: generateSync({ secret: SEED, epoch }) }
  await linkIdentity(deps, { session, user: owner }, { link: open, proof, address: '127.0.0.1' })
}

const first = ({ people }: CardSetting): User => people[0] ?? expect.unreachable()

it('brings somebody who links late what waits for them and found nobody before', async () => {
  const setting = await useCardSetting({ approvers: 2 })
  const { worker, chat, requester } = setting
  chat.members.clear()
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id, 2)
  const states = async () => (await worker.deps.cards.ofRequest(id)).map(({ state }) => state)
  expect(await states()).toEqual(['unreachable', 'unreachable'])
  await link(setting, first(setting), 'ULATE')
  await untilAtRest(worker, id, 2)
  expect(chat.messages.map(({ to }) => to)).toEqual(['ULATE'])
  expect((await states()).sort()).toEqual(['idle', 'unreachable'])
})

it('T37: edits the card that was addressed by e-mail: it no longer asks to link', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  const card = chat.one('U1', id)
  expect(nowShown(card)).toHaveProperty('invite_to_link', true)
  await link(setting, first(setting), 'U1')
  await untilAtRest(worker, id)
  expect(card.shown).toHaveLength(2)
  expect(nowShown(card)).not.toHaveProperty('invite_to_link')
})

it('posts nothing about what is over', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  chat.members.clear()
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  const past = { $set: { expires_at: new Date(Date.now() - 1_000) } }
  await worker.stored('requests').updateOne({ _id: id }, past)
  await link(setting, first(setting), 'ULATE')
  await untilAtRest(worker, id)
  expect(chat.messages).toEqual([])
})
