import { afterAll, beforeAll, beforeEach, expect, inject, it, onTestFinished } from 'vitest'
import { type Card, recipientKey } from '../../src/domain/chat.ts'
import {
  type CardNews,
  type CardResult,
  type ClaimedCard,
  createCardStore,
} from '../../src/store/chat/cards.ts'
import { connectStore } from '../../src/store/mongo/connect.ts'
import { FIRST, NO_CARD_BUSY } from '../support/first-claim.ts'
import { startService, type TestService } from '../support/service.ts'
import { startStoreProxy } from '../support/store-proxy.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())
beforeEach(async () => {
  await service.composition.connection.collection('cards').deleteMany({})
})

const START = Date.parse('2026-03-01T10:00:00.000Z')
const at = (seconds: number) => new Date(START + seconds * 1000)
const ref = { tenant: 'T1', conversation: 'D1', message: 'm1' }
const store = () => service.composition.deps.cards

function card(n: number, more: Partial<Card> = {}): Card {
  return {
    id: `crd_${n}`,
    account_id: 'acc_a',
    request_id: `req_${n}`,
    platform: 'slack',
    recipient: { kind: 'approver', user_id: 'usr_a' },
    state: 'due',
    wanted: 1,
    shown: 0,
    replies: [],
    news: 0,
    next_at: at(n),
    tries: 0,
    fence: 0,
    attempts: [],
    created_at: at(n),
    audit: [],
    ...more,
  }
}

function result(more: Partial<CardResult> = {}): CardResult {
  const attempts = [{ at: at(0), what: 'post', outcome: 'accepted', duration_ms: 3 }] as const
  const times = { next_at: at(0), again_at: at(7) }
  const facts = { news: 0, tries: 0, shown: 1, stale: false, said: [], dropped: [], audit: [] }
  return { state: 'idle', ...times, ...facts, message: ref, attempts: [...attempts], ...more }
}

async function claim(now: number, busyRecipients: string[] = []): Promise<ClaimedCard | undefined> {
  const lease = { now: at(now), leaseEnds: at(now + 60) }
  return (
    await store().claim({ ...FIRST, ...lease, platforms: ['slack'], ...NO_CARD_BUSY, busyRecipients })
  )[0]
}
const news = (n: number, more: Partial<CardNews> = {}): CardNews => ({
  request_id: `req_${n}`,
  replies: [],
  at: at(50),
  ...more,
})
const find = async (n: number) => (await store().find(`crd_${n}`)) ?? expect.unreachable()

/** A card that shows version 1 and rests. */
async function posted(n = 1): Promise<void> {
  await store().insertNew([card(n)])
  await claim(n)
  await store().finish(`crd_${n}`, 1, result())
}

it('keeps one card per request, platform and recipient, and inserts the rest of a batch all the same', async () => {
  await store().insertNew([card(1)])
  const channel = { kind: 'channel', tenant: 'T1', channel: 'C1' } as const
  await store().insertNew([
    card(2, { request_id: 'req_1' }),
    card(3, { request_id: 'req_1', platform: 'teams' }),
    card(4, { request_id: 'req_1', recipient: { kind: 'approver', user_id: 'usr_b' } }),
    card(5, { request_id: 'req_1', recipient: channel }),
    card(6, { request_id: 'req_1', recipient: channel }),
    card(7, { request_id: 'req_1', recipient: { ...channel, tenant: 'T2' } }),
  ])
  const ids = (await store().ofRequest('req_1')).map(({ id }) => id)
  expect(ids).toEqual(['crd_1', 'crd_3', 'crd_4', 'crd_5', 'crd_7'])
  expect((await find(5)).recipient).toEqual(channel)
})

it('claims what is due longest, on a platform that is served, for a recipient who is free', async () => {
  const other = { kind: 'approver', user_id: 'usr_b' } as const
  await store().insertNew([card(3), card(2, { platform: 'teams' }), card(4, { recipient: other }), card(9)])
  const first = await claim(5)
  expect(first).toMatchObject({ record: { id: 'crd_3', fence: 1, next_at: at(65) }, interrupted: false })
  expect((await claim(20, ['slack:approver:usr_a']))?.record.id).toBe('crd_4')
  expect((await claim(20))?.record.id).toBe('crd_9')
  expect(await claim(20)).toBeUndefined()
  expect(await store().nextDue(['teams'])).toEqual(at(2))
  expect(await store().nextDue(['slack'])).toEqual(at(65))
})

