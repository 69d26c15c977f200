import { expect, it } from 'vitest'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { attemptCard } from '../../../src/flow/tell/cards/attempt-card.ts'
import { createLookup } from '../../../src/flow/tell/cards/find-addresses.ts'
import { createOutageWatch } from '../../../src/flow/tell/cards/outage.ts'
import { createTroubleWatch } from '../../../src/flow/tell/trouble.ts'
import { letLook, nowShown, waitUntil } from '../../support/chat-platform.ts'
import { clockOf } from '../../support/clock.ts'
import { FIRST } from '../../support/first-claim.ts'
import { useWorker } from '../../support/worker.ts'
import { type CardSetting, letTimePass, untilAtRest, useCardSetting, vote } from './card-setting.ts'

/** Claims the next card as a process does that will not finish it in time. */
async function claimNext({ worker: { deps } }: CardSetting) {
  const now = deps.clock.now()
  const leaseEnds = new Date(now.getTime() + 60_000)
  const [claimed] = await deps.cards.claim({
    ...FIRST,
    now,
    leaseEnds,
    platforms: ['slack'],
    busyRecipients: [],
    busyEdits: [],
    busyAccounts: [],
  })
  return claimed ?? expect.unreachable()
}

function attempting({ worker: { deps } }: CardSetting) {
  const watches = { troubles: createTroubleWatch(deps), outages: createOutageWatch(deps) }
  return { ...deps, lookup: createLookup(deps.clock), ...watches }
}

it.each(['posts once more, and only once', 'says the outcome there, of what was decided meanwhile'])(
  '%s, when the process died between the platform’s answer and its own note',
  async (what) => {
    const setting = await useCardSetting()
    const { worker, chat, requester, people } = setting
    const decided = what.startsWith('says')
    const id = await requester.request()
    await createRelay(worker.deps, NO_LOOPS).run()
    const dying = attempting(setting)
    dying.cards = { ...dying.cards, finish: () => Promise.reject(new Error('killed')) }
    await expect(attemptCard(dying, chat, await claimNext(setting))).rejects.toThrow('killed')
    expect(chat.of('U1')).toHaveLength(1)
    const work = await worker.start()
    // The lease of the dead process holds first.
    expect(await worker.deps.cards.ofRequest(id)).toMatchObject([{ state: 'leased' }])
    if (decided) await vote(setting, id, people[0] ?? expect.unreachable(), 'rejected')
    await letTimePass(setting, work.loops.cards.wake)
    await untilAtRest(worker, id)
    const [first, second, ...more] = chat.of('U1')
    expect([first?.shown.length, second?.shown.length, more]).toEqual([1, 1, []])
    expect(second?.shown[0]?.status.kind).toBe(decided ? 'rejected' : 'pending')
    expect(await worker.deps.cards.ofRequest(id)).toMatchObject([
      { message: second?.ref, attempts: [{ what: 'post', outcome: 'interrupted' }, { outcome: 'accepted' }] },
    ])
  },
)

it('says the outcome in a new message where one that a search had found was deleted later', async () => {
  const setting = await useCardSetting({ approvers: 2, quorum: 2 })
  const { worker, chat, requester, people } = setting
  const [first, second] = [people[0] ?? expect.unreachable(), people[1] ?? expect.unreachable()]
  letLook(chat)
  const work = await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id, 2)
  const card = { request_id: id, 'recipient.user_id': first.id }
  const lost = { state: 'due', shown: 0, perhaps_posted: true, attempts: [] }
  await worker.stored('cards').updateOne(card, { $set: lost, $unset: { message: 1, posted_at: 1 } })
  work.loops.cards.wake()
  await untilAtRest(worker, id, 2)
  chat.behave(({ what, to }) =>
    to === 'U1' && what === 'update' ? { outcome: 'unreachable', gone: true } : undefined,
  )
  await vote(setting, id, second, 'approved', { closes: false })
  await untilAtRest(worker, id, 2)
  chat.behave(() => undefined)
  await vote(setting, id, first, 'rejected')
  await untilAtRest(worker, id, 2)
  expect(chat.of('U1').map((message) => nowShown(message)?.status.kind)).toEqual(['pending', 'rejected'])
})

it('carries on after a restart what was left before it: cards not made, not posted, not edited', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester, people } = setting
  const [person] = people
  const first = await worker.start()
  const edited = await requester.request()
  await untilAtRest(worker, edited)
  await first.stop()
  await vote(setting, edited, person ?? expect.unreachable(), 'approved')
  const unposted = await requester.request()
  await createRelay(worker.deps, NO_LOOPS).run()
  const unmade = await requester.request()
  expect(chat.messages).toHaveLength(1)
  const next = await useWorker({ beside: worker, chats: [chat] })
  await next.start()
  for (const id of [edited, unposted, unmade]) await untilAtRest(next, id)
  expect(nowShown(chat.one('U1', edited))?.status.kind).toBe('approved')
  expect(nowShown(chat.one('U1', unposted))?.status.kind).toBe('pending')
  expect(nowShown(chat.one('U1', unmade))?.status.kind).toBe('pending')
})

it('makes and tells the same cards however often an outbox entry is carried on', async () => {
  const setting = await useCardSetting({ approvers: 2 })
  const { worker, requester, people } = setting
  const id = await requester.request()
  const broken = { ...worker.deps, outbox: worker.deps.outbox.map((source) => ({ ...source })) }
  for (const source of broken.outbox) source.settle = () => Promise.reject(new Error('killed'))
  for (let n = 0; n < 3; n += 1) await expect(createRelay(broken, NO_LOOPS).run()).rejects.toThrow('killed')
  const [first, ...rest] = await worker.deps.cards.ofRequest(id)
  expect(rest).toHaveLength(1)
  expect(first).toMatchObject({ wanted: 1, news: 0 })
  await vote(setting, id, people[0] ?? expect.unreachable(), 'approved')
  for (let n = 0; n < 3; n += 1) await expect(createRelay(broken, NO_LOOPS).run()).rejects.toThrow('killed')
  const told = await worker.deps.cards.ofRequest(id)
  expect(told).toMatchObject([
    { wanted: 2, replies: [{ kind: 'decided' }] },
    { wanted: 2, replies: [{ kind: 'decided' }] },
  ])
  expect(told.map(({ replies }) => replies.length)).toEqual([1, 1])
})

