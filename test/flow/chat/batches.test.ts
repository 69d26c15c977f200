import { expect, it } from 'vitest'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { cancelRequest } from '../../../src/flow/requests/cancel-request.ts'
import { expireRequests } from '../../../src/flow/requests/settle-request.ts'
import { remindApprovers, remindAutomatically } from '../../../src/flow/tell/remind-approvers.ts'
import { queueForAccount } from '../../../src/flow/tell/trouble.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { askMany, type Body, type CardSetting, dieAfter, useCardSetting, vote } from './card-setting.ts'

const pays = (count: number): Body[] => Array.from({ length: count }, (_, n) => ({ action: `Pay ${n + 1}` }))

async function batchOf({ worker }: CardSetting, id = ''): Promise<string> {
  return (await worker.deps.requests.find(id))?.batch?.id ?? expect.unreachable()
}

/** Waits until all news of the requests has reached the cards of this subject, and these rest. */
async function untilRest(
  { worker: { deps } }: CardSetting,
  ids: readonly string[],
  subject: string,
  cards = 1,
) {
  await waitUntil(async () => {
    const found = await deps.cards.ofRequest(subject)
    expect((await deps.requests.findMany(ids)).flatMap(({ audit }) => audit)).toEqual([])
    const after = await deps.cards.ofRequest(subject)
    expect(after.map(({ state }) => state)).toEqual(Array(cards).fill('idle'))
    expect(after.map(({ news }) => news)).toEqual(found.map(({ news }) => news))
  })
}

const message = ({ chat }: CardSetting, to = 'U1') => chat.of(to)[0] ?? expect.unreachable('no message')
const statesOf = ({ items }: { items: readonly { status: { kind: string } }[] } = { items: [] }) =>
  items.map(({ status }) => status.kind)

it('requests of one call are one card for each approver, posted once and complete', async () => {
  const setting = await useCardSetting({ approvers: 2 })
  const { worker, chat } = setting
  await worker.start()
  const ids = await askMany(setting, pays(50))
  const batch = await batchOf(setting, ids[0])
  await untilRest(setting, ids, batch, 2)
  expect(chat.messages.map(({ to, shown, replies }) => [to, shown.length, replies.length]).sort()).toEqual([
    ['U1', 0, 0],
    ['U2', 0, 0],
  ])
  const [first, ...later] = message(setting).batches
  expect(later).toEqual([])
  expect(first).toMatchObject({
    request_id: batch,
    version: 50,
    audience: 'approver',
    status: { kind: 'pending' },
    items: ids.map((request_id, n) => ({ request_id, action: `Pay ${n + 1}`, status: { kind: 'pending' } })),
    links: { approve: expect.stringContaining(`/?batch=${batch}&d=approve`) },
  })
  expect(JSON.stringify(first)).not.toContain('context')
})

it.each<[string, Body[], (string | undefined)[]]>([
  ['one alone', pays(1), [undefined]],
  [
    'all but those to be looked at one by one, or told elsewhere',
    [
      { action: 'A', requires_individual_decision: true },
      ...pays(2),
      { action: 'B', notify: { member: 'x' } },
    ],
    [undefined, 'batch', 'batch', undefined],
  ],
  [
    'one of two that is high impact',
    [{ action: 'A', requires_individual_decision: true }, ...pays(1)],
    [undefined, undefined],
  ],
])('shares a card: %s', async (_what, bodies, grouped) => {
  const setting = await useCardSetting()
  const { worker, requester, chat } = setting
  await worker.start()
  const link = { platform: chat.platform, tenant: 'T1', user: 'U9', linked_at: new Date() }
  await worker.stored('users').updateOne({ _id: requester.user.id }, { $set: { chat: [link] } })
  const told = bodies.map((body) =>
    'notify' in body ? { ...body, notify: { member: requester.user.id } } : body,
  )
  const ids = await askMany(setting, told)
  const found = await worker.deps.requests.findMany(ids)
  const batches = ids.map((id) => found.find((one) => one.id === id)?.batch?.id)
  expect(batches.map((id) => id && 'batch')).toEqual(grouped)
  expect(new Set(batches.filter((id) => id !== undefined)).size).toBeLessThan(2)
  const alone = grouped.filter((one) => one === undefined).length
  const together = grouped.length > alone ? 1 : 0
  await waitUntil(() => expect(chat.of('U1')).toHaveLength(alone + together))
  expect(chat.of('U1').flatMap(({ batches: [view] }) => view?.items.length ?? [])).toEqual(
    together ? [2] : [],
  )
})

