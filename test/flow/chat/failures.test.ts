import { expect, it } from 'vitest'
import { notReachable } from '../../../src/domain/card-standing.ts'
import { recipientKey } from '../../../src/domain/chat.ts'
import { cancelRequest } from '../../../src/flow/requests/cancel-request.ts'
import { letLook, nowShown, type PlatformCall, waitUntil } from '../../support/chat-platform.ts'
import { asMembers } from '../../support/members.ts'
import { newRequester } from '../../support/worker.ts'
import { addApprover, holdRetries, letTimePass, untilAtRest, useCardSetting, vote } from './card-setting.ts'

const cardsOf = (setting: Awaited<ReturnType<typeof useCardSetting>>, id: string) =>
  setting.worker.deps.cards.ofRequest(id)

it('sends the others their cards when one of three cannot be reached, and says who', async () => {
  const setting = await useCardSetting({ approvers: 3 })
  const { worker, chat, people, requester } = setting
  chat.members.delete(people[1]?.email ?? expect.unreachable())
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id, 3)
  expect(chat.messages.map(({ to }) => to).sort()).toEqual(['U1', 'U3'])
  const lost = (await cardsOf(setting, id)).filter(({ state }) => state === 'unreachable')
  expect(lost).toMatchObject([
    { recipient: { user_id: people[1]?.id }, attempts: [{ what: 'post', outcome: 'unreachable' }] },
  ])
  await vote(setting, id, people[0] ?? expect.unreachable(), 'approved')
  await untilAtRest(worker, id, 3)
  expect(nowShown(chat.one('U3', id))?.status.kind).toBe('approved')
  // It is still on record that nobody could be told, and nobody was asked about what is over.
  const states = (await cardsOf(setting, id)).map(({ state }) => state)
  expect(states.sort()).toEqual(['idle', 'idle', 'unreachable'])
})

it('says the outcome under a message that nobody may edit any more', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester, people } = setting
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  chat.behave(({ what }) => (what === 'update' ? { outcome: 'unreachable' } : undefined))
  await vote(setting, id, people[0] ?? expect.unreachable(), 'approved')
  await waitUntil(() =>
    expect(chat.one('U1', id).replies).toMatchObject([{ kind: 'decided', status: { kind: 'approved' } }]),
  )
  await untilAtRest(worker, id)
  expect(chat.one('U1', id).replies).toHaveLength(1)
  expect(await cardsOf(setting, id)).toMatchObject([
    { state: 'unreachable', shown: 1, replies: [{ state: 'said' }] },
  ])
})

it.each([
  ['approver', 'before anybody voted'],
  ['approver', 'after a vote'],
  ['channel', 'after a vote'],
  ['approver', 'where only the reply tells of it'],
])('says the outcome in full where the card was deleted: to the %s, %s', async (recipient, when) => {
  const setting = await useCardSetting({ approvers: 2, quorum: 2 })
  const { worker, chat, requester, people } = setting
  const [first = expect.unreachable(), second = expect.unreachable()] = people
  const to = recipient === 'channel' ? 'C1' : 'U1'
  const channel = { platform: 'slack', tenant: 'T1', channel: 'C1', name: 'deploys' }
  await worker.stored('accounts').updateOne({ _id: requester.account.id }, { $set: { channels: [channel] } })
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id, 3)
  const deleteIt = () =>
    chat.behave((call) => {
      if (call.to !== to || call.what === 'post') return undefined
      const told = call.what === 'reply' || !when.endsWith('tells of it')
      return told ? { outcome: 'unreachable', gone: true } : { outcome: 'unreachable' }
    })
  if (when === 'before anybody voted') deleteIt()
  // Edited once, what it showed later does not count as heard. Refused while the request is pending, it is forgotten.
  await vote(setting, id, first, 'approved', { closes: false })
  await untilAtRest(worker, id, 3)
  deleteIt()
  await vote(setting, id, second, 'rejected')
  await untilAtRest(worker, id, 3)
  const [deleted, anew, ...more] = chat.of(to)
  expect([nowShown(deleted)?.status.kind, more]).toEqual(['pending', []])
  expect(anew).toMatchObject({ shown: [{ replaces: true, status: { kind: 'rejected' } }], replies: [] })
  const said = (await cardsOf(setting, id)).flatMap(({ replies }) => replies.map(({ state }) => state))
  expect(said).toEqual(['said', 'said', 'said'])
})

