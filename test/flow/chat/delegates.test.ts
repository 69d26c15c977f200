import { expect, it } from 'vitest'
import type { User } from '../../../src/domain/user.ts'
import { remindApprovers } from '../../../src/flow/tell/remind-approvers.ts'
import { nowShown, waitUntil } from '../../support/chat-platform.ts'
import { asMembers } from '../../support/members.ts'
import { addApprover, askMany, type CardSetting, untilAtRest, useCardSetting, vote } from './card-setting.ts'

/** Somebody the platform knows as `U9`, who stands in for the first approver and may decide in the account. */
async function useDelegate(
  setting: CardSetting,
  { member = true, until = 3_600_000 }: { member?: boolean; until?: number } = {},
): Promise<User> {
  const delegate = await addApprover(setting, 'U9')
  const { requester, worker, people } = setting
  const members = [...people, ...(member ? [delegate] : [])].map(({ id }) => id)
  await worker
    .stored('accounts')
    .updateOne({ _id: requester.account.id }, { $set: { members: asMembers(members) } })
  await standIn(setting, people[0], delegate, until)
  return delegate
}

/** From an hour ago until so many milliseconds from now. */
async function standIn(
  { worker: { deps } }: CardSetting,
  principal: User | undefined,
  delegate: User,
  until: number,
): Promise<void> {
  const found = await deps.users.find(principal?.id ?? '')
  if (found === undefined) return expect.unreachable()
  const at = deps.clock.now().getTime()
  const ends_at = new Date(at + until)
  await deps.users.change(
    found.id,
    found.version,
    { delegate: { user_id: delegate.id, starts_at: new Date(at - 3_600_000), ends_at } },
    [],
  )
}

it('sends whoever stands in for an approver a card, too, which says for whom', async () => {
  const setting = await useCardSetting({ approvers: 2 })
  await useDelegate(setting)
  await setting.worker.start()
  const id = await setting.requester.request()
  await untilAtRest(setting.worker, id, 3)
  expect(nowShown(setting.chat.one('U9', id))).toMatchObject({
    audience: 'approver',
    on_behalf_of: 'Person U1',
    status: { kind: 'pending' },
    links: { approve: expect.stringContaining(`/a/${id}?d=approve`) },
  })
  for (const user of ['U1', 'U2'])
    expect(nowShown(setting.chat.one(user, id))).not.toHaveProperty('on_behalf_of')
})

it.each([
  ['may not decide in that account', { member: false }],
  ['stood in until a moment ago', { until: -1_000 }],
] as const)('sends no card to a delegate who %s', async (_why, how) => {
  const setting = await useCardSetting({ approvers: 2 })
  await useDelegate(setting, how)
  await setting.worker.start()
  const id = await setting.requester.request()
  await untilAtRest(setting.worker, id, 2)
  expect(setting.chat.of('U9')).toEqual([])
})

it('sends a card with the next reminder to a delegate who was named after the request was made', async () => {
  const setting = await useCardSetting({ approvers: 1 })
  const { worker, requester, chat } = setting
  const delegate = await useDelegate(setting, { until: -1_000 })
  await worker.start()
  const id = await requester.request()
  await untilAtRest(worker, id, 1)
  await standIn(setting, setting.people[0], delegate, 3_600_000)
  expect(await remindApprovers(worker.deps, requester.caller, id)).toMatchObject({ accepted: true })
  await untilAtRest(worker, id, 2)
  expect(nowShown(chat.one('U9', id))).toMatchObject({ on_behalf_of: 'Person U1' })
})

it('posts no card to a delegate who left the account before the platform took it', async () => {
  const setting = await useCardSetting({ approvers: 1 })
  const { worker, chat, people, requester } = setting
  await useDelegate(setting)
  let waited = false
  chat.behave(async ({ what, to }) => {
    if (what !== 'post' || to !== 'U9' || waited) return undefined
    waited = true
    const members = asMembers(people.map(({ id }) => id))
    await worker.stored('accounts').updateOne({ _id: requester.account.id }, { $set: { members } })
    return { outcome: 'rate_limited', retry_after: 1 }
  })
  await worker.start()
  const id = await requester.request({ context: { reason: 'A secret' } })
  await untilAtRest(worker, id, 2)
  expect(waited).toBe(true)
  expect(chat.of('U9')).toEqual([])
  expect(JSON.stringify(nowShown(chat.one('U1', id)))).toContain('A secret')
})

