import { expect, it } from 'vitest'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { remindApprovers, remindAutomatically } from '../../../src/flow/tell/remind-approvers.ts'
import { letLook, nowShown, waitUntil } from '../../support/chat-platform.ts'
import { newRequester } from '../../support/worker.ts'
import { type CardSetting, letTimePass, untilAtRest, useCardSetting, vote } from './card-setting.ts'

const remind = ({ worker, requester }: CardSetting, id: string) =>
  remindApprovers(worker.deps, requester.caller, id)

/** Forgets when the last reminder was, so that the next one need not wait for a minute. */
async function letMinutePass({ worker }: CardSetting, id: string): Promise<void> {
  const longAgo = new Date(worker.deps.clock.now().getTime() - 61_000)
  await worker
    .stored('requests')
    .updateOne({ _id: id }, { $set: { reminded_at: longAgo, caller_reminded_at: longAgo } })
}

it('reminds in the thread of the card, once for every reminder, and says that it was sent', async () => {
  const setting = await useCardSetting({ approvers: 2 })
  const { worker, chat, requester } = setting
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id, 2)
  expect((await remind(setting, id)).accepted).toBe(true)
  await letMinutePass(setting, id)
  expect((await remind(setting, id)).accepted).toBe(true)
  await untilAtRest(worker, id, 2)
  for (const user of ['U1', 'U2']) {
    const { shown, replies } = chat.one(user, id)
    expect(replies).toMatchObject([
      { kind: 'reminder', request_id: id, action: 'Deploy', automatic: false },
      { kind: 'reminder', request_id: id, automatic: false },
    ])
    // A reminder changes nothing that the card shows.
    expect(shown).toHaveLength(1)
  }
})

it.each([{ what: 'reply' }, { what: 'update' }, { what: 'reply', refused: 'update' }])(
  'posts a card again that was deleted, at the next reminder (told by a $what, refused: $refused)',
  async ({ what, refused }) => {
    const setting = await useCardSetting({ approvers: 2, quorum: 2 })
    const { worker, chat, requester, people } = setting
    await worker.start()
    const id = await requester.request()
    await untilAtRest(worker, id, 2)
    chat.behave((call) => {
      if (call.to !== 'U1') return undefined
      if (call.what === what) return { outcome: 'unreachable', gone: true }
      return call.what === refused ? { outcome: 'unreachable' } : undefined
    })
    if (what === 'update' || refused === 'update') {
      await vote(setting, id, people[1] ?? expect.unreachable(), 'approved', { closes: false })
      await untilAtRest(worker, id, 2)
    }
    expect((await remind(setting, id)).accepted).toBe(true)
    await untilAtRest(worker, id, 2)
    expect(chat.of('U1')).toHaveLength(2)
    const states = (await worker.deps.cards.ofRequest(id)).map(({ state }) => state)
    expect(states).toEqual(['idle', 'idle'])
    chat.behave(() => undefined)
    await vote(setting, id, people[0] ?? expect.unreachable(), 'rejected')
    await untilAtRest(worker, id, 2)
    expect(chat.of('U1')[1]?.shown.at(-1)?.status.kind).toBe('rejected')
  },
)

it('posts a deleted card again with a reminder that came together with the news by which the deletion shows', async () => {
  const setting = await useCardSetting({ approvers: 2, quorum: 2 })
  const { worker, chat, requester, people } = setting
  const work = await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id, 2)
  await work.stop()
  chat.behave(({ what, to }) =>
    to === 'U1' && what === 'update' ? { outcome: 'unreachable', gone: true } : undefined,
  )
  await vote(setting, id, people[1] ?? expect.unreachable(), 'approved', { closes: false })
  const reminding = remind(setting, id)
  await waitUntil(async () =>
    expect(await worker.deps.cards.ofRequest(id)).toMatchObject([
      { wanted: 3, replies: [{ state: 'due' }] },
      { wanted: 3, replies: [{ state: 'due' }] },
    ]),
  )
  await createRelay(worker.deps, NO_LOOPS).run()
  await worker.start()
  expect((await reminding).accepted).toBe(true)
  await untilAtRest(worker, id, 2)
  expect(chat.of('U1').map(({ shown, replies }) => [shown.length, replies.length])).toEqual([
    [1, 0],
    [1, 0],
  ])
})

it.each(['once', 'for ever'])(
  'searches once for the message of an attempt that died, though the platform calls what it finds deleted %s',
  async (how) => {
    const setting = await useCardSetting()
    const { worker, chat, requester, people } = setting
    letLook(chat)
    const work = await worker.start()
    const id = await requester.request()
    await untilAtRest(worker, id)
    await work.stop()
    await vote(setting, id, people[0] ?? expect.unreachable(), 'rejected')
    await createRelay(worker.deps, NO_LOOPS).run()
    await worker
      .stored('cards')
      .updateOne({ request_id: id }, { $set: { state: 'leased', next_at: new Date(0) } })
    let edits = 0
    chat.behave(({ what }) => {
      if (what !== 'update') return undefined
      edits += 1
      const deleted = how === 'once' ? edits === 1 : edits < 20
      return deleted ? { outcome: 'unreachable', gone: true } : undefined
    })
    await worker.start()
    await waitUntil(async () => {
      expect(nowShown(chat.of('U1').at(-1))?.status.kind).toBe('rejected')
      expect((await worker.deps.cards.ofRequest(id))[0]?.state).not.toBe('leased')
    })
    expect(edits).toBe(2)
  },
)