it('edits again after somebody who had lost the claim wrote an older state over the final one', async () => {
  const setting = await useCardSetting({ approvers: 1, quorum: 1 })
  const { worker, chat, requester, people } = setting
  const first = await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  await first.stop()
  const [person] = people
  await vote(setting, id, person ?? expect.unreachable(), 'approved', { closes: false })
  await createRelay(worker.deps, NO_LOOPS).run()
  const slow = await claimNext(setting)
  // While the slow process is on its way to the platform, its lease ends and another one shows the decision.
  const next = await useWorker({ beside: worker, chats: [chat] })
  let wake = (): void => undefined
  let overtaken = false
  chat.behave(async ({ what }) => {
    if (what !== 'update' || overtaken) return undefined
    overtaken = true
    await vote(setting, id, requester.user, 'approved')
    const work = await next.start()
    wake = work.loops.cards.wake
    await letTimePass(setting, wake)
    await waitUntil(async () => {
      expect(nowShown(chat.one('U1', id))?.status.kind).toBe('approved')
      // Another edit may still be on its way, so one more follows in a minute.
      const [card] = await worker.deps.cards.ofRequest(id)
      expect(card).toMatchObject({ state: 'due', stale: true, shown: 3 })
      expect(card?.next_at.getTime()).toBeGreaterThan(worker.deps.clock.now().getTime() + 30_000)
    })
    return undefined
  })
  expect(await attemptCard(attempting(setting), chat, slow)).toBeUndefined()
  await letTimePass(setting, wake)
  await waitUntil(async () => {
    expect(await worker.deps.cards.ofRequest(id)).toMatchObject([{ state: 'idle', shown: 3 }])
    const shown = chat.one('U1', id).shown.map(({ status }) => status.kind)
    expect(shown.join(' ')).toMatch(/^pending (?:approved )+pending approved$/)
  })
  expect((await worker.deps.cards.ofRequest(id))[0]).not.toHaveProperty('stale')
})

it('holds no card for long, and starts no call that could outlive its lease: it takes a longer one, if it still has it', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  const { cards, clock } = worker.deps
  const id = await requester.request()
  await createRelay(worker.deps, NO_LOOPS).run()
  const { record: card, interrupted } = await claimNext(setting)
  const nearlyOver = { ...card, next_at: new Date(clock.now().getTime() + 5_000) }
  await worker.stored('cards').updateOne({ request_id: id }, { $set: { fence: card.fence + 1 } })
  expect(await attemptCard(attempting(setting), chat, { record: nearlyOver, interrupted })).toBeUndefined()
  const mine = { ...nearlyOver, fence: nearlyOver.fence + 1 }
  const { extend } = cards
  const slow: typeof extend = async (...lease) => {
    const held = await extend(...lease)
    late += 6_000
    return held
  }
  let late = 0
  for (const failing of [slow, () => Promise.reject(new Error('no store'))]) {
    const deps = { ...attempting(setting), clock: clockOf(() => clock.now().getTime() + late) }
    deps.cards = { ...cards, extend: failing, finish: async () => 'due' }
    expect(await attemptCard(deps, chat, { record: mine, interrupted })).toMatchObject({ state: 'due' })
  }
  expect(chat.messages).toEqual([])
  const left: number[] = []
  const note = async (request: string): Promise<void> => {
    const [leased] = await cards.ofRequest(request)
    left.push((leased?.next_at.getTime() ?? 0) - clock.now().getTime())
  }
  chat.behave(async ({ what, request = '' }) => {
    if (what === 'post') await note(request)
    return undefined
  })
  expect(await attemptCard(attempting(setting), chat, { record: mine, interrupted })).toMatchObject({
    state: 'idle',
  })
  await worker.start()
  await untilAtRest(worker, await requester.request())
  // Of a process that is killed there, another one takes the card over when its lease ends.
  expect(left).toHaveLength(2)
  for (const ms of left) {
    expect(ms).toBeGreaterThan(10_000)
    expect(ms).toBeLessThanOrEqual(25_000)
  }
})

it('shares the cards of one store between two services: nothing twice, nothing left out', async () => {
  const setting = await useCardSetting({ approvers: 3 })
  const { worker, chat, requester, people } = setting
  const other = await useWorker({ beside: worker, chats: [chat] })
  await Promise.all([worker.start(), other.start()])
  const makers = Array.from({ length: 20 }, (_, n) =>
    requester.request({}, n % 2 === 0 ? worker.deps : other.deps),
  )
  const ids = await Promise.all(makers)
  const [person] = people
  for (const id of ids)
    await waitUntil(async () => expect(await worker.deps.cards.ofRequest(id)).toHaveLength(3))
  await Promise.all(ids.map((id) => vote(setting, id, person ?? expect.unreachable(), 'approved')))
  for (const id of ids) await untilAtRest(worker, id, 3)
  for (const id of ids) {
    const messages = chat.messages.filter(({ shown }) => shown[0]?.request_id === id)
    expect(new Set(messages.map(({ to }) => to)).size).toBe(messages.length)
    for (const message of messages) {
      expect(nowShown(message)?.status.kind).toBe('approved')
      expect(message.replies).toHaveLength(1)
    }
  }
})