it('shows what becomes of each, and says once that all are over', async () => {
  const setting = await useCardSetting()
  const { worker, requester, people } = setting
  const [person = expect.unreachable()] = people
  await worker.start()
  const ids = await askMany(setting, [...pays(4), { action: 'Pay 5', ttl_seconds: 60 }])
  const [one = '', two = '', three = '', four = '', five = ''] = ids
  const batch = await batchOf(setting, one)
  await untilRest(setting, ids, batch)
  await vote(setting, one, person, 'approved')
  await vote(setting, two, person, 'rejected')
  await cancelRequest(worker.deps, requester.caller, three)
  await worker
    .stored('requests')
    .updateOne({ _id: five }, { $set: { expires_at: new Date(Date.now() - 1_000) } })
  await expireRequests(worker.deps)
  await untilRest(setting, ids, batch)
  const states = ['approved', 'rejected', 'withdrawn', 'pending', 'expired']
  expect(statesOf(message(setting).batches.at(-1))).toEqual(states)
  expect(message(setting).batches.at(-1)?.status.kind).toBe('pending')
  expect(message(setting).replies).toEqual([])
  await vote(setting, four, person, 'approved')
  await untilRest(setting, ids, batch)
  const last = message(setting).batches.at(-1)
  expect(statesOf(last)).toEqual(states.with(3, 'approved'))
  expect(last).toMatchObject({
    status: { kind: 'over' },
    items: [{ status: { by_you: true } }, {}, {}, {}, {}],
  })
  expect(message(setting).replies).toMatchObject([{ kind: 'batch', batch: { status: { kind: 'over' } } }])
})

it.each(['expires', 'withdrawn'])(
  'of a batch that nobody decided nothing is said when it is %s',
  async (how) => {
    const setting = await useCardSetting()
    const { worker, requester } = setting
    await worker.start()
    const ids = await askMany(setting, pays(2))
    const batch = await batchOf(setting, ids[0])
    await untilRest(setting, ids, batch)
    if (how === 'withdrawn') for (const id of ids) await cancelRequest(worker.deps, requester.caller, id)
    else {
      const expires_at = new Date(Date.now() - 1_000)
      await worker.stored('requests').updateMany({ 'batch.id': batch }, { $set: { expires_at } })
      await expireRequests(worker.deps)
    }
    await untilRest(setting, ids, batch)
    expect(message(setting).batches.at(-1)?.status.kind).toBe('over')
    expect(message(setting).replies).toEqual([])
  },
)

it('reminders of one minute are one, by callers and by the policy, and each call says that it was sent', async () => {
  const setting = await useCardSetting()
  const { worker, requester } = setting
  await worker.start()
  const ids = await askMany(setting, pays(4))
  const batch = await batchOf(setting, ids[0])
  await untilRest(setting, ids, batch)
  const start = worker.deps.clock.now().getTime()
  const reminded = await Promise.all(ids.map((id) => remindApprovers(worker.deps, requester.caller, id)))
  expect(reminded.map(({ accepted }) => accepted)).toEqual([true, true, true, true])
  await worker
    .stored('requests')
    .updateMany(
      { 'batch.id': batch },
      { $set: { remind_at: new Date(Date.now() - 1_000), reminded_at: new Date(0) } },
    )
  await remindAutomatically(worker.deps)
  await untilRest(setting, ids, batch)
  const minutes = Math.floor(worker.deps.clock.now().getTime() / 60_000) - Math.floor(start / 60_000)
  const { replies, batches } = message(setting)
  expect(replies.length).toBeLessThanOrEqual(1 + minutes)
  expect(replies[0]).toMatchObject({ kind: 'batch', batch: { status: { kind: 'pending' } } })
  expect(batches).toHaveLength(1)
})

it('a vote of a quorum is shown on the line of its request', async () => {
  const setting = await useCardSetting({ approvers: 2, quorum: 2 })
  const { worker, people } = setting
  await worker.start()
  const ids = await askMany(setting, pays(2))
  const batch = await batchOf(setting, ids[0])
  await untilRest(setting, ids, batch, 2)
  await vote(setting, ids[1] ?? '', people[0] ?? expect.unreachable(), 'approved', { closes: false })
  await untilRest(setting, ids, batch, 2)
  for (const [user, voted] of [
    ['U1', 'approved'],
    ['U2', undefined],
  ] as const)
    expect(
      message(setting, user)
        .batches.at(-1)
        ?.items.map((item) => [item.quorum.approved, item.voted]),
    ).toEqual([
      [0, undefined],
      [1, voted],
    ])
})