it('posts a deleted card again only once, when the process died right after it', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester, people } = setting
  const { cards } = worker.deps
  const { finish } = cards
  letLook(chat)
  const work = await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  const deleted = chat.one('U1', id)
  delete deleted.card
  chat.behave(({ what }) => (what === 'reply' ? { outcome: 'unreachable', gone: true } : undefined))
  const died = new Promise<void>((resolve) => {
    cards.finish = async () => {
      resolve()
      throw new Error('killed')
    }
  })
  const reminding = remind(setting, id)
  await died
  cards.finish = finish
  await letTimePass(setting, work.loops.cards.wake)
  await untilAtRest(worker, id)
  expect((await reminding).accepted).toBe(true)
  chat.behave(() => undefined)
  await vote(setting, id, people[0] ?? expect.unreachable(), 'rejected')
  await untilAtRest(worker, id)
  expect(chat.of('U1').map((message) => nowShown(message)?.status.kind)).toEqual(['pending', 'rejected'])
  expect(chat.of('U1')[0]).toBe(deleted)
})

it('counts the card as the message when both come together, and does not remind on top of it', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  const id = await requester.request()
  const reminding = remind(setting, id)
  await waitUntil(async () =>
    expect(await worker.deps.requests.find(id)).toMatchObject({ reminder_count: 1 }),
  )
  await worker.start()
  expect((await reminding).accepted).toBe(true)
  await untilAtRest(worker, id)
  expect(chat.one('U1', id)).toMatchObject({ shown: [{ version: 2 }], replies: [] })
})

it('sends a card to an approver who had no chat when the request was made', async () => {
  const setting = await useCardSetting({ approvers: 2 })
  const { worker, chat, requester } = setting
  chat.tenants = []
  await worker.start()
  const id = await requester.request()
  await waitUntil(async () => expect(await worker.deps.requests.find(id)).toMatchObject({ outbox: [] }))
  expect(await worker.deps.cards.ofRequest(id)).toEqual([])
  chat.tenants = ['T1']
  expect((await remind(setting, id)).accepted).toBe(true)
  await untilAtRest(worker, id, 2)
  for (const user of ['U1', 'U2']) expect(chat.one(user, id)).toMatchObject({ shown: [{}], replies: [] })
})

it('reminds automatically, too, and says so', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  const past = new Date(worker.deps.clock.now().getTime() - 1)
  await worker.stored('requests').updateOne({ _id: id }, { $set: { remind_at: past } })
  await remindAutomatically(worker.deps)
  await untilAtRest(worker, id)
  expect(chat.one('U1', id).replies).toMatchObject([{ kind: 'reminder', automatic: true }])
})

it('leaves in peace who has voted already', async () => {
  const setting = await useCardSetting({ approvers: 2, quorum: 2 })
  const { worker, chat, requester, people } = setting
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id, 2)
  await vote(setting, id, people[0] ?? expect.unreachable(), 'approved', { closes: false })
  expect((await remind(setting, id)).accepted).toBe(true)
  await untilAtRest(worker, id, 2)
  expect(chat.one('U1', id).replies).toEqual([])
  expect(chat.one('U2', id).replies).toMatchObject([{ kind: 'reminder' }])
})

it('is quiet once the request is decided: a reminder that waited is dropped', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester, people } = setting
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  chat.behave(({ what }) => (what === 'reply' ? { outcome: 'failed' } : undefined))
  expect((await remind(setting, id)).accepted).toBe(false)
  // Not before: until the vote is recorded, the reminder would still be said.
  await vote(setting, id, people[0] ?? expect.unreachable(), 'rejected')
  chat.behave(() => undefined)
  await untilAtRest(worker, id)
  expect(chat.one('U1', id).replies).toMatchObject([{ kind: 'decided' }])
  expect(await worker.deps.cards.ofRequest(id)).toMatchObject([
    {
      replies: [
        { kind: 'reminder', state: 'dropped' },
        { kind: 'decided', state: 'said' },
      ],
    },
  ])
})

it('says the last only of several reminders that waited', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  const work = await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  await work.stop()
  const at = worker.deps.clock.now()
  const replies = ['evt_1', 'evt_2', 'evt_3'].map((reply) => ({ id: reply, kind: 'reminder' as const, at }))
  await worker.deps.cards.follow([{ request_id: id, replies, at }])
  await worker.start()
  await untilAtRest(worker, id)
  expect(chat.one('U1', id).replies).toHaveLength(1)
  const [card] = await worker.deps.cards.ofRequest(id)
  expect(card?.replies.map(({ state }) => state)).toEqual(['dropped', 'dropped', 'said'])
})

it('answers at once that nothing was sent when nobody can be reached', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  chat.members.clear()
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  expect((await remind(setting, id)).accepted).toBe(false)
  // A sandbox request has nobody to remind.
  const sandbox = await newRequester(worker, true)
  const dry = await sandbox.request()
  expect((await remindApprovers(worker.deps, sandbox.caller, dry)).accepted).toBe(false)
  expect(chat.messages).toEqual([])
})