it('shows the vote of a delegate on their card and on that of whom they stood in for, and asks neither again', async () => {
  const setting = await useCardSetting({ approvers: 2, quorum: 2 })
  const { worker, chat, people } = setting
  const [first = expect.unreachable(), second = expect.unreachable()] = people
  const delegate = await useDelegate(setting)
  await worker.start()
  const id = await setting.requester.request()
  await untilAtRest(worker, id, 3)
  await vote(setting, id, delegate, 'approved', { closes: false, for: first })
  await untilAtRest(worker, id, 3)
  expect(nowShown(chat.one('U9', id))).toMatchObject({ voted: 'approved', on_behalf_of: 'Person U1' })
  expect(nowShown(chat.one('U9', id))).not.toHaveProperty('voted_by')
  expect(nowShown(chat.one('U1', id))).toMatchObject({ voted: 'approved', voted_by: 'Person U9' })
  expect(nowShown(chat.one('U2', id))).not.toHaveProperty('voted')
  await vote(setting, id, second, 'approved')
  await untilAtRest(worker, id, 3)
  for (const user of ['U1', 'U2', 'U9'])
    expect(nowShown(chat.one(user, id))?.status).toMatchObject({ kind: 'approved', by_name: 'Person U2' })
})

it('says who decided for whom', async () => {
  const setting = await useCardSetting({ approvers: 1 })
  const { worker, chat, people } = setting
  const delegate = await useDelegate(setting)
  await worker.start()
  const id = await setting.requester.request()
  await untilAtRest(worker, id, 2)
  const [first = expect.unreachable()] = people
  await vote(setting, id, delegate, 'rejected', { for: first })
  await untilAtRest(worker, id, 2)
  const status = { by: first.approver, by_name: 'Person U9', for_name: 'Person U1' }
  expect(nowShown(chat.one('U1', id))?.status).toMatchObject(status)
  expect(nowShown(chat.one('U9', id))?.status).toMatchObject({ ...status, by_you: true })
})

it('asks a delegate nothing more once the person has voted themself', async () => {
  const setting = await useCardSetting({ approvers: 2, quorum: 2 })
  await useDelegate(setting)
  await setting.worker.start()
  const id = await setting.requester.request()
  await untilAtRest(setting.worker, id, 3)
  const [first = expect.unreachable()] = setting.people
  await vote(setting, id, first, 'approved', { closes: false })
  await untilAtRest(setting.worker, id, 3)
  expect(nowShown(setting.chat.one('U9', id))).toMatchObject({ voted: 'approved', voted_by: 'Person U1' })
})

it('tells whoever stands in no more nothing but what a channel learns, and reminds them of nothing', async () => {
  const setting = await useCardSetting({ approvers: 2, quorum: 2 })
  const { worker, chat, people, requester } = setting
  const delegate = await useDelegate(setting)
  await worker.start()
  const id = await requester.request({ context: { reason: 'A secret' } })
  await untilAtRest(worker, id, 3)
  expect(JSON.stringify(nowShown(chat.one('U9', id)))).toContain('A secret')
  await standIn(setting, people[0], delegate, -1_000)
  const [, second = expect.unreachable()] = people
  await vote(setting, id, second, 'approved', { closes: false })
  await untilAtRest(worker, id, 3)
  await remindApprovers(worker.deps, requester.caller, id)
  await untilAtRest(worker, id, 3)
  const message = chat.one('U9', id)
  expect(nowShown(message)).toMatchObject({ audience: 'channel', rows: [] })
  expect(JSON.stringify(nowShown(message))).not.toContain('A secret')
  expect(message.replies).toEqual([])
  expect(chat.one('U1', id).replies).toHaveLength(1)
})

it('names on the card of several requests all for whom they are decided', async () => {
  const setting = await useCardSetting({ approvers: 2, quorum: 2 })
  const { worker, chat, people } = setting
  const [first = expect.unreachable(), second] = people
  const delegate = await useDelegate(setting)
  await standIn(setting, second, delegate, 3_600_000)
  await worker.start()
  const ids = await askMany(setting, [{ action: 'Pay 1' }, { action: 'Pay 2' }])
  await vote(setting, ids[1] ?? '', first, 'approved', { closes: false })
  await waitUntil(() =>
    expect(chat.of('U9')[0]?.batches.at(-1)).toMatchObject({ on_behalf_of: 'Person U1, Person U2' }),
  )
})

it('shows several requests of one call on one card of whoever stands in, until the vote is cast', async () => {
  const setting = await useCardSetting({ approvers: 2 })
  const { worker, chat, people } = setting
  const delegate = await useDelegate(setting)
  await worker.start()
  const ids = await askMany(setting, [{ action: 'Pay 1' }, { action: 'Pay 2' }])
  await waitUntil(() => expect(chat.of('U9').flatMap(({ batches }) => batches)).toHaveLength(1))
  expect(chat.of('U9')[0]?.batches).toMatchObject([
    { audience: 'approver', on_behalf_of: 'Person U1', items: [{}, {}] },
  ])
  await vote(setting, ids[1] ?? '', delegate, 'approved', { for: people[0] ?? expect.unreachable() })
  await waitUntil(() =>
    expect(
      chat
        .of('U2')[0]
        ?.batches.at(-1)
        ?.items.map(({ status }) => status),
    ).toMatchObject([{ kind: 'pending' }, { kind: 'approved', by_name: 'Person U9', for_name: 'Person U1' }]),
  )
})