it('claims what was never posted before what is to be edited, however long that is due', async () => {
  await posted(1)
  await store().follow([{ request_id: 'req_1', version: 2, replies: [], at: at(3) }])
  await store().insertNew([card(9)])
  expect((await claim(20))?.record.id).toBe('crd_9')
  expect((await claim(20))?.record.id).toBe('crd_1')
})

it('T82: of many claims at once each card goes to one, and who lost the lease writes nothing', async () => {
  await store().insertNew([1, 2, 3, 4, 5].map((n) => card(n)))
  const claimer = async (): Promise<string[]> => {
    const got: string[] = []
    while ((await store().nextDue(['slack']))?.getTime() !== at(70).getTime())
      got.push((await claim(10))?.record.id ?? '')
    return got.filter((id) => id !== '')
  }
  const ids = (await Promise.all([1, 2, 3, 4].map(claimer))).flat()
  expect(new Set(ids).size).toBe(5)
  expect(ids).toHaveLength(5)
  const taken = (await claim(71)) ?? expect.unreachable()
  expect(taken).toMatchObject({ interrupted: true, record: { fence: 2 } })
  const { id } = taken.record
  expect(await store().finish(id, 1, result())).toBeUndefined()
  expect(await store().finish(id, 2, result())).toBe('idle')
  expect(await store().finish(id, 2, result({ state: 'unreachable' }))).toBeUndefined()
  const stored = await store().find(id)
  expect(stored).toMatchObject({ state: 'idle', shown: 1, message: ref, attempts: [{ outcome: 'accepted' }] })
})

it('only ever raises what a card should show, and wakes what is behind', async () => {
  await posted()
  await store().follow([news(1, { version: 3 })])
  expect(await find(1)).toMatchObject({ state: 'due', wanted: 3, shown: 1, next_at: at(50) })
  await store().follow([news(1, { version: 2 })])
  expect(await find(1)).toMatchObject({ wanted: 3, news: 1 })
})

it('wakes nothing that has nothing to do, however often it is told the same', async () => {
  await posted()
  const reply = { id: 'evt_1', kind: 'decided', at: at(1) } as const
  await store().follow([news(1, { version: 1 })])
  expect((await find(1)).state).toBe('idle')
  await store().follow([news(1, { version: 2, replies: [reply] })])
  const taken = (await claim(60)) ?? expect.unreachable()
  const done = result({ news: taken.record.news, shown: 2, said: ['evt_1'] })
  expect(await store().finish('crd_1', 2, done)).toBe('idle')
  const before = await find(1)
  await store().follow([news(1, { version: 2, replies: [reply] })])
  expect(await find(1)).toEqual(before)
  expect(before.replies).toEqual([{ id: 'evt_1', kind: 'decided', at: at(1), state: 'said' }])
})

it.each([
  ['a newer version', { version: 2 }],
  ['a reply', { replies: [{ id: 'evt_1', kind: 'reminder' as const, at: at(1), automatic: true as const }] }],
])('keeps a card due that was told of %s while somebody was at it', async (_what, more) => {
  await store().insertNew([card(1)])
  await claim(1)
  await store().follow([news(1, more)])
  expect(await find(1)).toMatchObject({ state: 'leased', next_at: at(61) })
  expect(await store().finish('crd_1', 1, result())).toBe('due')
  expect(await find(1)).toMatchObject({ state: 'due', shown: 1, message: ref, next_at: at(7) })
})

it('loses nothing of what is told while claims end, whichever comes first', async () => {
  await store().insertNew(Array.from({ length: 30 }, (_, n) => card(n + 1)))
  const taken: (ClaimedCard | undefined)[] = []
  for (let n = 0; n < 30; n += 1) taken.push(await claim(40))
  await Promise.all(
    taken.flatMap((one) => {
      const { id, request_id } = one?.record ?? expect.unreachable()
      const told = {
        request_id,
        version: 2,
        replies: [{ id: 'evt_1', kind: 'decided', at: at(1) }],
        at: at(50),
      } as const
      return [store().finish(id, 1, result()), store().follow([{ ...told, replies: [...told.replies] }])]
    }),
  )
  for (let n = 1; n <= 30; n += 1) {
    expect(await find(n)).toMatchObject({ state: 'due', wanted: 2, shown: 1, replies: [{ state: 'due' }] })
  }
})

