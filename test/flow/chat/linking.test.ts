import { generateSync } from 'otplib'
import { expect, it } from 'vitest'
import type { User } from '../../../src/domain/user.ts'
import { startBootstrap } from '../../../src/flow/bootstrap/start-bootstrap.ts'
import { answerCommand } from '../../../src/flow/chat/answer-command.ts'
import { openChatLink } from '../../../src/flow/chat/chat-links.ts'
import { linkIdentity } from '../../../src/flow/chat/link-identity.ts'
import { startSession } from '../../../src/flow/people/sessions.ts'
import { nowShown, waitUntil } from '../../support/chat-platform.ts'
import { newSpeaker } from '../../support/chat-speaker.ts'
import { linkToken } from '../../support/enrolled.ts'
import type { Worker } from '../../support/worker.ts'
import {
  type CardSetting,
  holdRetries,
  letTimePass,
  untilAtRest,
  useCardSetting,
  vote,
} from './card-setting.ts'

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

it('sends pending requests, which had reached nobody, to an approver who links late', async () => {
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
  const over = await requester.request()
  await untilAtRest(worker, over)
  chat.behave(({ what }) => (what === 'update' ? { outcome: 'unreachable' } : undefined))
  await vote(setting, over, first(setting), 'rejected')
  await untilAtRest(worker, over)
  expect(nowShown(chat.one('U1', over))?.status.kind).toBe('pending')
  chat.behave(() => undefined)
  await link(setting, first(setting), 'U1')
  await untilAtRest(worker, id)
  // What could not be edited before is up to date now.
  await untilAtRest(worker, over)
  expect(nowShown(chat.one('U1', over))?.status.kind).toBe('rejected')
  expect(card.shown).toHaveLength(2)
  expect(nowShown(card)).not.toHaveProperty('invite_to_link')
})

/** An agent asks for a key of the account of the setting's only approver; its card is at rest. */
async function askForKey({ worker }: CardSetting, owner: User) {
  const requester = { address: '192.0.2.1', user_agent: 'curl' }
  const input = { email: owner.email, clientName: 'Agent', requester }
  const { id } = (await startBootstrap(worker.deps, input)).bootstrap
  await untilConsentRests(worker, id)
  return id
}

async function untilConsentRests({ deps }: Pick<Worker, 'deps'>, id: string): Promise<void> {
  await waitUntil(async () => {
    expect(await deps.bootstraps.find(id)).toMatchObject({ outbox: [], audit: [] })
    const [card, ...others] = await deps.cards.ofRequest(id)
    expect(others).toEqual([])
    expect(['idle', 'unreachable']).toContain(card?.state)
  })
}

it('sends pending bootstraps, which had reached nobody, to an owner who links late', async () => {
  const setting = await useCardSetting({ approvers: 2 })
  const { worker, chat, people } = setting
  chat.members.clear()
  await worker.start()
  const id = await askForKey(setting, first(setting))
  expect(await worker.deps.cards.ofRequest(id)).toMatchObject([{ state: 'unreachable' }])
  await link(setting, people[1] ?? expect.unreachable(), 'UOTHER')
  await link(setting, first(setting), 'ULATE')
  await waitUntil(() => expect(chat.of('ULATE')).toHaveLength(1))
  await untilConsentRests(worker, id)
  expect(chat.messages.map(({ to }) => to)).toEqual(['ULATE'])
  expect(chat.of('ULATE')[0]?.consents).toMatchObject([{ request_id: id }])
  expect(chat.of('ULATE')[0]?.consents[0]).not.toHaveProperty('invite_to_link')
})

it('T37: edits the card of an agent that was addressed by e-mail: it no longer asks to link', async () => {
  const setting = await useCardSetting()
  const { worker, chat } = setting
  await worker.start()
  const id = await askForKey(setting, first(setting))
  const shown = () => chat.of('U1')[0]?.consents ?? []
  expect(shown()).toMatchObject([{ request_id: id, invite_to_link: true }])
  await link(setting, first(setting), 'U1')
  await waitUntil(() => expect(shown()).toHaveLength(2))
  expect(shown()[1]).not.toHaveProperty('invite_to_link')
})

it.each(['the address leads on', 'nobody else is known'])(
  'takes what waits out of the chat that a person unlinks, for good, also when the platform was away: %s',
  async (where) => {
    const setting = await useCardSetting()
    const { worker, chat, requester } = setting
    const { cards } = worker.deps
    const leadsOn = where === 'the address leads on'
    if (!leadsOn) chat.members.clear()
    const work = await worker.start()
    await link(setting, first(setting), 'UWRONG')
    const id = await requester.request({ context: { reason: 'For their eyes' } })
    const agent = await askForKey(setting, first(setting))
    await untilAtRest(worker, id)
    expect(chat.of('UWRONG').map(({ moved }) => moved)).toEqual([false, false])
    holdRetries(setting)
    chat.behave(({ what }) => (what === 'update' ? { outcome: 'failed' } : undefined))
    const unlinked = await answerCommand(worker.deps, newSpeaker({ user: 'UWRONG' }), 'unlink')
    expect(unlinked).toMatchObject({ kind: 'notice', heading: 'Unlinked' })
    for (const one of [id, agent])
      await waitUntil(async () =>
        expect(await cards.ofRequest(one)).toMatchObject([{ state: 'due', tries: 1 }]),
      )
    chat.behave(() => undefined)
    await letTimePass(setting, work.loops.cards.wake)
    await untilAtRest(worker, id)
    await untilConsentRests(worker, agent)
    expect(chat.of('UWRONG').map(({ moved }) => moved)).toEqual([true, true])
    expect(chat.of('U1').map(({ shown, consents }) => [...shown, ...consents])).toMatchObject(
      leadsOn ? [[{ invite_to_link: true }], [{ invite_to_link: true }]] : [],
    )
    expect((await cards.ofRequest(id))[0]?.state).toBe(leadsOn ? 'idle' : 'unreachable')
    await vote(setting, id, first(setting), 'rejected')
    await untilAtRest(worker, id)
    expect(chat.of('U1').flatMap(({ shown }) => shown.at(-1)?.status.kind ?? [])).toEqual(
      leadsOn ? ['rejected'] : [],
    )
    for (const { shown, consents, replies } of chat.of('UWRONG'))
      expect([shown.length + consents.length, replies]).toEqual([1, []])
  },
)

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
