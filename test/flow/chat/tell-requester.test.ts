import { expect, it } from 'vitest'
import type { User } from '../../../src/domain/user.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { cancelRequest } from '../../../src/flow/requests/cancel-request.ts'
import { attemptCard } from '../../../src/flow/tell/cards/attempt-card.ts'
import { createLookup } from '../../../src/flow/tell/cards/find-addresses.ts'
import { createOutageWatch } from '../../../src/flow/tell/cards/outage.ts'
import { createTroubleWatch } from '../../../src/flow/tell/trouble.ts'
import { letLook, nowShown, waitUntil } from '../../support/chat-platform.ts'
import { FIRST } from '../../support/first-claim.ts'
import { asMembers } from '../../support/members.ts'
import { useWorker } from '../../support/worker.ts'
import {
  addApprover,
  type CardSetting,
  letTimePass,
  untilAtRest,
  useCardSetting,
  vote,
} from './card-setting.ts'

/** An account with a connected channel `C1`, an approver `U1`, and a member `DEV` who decides nothing and is linked. */
async function useTold(): Promise<CardSetting & { dev: User }> {
  const setting = await useCardSetting()
  const { worker, requester, people } = setting
  const dev = await addApprover(setting, 'DEV')
  await link(setting, dev, 'DEV')
  const members = asMembers([people[0]?.id, dev.id])
  const channels = [{ platform: 'slack', tenant: 'T1', channel: 'C1', name: 'deploys' }]
  await account(setting, { $set: { members, channels } })
  return { ...setting, dev, worker, requester }
}

const account = ({ worker, requester }: CardSetting, change: object) =>
  worker.stored('accounts').updateOne({ _id: requester.account.id }, change)

const link = ({ worker }: CardSetting, { id }: User, user: string) =>
  worker
    .stored('users')
    .updateOne(
      { _id: id },
      { $set: { chat: [{ platform: 'slack', tenant: 'T1', user, linked_at: new Date() }] } },
    )

const decided = (setting: CardSetting, id: string, decision: 'approved' | 'rejected' = 'rejected') =>
  vote(setting, id, setting.people[0] ?? expect.unreachable(), decision, { comment: 'Not now.' })

/** Carries on what the last write left, without sending anything. */
const relay = ({ worker }: CardSetting) => createRelay(worker.deps, NO_LOOPS).run()

it('tells a member once after a restart between the decision and the message', async () => {
  const setting = await useTold()
  const { worker, chat, requester, dev } = setting
  const first = await worker.start()
  const id = await requester.request({ notify: { member: dev.email } })
  await untilAtRest(worker, id, 2)
  await first.stop()
  await decided(setting, id)
  const next = await useWorker({ beside: worker, chats: [chat] })
  await next.start()
  await untilAtRest(next, id, 3)
  const told = chat.one('DEV', id)
  expect([told.shown.length, told.replies]).toEqual([1, []])
  expect(nowShown(told)).toMatchObject({
    audience: 'channel',
    told: true,
    no_page: true,
    status: { kind: 'rejected' },
  })
  expect(nowShown(told)?.status).not.toHaveProperty('by_name')
})

it.each([
  ['posts nothing more where the app may look', true],
  ['posts once more, and only once, where it may not', false],
])('%s, when the process died between the platform’s answer and its own note', async (_what, looks) => {
  const setting = await useTold()
  const { worker, chat, requester, dev } = setting
  if (looks) letLook(chat)
  const work = await worker.start()
  const id = await requester.request({ notify: { member: dev.email } })
  await untilAtRest(worker, id, 2)
  await work.stop()
  await decided(setting, id)
  await relay(setting)
  const { deps } = worker
  const now = deps.clock.now()
  const claims = await deps.cards.claim({
    ...FIRST,
    now,
    leaseEnds: new Date(now.getTime() + 60_000),
    platforms: ['slack'],
    busyRecipients: [],
    busyEdits: [],
    busyAccounts: [],
  })
  const watches = { troubles: createTroubleWatch(deps), outages: createOutageWatch(deps) }
  const cards = { ...deps.cards, finish: () => Promise.reject(new Error('killed')) }
  const dying = { ...deps, cards, lookup: createLookup(deps.clock), ...watches }
  await expect(attemptCard(dying, chat, claims[0] ?? expect.unreachable())).rejects.toThrow('killed')
  expect(chat.of('DEV')).toHaveLength(1)
  const next = await useWorker({ beside: worker, chats: [chat] })
  const again = await next.start()
  await letTimePass(setting, again.loops.cards.wake)
  await untilAtRest(next, id, 3)
  expect(chat.of('DEV').map(({ shown, replies }) => [shown.length, replies.length])).toEqual(
    Array(looks ? 1 : 2).fill([looks ? expect.any(Number) : 1, 0]),
  )
})