it('says nothing where the deleted card was about a request that is withdrawn', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  chat.behave(({ what }) => (what === 'update' ? { outcome: 'unreachable', gone: true } : undefined))
  await cancelRequest(worker.deps, requester.caller, id)
  await untilAtRest(worker, id)
  expect(chat.messages).toHaveLength(1)
})

it.each([
  ['edits it and says the outcome when that passes', 'idle', 'said'],
  ['gives up in the end', 'unreachable', 'dropped'],
])(
  'tries a card slowly while the platform seems to know its chat no more: %s',
  async (_how, state, reply) => {
    const setting = await useCardSetting()
    const { worker, chat, requester, people } = setting
    const work = await worker.start()
    const id = await requester.request()
    await untilAtRest(worker, id)
    chat.behave(() => ({ outcome: 'unreachable', passing: true }))
    await vote(setting, id, people[0] ?? expect.unreachable(), 'rejected')
    for (let tries = 1; tries <= 6; tries += 1) {
      const due = { state: 'due', tries, shown: 1, replies: [{ state: 'due' }] }
      await waitUntil(async () => expect(await cardsOf(setting, id)).toMatchObject([due]))
      if (tries < 6) await letTimePass(setting, work.loops.cards.wake)
    }
    const [{ next_at, attempts } = expect.unreachable()] = await cardsOf(setting, id)
    expect(next_at.getTime() - (attempts.at(-1)?.at.getTime() ?? 0)).toBeGreaterThan(17 * 3_600_000)
    expect(chat.calls.filter(({ what }) => what === 'reply')).toEqual([])
    if (reply === 'said') chat.behave(() => undefined)
    await letTimePass(setting, work.loops.cards.wake)
    await untilAtRest(worker, id)
    expect(await cardsOf(setting, id)).toMatchObject([{ state, replies: [{ state: reply }] }])
    expect(nowShown(chat.one('U1', id))?.status.kind).toBe(reply === 'said' ? 'rejected' : 'pending')
  },
)

it('posts at once to a person who is back, and says meanwhile that they were not reached', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester, people } = setting
  const [person = expect.unreachable()] = people
  const work = await worker.start()
  chat.behave(({ what }) => (what === 'post' ? { outcome: 'unreachable', passing: true } : undefined))
  const id = await requester.request()
  for (const tries of [1, 2]) {
    await waitUntil(async () => expect(await cardsOf(setting, id)).toMatchObject([{ state: 'due', tries }]))
    expect(notReachable(await cardsOf(setting, id))).toEqual([person.id])
    if (tries === 1) await letTimePass(setting, work.loops.cards.wake)
  }
  const query = { account_id: requester.account.id, type: 'card.unreachable', limit: 10 } as const
  await waitUntil(async () => expect(await worker.deps.trail.list(query)).toHaveLength(1))
  chat.behave(() => undefined)
  const recipient = recipientKey({ platform: 'slack', recipient: { kind: 'approver', user_id: person.id } })
  await worker.deps.cards.retryUnreachable({ recipient }, worker.deps.clock.now())
  await untilAtRest(worker, id)
  expect(nowShown(chat.one('U1', id))?.status.kind).toBe('pending')
})

it('lets an account whose workspace never answers delay no other account', async () => {
  const setting = await useCardSetting({ approvers: 33 })
  const { worker, chat, requester } = setting
  const other = await newRequester(worker)
  const { id: approver } = await addApprover(setting, 'V1')
  const policy = { approvers: [approver], quorum: 1, passkey_only: false, reminders: [] }
  await worker
    .stored('accounts')
    .updateOne({ _id: other.account.id }, { $set: { policy, members: asMembers([approver]) } })
  let letGo = (): void => undefined
  const stuck = new Promise<undefined>((resolve) => {
    letGo = () => resolve(undefined)
  })
  let waiting = 0
  chat.behave(({ to, what }) => {
    if (what !== 'post' || !to.startsWith('U')) return undefined
    waiting += 1
    return stuck
  })
  await worker.start()
  const id = await requester.request()
  await waitUntil(() => expect(waiting).toBe(16))
  await other.request()
  await waitUntil(() => expect(chat.of('V1')).toHaveLength(1))
  expect(waiting).toBe(16)
  letGo()
  await untilAtRest(worker, id, 33)
})