it('tries what failed at once when there is something new, and leaves whom it was asked to wait for alone', async () => {
  await store().insertNew([card(1), card(2)])
  await claim(1)
  await claim(2)
  const later = { state: 'due', next_at: at(300), shown: 0 } as const
  await store().finish('crd_1', 1, result({ ...later, tries: 3 }))
  await store().finish('crd_2', 1, result({ ...later, tries: 0 }))
  await store().follow([news(1, { version: 2 }), news(2, { version: 2 })])
  expect(await find(1)).toMatchObject({ next_at: at(50), tries: 0 })
  expect(await find(2)).toMatchObject({ next_at: at(300) })
})

it('has a card edited again when it is in doubt, until an edit was accepted', async () => {
  await posted()
  await store().doubt('crd_1', at(50))
  expect(await find(1)).toMatchObject({ state: 'due', stale: true })
  const taken = (await claim(60)) ?? expect.unreachable()
  const { stale: _, ...failed } = result({ state: 'due', next_at: at(61), news: taken.record.news })
  await store().finish('crd_1', 2, failed)
  expect((await find(1)).stale).toBe(true)
  const again = (await claim(62)) ?? expect.unreachable()
  // In doubt once more while the edit was under way: that one counts for nothing.
  await store().doubt('crd_1', at(62))
  expect(await store().finish('crd_1', 3, result({ news: again.record.news }))).toBe('due')
  const last = (await claim(70)) ?? expect.unreachable()
  expect(last.record.stale).toBe(true)
  expect(await store().finish('crd_1', 4, result({ news: last.record.news }))).toBe('idle')
  expect(await find(1)).not.toHaveProperty('stale')
})

/** Every stored state of a card, by what tells it apart; `later`: of a card that waits. */
const later = { state: 'due', next_at: at(900) } as const
const reply = { id: 'evt_1', kind: 'decided', at: at(1), state: 'due' } as const
const STORED: Record<string, Partial<Card>> = {
  idle: { state: 'idle', shown: 1, message: ref },
  'idle, behind': { state: 'idle', wanted: 2, shown: 1, message: ref },
  'idle, in doubt': { state: 'idle', shown: 1, message: ref, stale: true },
  'idle, a reply due': { state: 'idle', shown: 1, message: ref, replies: [reply] },
  'nowhere to post': { state: 'unreachable', tries: 1 },
  'nowhere to post, over': { state: 'unreachable', shown: 1 },
  'not editable': { state: 'unreachable', wanted: 2, shown: 1, tries: 1, message: ref },
  'not editable, in doubt': { state: 'unreachable', shown: 1, tries: 1, message: ref, stale: true },
  'not editable, often': { state: 'unreachable', wanted: 2, shown: 1, tries: 4, message: ref },
  'unreachable, up to date': { state: 'unreachable', shown: 1, tries: 1, message: ref },
  failed: { ...later, tries: 2 },
  'asked to wait': { ...later, tries: 0 },
  leased: { ...later, state: 'leased', tries: 2 },
}
const BEHIND = ['not editable', 'not editable, in doubt', 'not editable, often']
const ALL_REST = Object.keys(STORED).filter((name) => !['failed', 'asked to wait', 'leased'].includes(name))
const REQUESTS = Object.keys(STORED).map((_, n) => `req_${n}`)