it('a call that died is completed by its repeat on the same card, which reminds of what people did not see', async () => {
  const setting = await useCardSetting()
  const { worker } = setting
  await dieAfter(setting, 2, () => askMany(setting, pays(4), 'k'))
  // Nobody repeats the call: those that were made still ask.
  const work = await worker.start()
  const [made = ''] = (await worker.stored('requests').find({}).toArray()).map(({ _id }) => _id)
  const batch = await batchOf(setting, made)
  await createRelay(worker.deps, NO_LOOPS).run()
  await untilRest(setting, [made], batch)
  expect(message(setting).batches.map(({ items }) => items.length)).toEqual([2])
  await work.stop()
  // By the store's clock, and not at the edge of a turn.
  const before = new Date(worker.deps.clock.now().getTime() - 65_000)
  await worker.stored('requests').updateMany({ 'batch.id': batch }, { $set: { created_at: before } })
  await worker.stored('cards').updateMany({}, { $set: { created_at: before, posted_at: before } })
  await worker.start()
  const ids = await askMany(setting, pays(4), 'k')
  await untilRest(setting, ids, batch)
  expect(
    message(setting)
      .batches.at(-1)
      ?.items.map(({ request_id }) => request_id),
  ).toEqual(ids)
  expect(message(setting).replies).toMatchObject([{ kind: 'batch', batch: { items: [{}, {}, {}, {}] } }])
  expect(setting.chat.messages).toHaveLength(1)
})

it('a call completed after a vote reminds of the rest at once, and says once more that all are over', async () => {
  const setting = await useCardSetting()
  const { worker, people } = setting
  const [person = expect.unreachable()] = people
  await dieAfter(setting, 1, () => askMany(setting, pays(4), 'k'))
  await worker.start()
  await createRelay(worker.deps, NO_LOOPS).run()
  const [made = ''] = (await worker.stored('requests').find({}).toArray()).map(({ _id }) => _id)
  const batch = await batchOf(setting, made)
  await untilRest(setting, [made], batch)
  await vote(setting, made, person, 'approved')
  await untilRest(setting, [made], batch)
  const said = () =>
    message(setting).replies.map((reply) =>
      'batch' in reply ? [reply.batch.status.kind, reply.batch.items.length] : reply.kind,
    )
  expect(said()).toEqual([['over', 1]])
  const ids = await askMany(setting, pays(4), 'k')
  await untilRest(setting, ids, batch)
  const rest = ids.slice(1)
  expect(said().slice(1)).toEqual([['pending', 4]])
  for (const id of rest) await vote(setting, id, person, 'approved')
  await untilRest(setting, ids, batch)
  expect(said().slice(2)).toEqual([['over', 4]])
})

it('a workspace that is connected later gets the one card', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  chat.tenants = []
  const ids = await askMany(setting, pays(3))
  await createRelay(worker.deps, NO_LOOPS).run()
  expect(await worker.stored('cards').countDocuments({})).toBe(0)
  chat.tenants = ['T1']
  await queueForAccount(worker.deps, requester.account.id, chat.platform)
  await worker.start()
  await untilRest(setting, ids, await batchOf(setting, ids[0]))
  expect(chat.messages.map(({ batches: [view] }) => view?.items.length)).toEqual([3])
})

it('a card rejected as a whole is one rejection: the key is not silenced by it', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester, people } = setting
  await worker.start()
  const ids = await askMany(setting, pays(3))
  await untilRest(setting, ids, await batchOf(setting, ids[0]))
  for (const id of ids) await vote(setting, id, people[0] ?? expect.unreachable(), 'rejected')
  const next = await requester.request()
  await waitUntil(() => expect(chat.one('U1', next).shown).toHaveLength(1))
})

it('what other people decide since a call was cut off has a card of its own', async () => {
  const setting = await useCardSetting({ approvers: 2 })
  const { worker, chat, requester, people } = setting
  await dieAfter(setting, 2, () => askMany(setting, pays(4), 'k'))
  await worker
    .stored('accounts')
    .updateOne({ _id: requester.account.id }, { $set: { 'policy.approvers': [people[1]?.id] } })
  const ids = await askMany(setting, pays(4), 'k')
  await worker.start()
  const [before, after] = [await batchOf(setting, ids[0]), await batchOf(setting, ids[3])]
  expect(after).not.toBe(before)
  await untilRest(setting, ids, before, 2)
  await untilRest(setting, ids, after, 1)
  const shown = (to: string) => chat.of(to).map(({ batches }) => batches.at(-1)?.items.length)
  expect([shown('U1'), shown('U2').sort()]).toEqual([[2], [2, 2]])
})