it('lets a recipient who never answers delay nobody else', async () => {
  const setting = await useCardSetting({ approvers: 3 })
  const { worker, chat, requester } = setting
  let letGo = (): void => undefined
  const stuck = new Promise<undefined>((resolve) => {
    letGo = () => resolve(undefined)
  })
  chat.behave((call) => (call.to === 'U2' ? stuck : undefined))
  await worker.start()
  const ids = await Promise.all(Array.from({ length: 20 }, () => requester.request()))
  await waitUntil(() => expect([chat.of('U1').length, chat.of('U3').length]).toEqual([20, 20]))
  expect(chat.of('U2')).toEqual([])
  letGo()
  for (const id of ids) await untilAtRest(worker, id, 3)
  expect(chat.of('U2')).toHaveLength(20)
  expect(chat.most.perRecipient).toBe(1)
})

it('asks before it tidies up: a new request comes ahead of all edits that wait for the same person', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester, people } = setting
  await worker.start()
  const ids = await Promise.all(Array.from({ length: 5 }, () => requester.request()))
  for (const id of ids) await untilAtRest(worker, id)
  let letGo = (): void => undefined
  const stuck = new Promise<undefined>((resolve) => {
    letGo = () => resolve(undefined)
  })
  chat.behave(({ what }) => (what === 'update' ? stuck : undefined))
  const before = chat.calls.length
  for (const id of ids) await vote(setting, id, people[0] ?? expect.unreachable(), 'approved')
  const behind = { shown: 1, wanted: 2 }
  await waitUntil(async () => expect(await worker.stored('cards').countDocuments(behind)).toBe(5))
  await waitUntil(() => expect(chat.calls).toHaveLength(before + 1))
  const asked = await requester.request()
  await waitUntil(async () => expect(await cardsOf(setting, asked)).toHaveLength(1))
  letGo()
  for (const id of [...ids, asked]) await untilAtRest(worker, id)
  const then = chat.calls.slice(before + 1).filter(({ what }) => what !== 'reply')
  expect(then[0]).toMatchObject({ what: 'post', request: asked })
})

it('asks before it tidies up: an edit that the platform puts off does not hold back a new request', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester, people } = setting
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id)
  chat.behave(({ what }) => (what === 'update' ? { outcome: 'rate_limited', retry_after: 600 } : undefined))
  await vote(setting, id, people[0] ?? expect.unreachable(), 'approved')
  const putOff = { state: 'due', shown: 1, wanted: 2, attempts: { $elemMatch: { outcome: 'rate_limited' } } }
  await waitUntil(async () => expect(await worker.stored('cards').countDocuments(putOff)).toBe(1))
  const asked = await requester.request()
  await untilAtRest(worker, asked)
  expect(nowShown(chat.one('U1', asked))?.status.kind).toBe('pending')
  expect(chat.calls.filter(({ what }) => what === 'update')).toHaveLength(1)
})

it('waits as long as the platform asks, with all messages to that recipient, and gives nothing up', async () => {
  const setting = await useCardSetting({ approvers: 2 })
  const { worker, chat, requester } = setting
  const times: [number, PlatformCall][] = []
  chat.behave((call) => {
    if (call.what === 'post') times.push([performance.now(), call])
    return call.what === 'post' && call.to === 'U1' && call.nth === 1
      ? { outcome: 'rate_limited', retry_after: 5 }
      : undefined
  })
  await worker.start()
  const ids = [await requester.request(), await requester.request()]
  for (const id of ids) await untilAtRest(worker, id, 2)
  const [refused, next] = times.filter(([, { to }]) => to === 'U1').map(([time]) => time)
  expect((next ?? 0) - (refused ?? 0)).toBeGreaterThanOrEqual(4_900)
  expect(times.filter(([, { to }]) => to === 'U2').every(([time]) => time < (next ?? 0))).toBe(true)
  expect(chat.of('U1')).toHaveLength(2)
  const limited = (await Promise.all(ids.map((id) => cardsOf(setting, id)))).flat()
  expect(limited.every(({ tries }) => tries === 0)).toBe(true)
})

it('goes on until the platform is back, with what is over and with what waits', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester, people } = setting
  const [person = expect.unreachable()] = people
  const work = await worker.start()
  const over = await requester.request()
  await untilAtRest(worker, over)
  holdRetries(setting)
  chat.behave(() => ({ outcome: 'failed' }))
  await vote(setting, over, person, 'rejected')
  const waiting = await requester.request()
  const cardOf = async (id: string) => (await cardsOf(setting, id))[0] ?? expect.unreachable()
  for (let tries = 1; tries <= 8; tries += 1) {
    for (const id of [over, waiting])
      await waitUntil(async () => expect(await cardOf(id)).toMatchObject({ state: 'due', tries }))
    if (tries < 8) await letTimePass(setting, work.loops.cards.wake)
  }
  chat.behave(() => undefined)
  await letTimePass(setting, work.loops.cards.wake)
  await waitUntil(() => expect(nowShown(chat.one('U1', over))?.status.kind).toBe('rejected'))
  await waitUntil(async () => expect(await cardOf(over)).toMatchObject({ state: 'due', tries: 0 }))
  await letTimePass(setting, work.loops.cards.wake)
  for (const id of [over, waiting]) await untilAtRest(worker, id)
  expect(nowShown(chat.one('U1', over))?.status.kind).toBe('rejected')
  expect(nowShown(chat.one('U1', waiting))?.status.kind).toBe('pending')
  expect(await cardOf(over)).toMatchObject({ state: 'idle', tries: 0 })
})