it.each<[string, () => Promise<void>, string[]]>([
  [
    'news',
    () => store().follow(REQUESTS.map((request_id) => ({ request_id, replies: [], at: at(50) }))),
    ['idle, behind', 'idle, in doubt', 'idle, a reply due', 'nowhere to post', ...BEHIND, 'failed'],
  ],
  [
    'doubt',
    async () => void (await Promise.all(REQUESTS.map((_, n) => store().doubt(`crd_${n}`, at(50))))),
    [...ALL_REST, 'failed'],
  ],
  ['renew', () => store().renew(REQUESTS, recipientKey(card(1)), at(50)), [...ALL_REST, 'failed']],
  [
    'retryUnreachable',
    () => store().retryUnreachable({ recipient: recipientKey(card(1)) }, at(50)),
    ['nowhere to post', ...BEHIND, 'unreachable, up to date', 'failed'],
  ],
  ['retryEdits', () => store().retryEdits(recipientKey(card(1)), at(50)), BEHIND.slice(0, 2)],
  ['hurry', () => store().hurry('acc_a', 'slack', at(50)), [...BEHIND, 'failed']],
  ['retryFailed', () => store().retryFailed(at(50)), ['failed']],
])('knows of every stored state whether it is made due by %s', async (_what, wake, due) => {
  const states = Object.values(STORED)
  await store().insertNew(states.map((stored, n) => card(n, { next_at: at(900), ...stored })))
  await wake()
  const found = await Promise.all(states.map((_, n) => find(n)))
  const woken = Object.keys(STORED).filter((_, n) => found[n]?.next_at.getTime() === at(50).getTime())
  expect(woken).toEqual(Object.keys(STORED).filter((name) => due.includes(name)))
  expect(found.filter(({ next_at }) => next_at < at(900)).every(({ state }) => state === 'due')).toBe(true)
})

it('wakes the updater at once for a card in doubt, and for cards made due again by a link', async () => {
  await posted(1)
  await posted(2)
  let woken = 0
  service.composition.onCardsDue(() => {
    woken += 1
  })
  await store().doubt('crd_1', at(50))
  expect(woken).toBe(1)
  await store().renew(['req_2'], recipientKey(card(2)), at(51))
  expect(woken).toBe(2)
  expect(await find(2)).toMatchObject({ state: 'due', next_at: at(51) })
  // One that is due already needs no wake.
  await store().renew(['req_2'], recipientKey(card(2)), at(52))
  expect(woken).toBe(2)
})

it('remembers the last fifty attempts and replies, and queues none anew that it has forgotten', async () => {
  await posted()
  for (let n = 0; n < 60; n += 1)
    await store().follow([news(1, { replies: [{ id: `evt_${n}`, kind: 'reminder', at: at(n) }] })])
  const taken = (await claim(60)) ?? expect.unreachable()
  const attempts = Array.from({ length: 60 }, (_, n) => ({
    at: at(n),
    what: 'reply' as const,
    outcome: 'accepted' as const,
    duration_ms: n,
  }))
  await store().finish('crd_1', 2, result({ news: taken.record.news, attempts }))
  const kept = await find(1)
  expect(kept.attempts).toHaveLength(50)
  expect(kept.attempts.at(-1)?.duration_ms).toBe(59)
  expect(kept.replies).toHaveLength(50)
  expect(kept.replies.at(-1)?.id).toBe('evt_59')
  // While the trail takes nothing, each sweep tells the same news again, also what is no longer kept.
  const again = { id: 'evt_3', kind: 'reminder', at: at(3) } as const
  await store().follow([news(1, { replies: [again] })])
  expect((await find(1)).replies).toEqual(kept.replies)
})

it('takes news that an election interrupted half-way once more, and says nothing twice', async () => {
  const proxy = await startStoreProxy(inject('storeUri'))
  onTestFinished(() => proxy.close())
  const connection = await connectStore(proxy.uri(service.composition.connection.name))
  onTestFinished(() => connection.close())
  const behind = createCardStore(connection)
  await store().insertNew([card(1, { state: 'idle', shown: 1 })])
  const interrupted = {
    ok: 0,
    code: 11602,
    codeName: 'InterruptedDueToReplStateChange',
    errmsg: 'interrupted',
  }
  const reply = { id: 'rpl_1', kind: 'reminder', at: at(40) } as const
  let left = 0
  proxy.play({ after: (_reply, name) => (name === 'update cards' && left-- > 0 ? interrupted : undefined) })
  const twice = async (what: () => Promise<void>) => {
    left = 1
    await expect(what()).rejects.toMatchObject({ code: 11602 })
    await what()
  }
  await twice(() => behind.follow([news(1, { version: 2, replies: [reply] })]))
  expect(await find(1)).toMatchObject({ state: 'due', wanted: 2, replies: [{ id: 'rpl_1', state: 'due' }] })
  await service.composition.connection.collection('cards').updateMany({}, { $set: { state: 'idle' } })
  await twice(() => behind.renew(['req_1'], recipientKey(card(1)), at(60)))
  expect(await find(1)).toMatchObject({ state: 'due', stale: true, next_at: at(60) })
})