it('makes one card to tell it, however often the outcome is carried on', async () => {
  const setting = await useTold()
  const { worker, requester, dev } = setting
  const id = await requester.request({ notify: { member: dev.id } })
  await relay(setting)
  await decided(setting, id)
  const broken = { ...worker.deps, outbox: worker.deps.outbox.map((source) => ({ ...source })) }
  for (const source of broken.outbox) source.settle = () => Promise.reject(new Error('killed'))
  for (let n = 0; n < 3; n += 1) await expect(createRelay(broken, NO_LOOPS).run()).rejects.toThrow('killed')
  const cards = await worker.deps.cards.ofRequest(id)
  expect(cards.filter(({ recipient }) => Object(recipient).user_id === dev.id)).toMatchObject([
    { wanted: 2, shown: 0, replies: [{ kind: 'decided', state: 'due' }] },
  ])
})

it('posts the outcome in full in a channel that never got the card, and a channel that is not named gets nothing', async () => {
  const setting = await useTold()
  const { worker, chat, requester } = setting
  chat.behave(({ to }) => (to === 'C1' ? { outcome: 'failed' } : undefined))
  const work = await worker.start()
  const named = await requester.request({ notify: { channel: 'deploys' } })
  const other = await requester.request()
  for (const id of [named, other]) {
    const tries = async () => (await worker.deps.cards.ofRequest(id)).map((card) => card.tries)
    await waitUntil(async () => expect(Math.max(...(await tries()))).toBeGreaterThan(0))
    await cancelRequest(worker.deps, requester.caller, id)
  }
  chat.behave(() => undefined)
  await letTimePass(setting, work.loops.cards.wake)
  for (const id of [named, other]) await untilAtRest(worker, id, 2)
  expect(
    chat.of('C1').map(({ shown, replies }) => [shown.map(({ status }) => status.kind), replies]),
  ).toEqual([[['withdrawn'], []]])
  expect(nowShown(chat.one('C1', named))).toMatchObject({ told: true, audience: 'channel' })
  expect(nowShown(chat.one('C1', named))).not.toHaveProperty('no_page')
})

it('says it under the card of a member who is asked anyway: no second message', async () => {
  const setting = await useTold()
  const { worker, chat, requester, people } = setting
  const [asked] = people
  await link(setting, asked ?? expect.unreachable(), 'U1')
  await worker.start()
  const id = await requester.request({ notify: { member: asked?.email ?? '' } })
  await untilAtRest(worker, id, 2)
  await cancelRequest(worker.deps, requester.caller, id)
  await untilAtRest(worker, id, 2)
  expect(chat.one('U1', id).replies).toMatchObject([{ kind: 'ended', status: { kind: 'withdrawn' } }])
  expect(chat.one('C1', id).replies).toEqual([])
})