it('edits once more a minute after an edit whose answer was lost: that one may land last', async () => {
  const setting = await useCardSetting({ approvers: 2, quorum: 2 })
  const { worker, chat, requester, people } = setting
  const [first = expect.unreachable(), second = expect.unreachable()] = people
  const work = await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id, 2)
  chat.behave(({ what, to, nth }) =>
    what === 'update' && to === 'U1' && nth === 1 ? { outcome: 'timeout', perhaps: true } : undefined,
  )
  await vote(setting, id, first, 'approved', { closes: false })
  const mine = async () =>
    (await cardsOf(setting, id)).find(
      ({ recipient: to }) => to.kind === 'approver' && to.user_id === first.id,
    ) ?? expect.unreachable()
  await waitUntil(async () =>
    expect((await mine()).attempts.map(({ outcome }) => outcome)).toContain('timeout'),
  )
  await vote(setting, id, second, 'rejected')
  await waitUntil(async () => expect(await mine()).toMatchObject({ state: 'due', shown: 3, stale: true }))
  const { next_at, attempts } = await mine()
  expect((next_at.getTime() - (attempts.at(-1)?.at.getTime() ?? 0)) / 1000).toBeGreaterThan(55)
  // The older edit lands now.
  const message = chat.one('U1', id)
  const pending = message.shown[0] ?? expect.unreachable()
  message.shown.push(pending)
  await letTimePass(setting, work.loops.cards.wake)
  await untilAtRest(worker, id, 2)
  expect(nowShown(chat.one('U1', id))?.status.kind).toBe('rejected')
  expect(await mine()).not.toHaveProperty('stale')
})

it.each(['finds the card again', 'says the outcome once more'])(
  'leaves nothing that looks pending where the answer to a post was lost and the request is over: %s',
  async (how) => {
    const setting = await useCardSetting()
    const { worker, chat, requester, people } = setting
    const [person = expect.unreachable()] = people
    if (how === 'finds the card again') letLook(chat)
    let away = true
    chat.behave(({ what, nth }) => {
      if (what !== 'post' || !away) return undefined
      return nth === 1 ? 'lost' : { outcome: 'rate_limited', retry_after: 1 }
    })
    const work = await worker.start()
    const id = await requester.request()
    await waitUntil(async () => expect(await cardsOf(setting, id)).toMatchObject([{ perhaps_posted: true }]))
    await vote(setting, id, person, 'rejected')
    away = false
    await letTimePass(setting, work.loops.cards.wake)
    await untilAtRest(worker, id)
    const states = chat.of('U1').map((message) => nowShown(message)?.status.kind)
    expect(states).toEqual(how === 'finds the card again' ? ['rejected'] : ['pending', 'rejected'])
    expect(chat.of('U1').at(-1)?.replies).toHaveLength(how === 'finds the card again' ? 1 : 0)
  },
)

it('never shows less than what is final: a post that comes home late is followed by the decision', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester, people } = setting
  let letGo = (): void => undefined
  let began = (): void => undefined
  const posting = new Promise<void>((resolve) => {
    began = resolve
  })
  const late = new Promise<undefined>((resolve) => {
    letGo = () => resolve(undefined)
  })
  chat.behave(({ what }) => {
    if (what !== 'post') return undefined
    began()
    return late
  })
  await worker.start()
  const id = await requester.request()
  await posting
  await vote(setting, id, people[0] ?? expect.unreachable(), 'rejected')
  await waitUntil(async () => expect(await cardsOf(setting, id)).toMatchObject([{ wanted: 2 }]))
  letGo()
  await untilAtRest(worker, id)
  const { shown, replies } = chat.one('U1', id)
  expect(shown.map(({ status }) => status.kind)).toEqual(['pending', 'rejected'])
  expect(replies).toMatchObject([{ kind: 'decided' }])
})