it('tells a member no more than they may read: names where the account shows them, everything to the owner', async () => {
  const setting = await useTold()
  const { worker, chat, requester, dev } = setting
  const { user: owner } = requester
  await link(setting, owner, 'OWNER')
  await account(setting, { $set: { names_in_channels: true } })
  await worker.start()
  const toDev = await requester.request({ notify: { member: dev.email } })
  const toOwner = await requester.request({ notify: { member: owner.email } })
  for (const id of [toDev, toOwner]) {
    await untilAtRest(worker, id, 2)
    await decided(setting, id)
    await untilAtRest(worker, id, 3)
  }
  expect(nowShown(chat.one('DEV', toDev))).toMatchObject({
    no_page: true,
    status: { kind: 'rejected', by_name: 'Person U1', comment: null },
  })
  const shown = nowShown(chat.one('OWNER', toOwner))
  expect(shown).toMatchObject({ status: { kind: 'rejected', by_name: 'Person U1', comment: 'Not now.' } })
  expect(shown).not.toHaveProperty('no_page')
})

it('tells it in the chat where a member is now, when the card that asked them is in an earlier one', async () => {
  const setting = await useTold()
  const { worker, chat, requester, people } = setting
  const [asked = expect.unreachable()] = people
  await link(setting, asked, 'UOLD')
  await worker.start()
  const id = await requester.request({ notify: { member: asked.email } })
  await untilAtRest(worker, id, 2)
  await link(setting, asked, 'UNEW')
  await cancelRequest(worker.deps, requester.caller, id)
  await untilAtRest(worker, id, 2)
  expect(chat.one('UOLD', id)).toMatchObject({ moved: true, replies: [] })
  expect(nowShown(chat.one('UNEW', id))).toMatchObject({ told: true, status: { kind: 'withdrawn' } })
})

type Told = Awaited<ReturnType<typeof useTold>>
type Change = (setting: Told) => Promise<unknown>

it.each<[string, 'member' | 'channel', Change]>([
  [
    'a member who left the account',
    'member',
    (setting) => account(setting, { $set: { members: asMembers([setting.people[0]?.id]) } }),
  ],
  [
    'a member who unlinked their identity, although their address is known',
    'member',
    ({ worker, dev }) => worker.stored('users').updateOne({ _id: dev.id }, { $set: { chat: [] } }),
  ],
  [
    'a member whose workspace is not the account’s any more',
    'member',
    ({ worker, dev }) =>
      worker.stored('users').updateOne({ _id: dev.id }, { $set: { 'chat.0.tenant': 'T2' } }),
  ],
  ['a channel that was disconnected', 'channel', (setting) => account(setting, { $set: { channels: [] } })],
])('T89: tells nothing to %s', async (_who, kind, change) => {
  const setting = await useTold()
  const { worker, chat, requester, dev } = setting
  const id = await requester.request({
    notify: kind === 'member' ? { member: dev.email } : { channel: 'C1' },
  })
  await change(setting)
  await decided(setting, id)
  await worker.start()
  await waitUntil(async () => expect((await worker.deps.requests.find(id))?.outbox).toEqual([]))
  const cards = () => worker.deps.cards.ofRequest(id)
  await waitUntil(async () => expect((await cards()).every(({ state }) => state === 'idle')).toBe(true))
  expect(chat.calls).toEqual([])
})

it('tells nobody of an outcome that is a day old', async () => {
  const setting = await useTold()
  const { worker, chat, requester } = setting
  const id = await requester.request({ notify: { channel: 'C1' } })
  await decided(setting, id)
  await relay(setting)
  const longAgo = new Date(worker.deps.clock.now().getTime() - 25 * 3_600_000)
  const each = { arrayFilters: [{ 'one.at': { $exists: true } }] }
  await worker.stored('cards').updateMany({}, { $set: { 'replies.$[one].at': longAgo } }, each)
  await worker.start()
  await untilAtRest(worker, id, 1)
  expect(chat.calls).toEqual([])
})

it('warns of a channel that takes no messages any more, as cards do', async () => {
  const setting = await useTold()
  const { worker, chat, requester } = setting
  chat.behave(() => ({ outcome: 'unreachable', code: 'channel_not_found' }))
  const id = await requester.request({ notify: { channel: 'C1' } })
  await decided(setting, id)
  await worker.start()
  await untilAtRest(worker, id, 1)
  expect((await worker.deps.accounts.find(requester.account.id))?.chat_troubles).toMatchObject([
    { channel: 'C1', reason: 'channel_not_found', name: 'deploys' },
  ])
})
