import { expect, it } from 'vitest'
import { cancelRequest } from '../../../src/flow/requests/cancel-request.ts'
import { expireRequests } from '../../../src/flow/requests/settle-request.ts'
import { nowShown, waitUntil } from '../../support/chat-platform.ts'
import { newRequester } from '../../support/worker.ts'
import { untilAtRest, useCardSetting, vote } from './card-setting.ts'

it('sends every approver one card that asks, with where to decide', async () => {
  const setting = await useCardSetting({ approvers: 3 })
  await setting.worker.start()
  const id = await setting.requester.request()
  await untilAtRest(setting.worker, id, 3)
  expect(setting.chat.messages).toHaveLength(3)
  for (const user of ['U1', 'U2', 'U3']) {
    const message = setting.chat.one(user, id)
    expect(message.shown).toHaveLength(1)
    expect(nowShown(message)).toMatchObject({
      request_id: id,
      version: 1,
      audience: 'approver',
      status: { kind: 'pending' },
      action: 'Deploy',
      links: { approve: expect.stringContaining(`/a/${id}?d=approve`) },
    })
  }
})

it('edits every card as approvals come in, 0, 1 and 2 of 2, and says the decision once under each', async () => {
  const setting = await useCardSetting({ approvers: 3, quorum: 2 })
  const { worker, chat, people } = setting
  const [first, second] = people
  await worker.start()
  const id = await setting.requester.request()
  await untilAtRest(worker, id, 3)
  await vote(setting, id, first ?? expect.unreachable(), 'approved', { closes: false })
  await untilAtRest(worker, id, 3)
  await vote(setting, id, second ?? expect.unreachable(), 'approved', { comment: 'Checked the invoice.' })
  await untilAtRest(worker, id, 3)
  for (const user of ['U1', 'U2', 'U3']) {
    const { shown, replies } = chat.one(user, id)
    expect(shown.map(({ version, quorum, status }) => [version, quorum.approved, status.kind])).toEqual([
      [1, 0, 'pending'],
      [2, 1, 'pending'],
      [3, 2, 'approved'],
    ])
    expect(shown[2]?.status).toMatchObject({
      by: second?.approver,
      by_name: 'Person U2',
      method: 'passkey',
      comment: 'Checked the invoice.',
    })
    const { status, audience, action, requested_by, links } = shown[2] ?? expect.unreachable()
    const about = {
      request_id: id,
      audience,
      action,
      requested_by,
      hidden_characters: false,
      details: links.details,
    }
    expect(replies).toEqual([{ kind: 'decided', status, ...about }])
  }
  // People of the account read by name who voted and who has not.
  expect(chat.one('U3', id).shown.map(({ approvals, waits_for }) => ({ approvals, waits_for }))).toEqual([
    {
      approvals: [],
      waits_for: [{ name: 'Person U1' }, { name: 'Person U2' }, { name: 'Person U3', you: true }],
    },
    {
      approvals: [{ name: 'Person U1' }],
      waits_for: [{ name: 'Person U2' }, { name: 'Person U3', you: true }],
    },
    { approvals: [{ name: 'Person U1' }, { name: 'Person U2' }], waits_for: [] },
  ])
  // Who has voted is asked nothing more; the others still are.
  expect(chat.one('U1', id).shown[1]?.voted).toBe('approved')
  expect(chat.one('U3', id).shown[1]).not.toHaveProperty('voted')
})

it('shows a rejection with its comment', async () => {
  const setting = await useCardSetting()
  await setting.worker.start()
  const id = await setting.requester.request()
  await untilAtRest(setting.worker, id)
  const [person] = setting.people
  await vote(setting, id, person ?? expect.unreachable(), 'rejected', { comment: 'Not today.' })
  await untilAtRest(setting.worker, id)
  expect(nowShown(setting.chat.one('U1', id))?.status).toMatchObject({
    kind: 'rejected',
    comment: 'Not today.',
    by_you: true,
  })
})

it('shows a withdrawn request as such, and says nothing under it', async () => {
  const setting = await useCardSetting()
  await setting.worker.start()
  const id = await setting.requester.request()
  await untilAtRest(setting.worker, id)
  await cancelRequest(setting.worker.deps, setting.requester.caller, id)
  await untilAtRest(setting.worker, id)
  const message = setting.chat.one('U1', id)
  expect(nowShown(message)?.status).toEqual({ kind: 'withdrawn' })
  expect(message.replies).toEqual([])
})

it('shows an expired request as such', async () => {
  const setting = await useCardSetting()
  await setting.worker.start()
  const id = await setting.requester.request()
  await untilAtRest(setting.worker, id)
  const past = new Date(setting.worker.deps.clock.now().getTime() - 1)
  await setting.worker.stored('requests').updateOne({ _id: id }, { $set: { expires_at: past } })
  await expireRequests(setting.worker.deps)
  await untilAtRest(setting.worker, id)
  expect(nowShown(setting.chat.one('U1', id))?.status).toEqual({ kind: 'expired' })
})

it('never asks about what was decided before the card could be posted', async () => {
  const setting = await useCardSetting({ approvers: 2 })
  const id = await setting.requester.request()
  const [person] = setting.people
  await vote(setting, id, person ?? expect.unreachable(), 'approved')
  await setting.worker.start()
  await waitUntil(async () => expect((await setting.worker.deps.requests.find(id))?.outbox).toEqual([]))
  expect(await setting.worker.deps.cards.ofRequest(id)).toEqual([])
  expect(setting.chat.calls).toEqual([])
})

it('drops the card of a request that is over by the time its turn comes', async () => {
  const setting = await useCardSetting()
  const { worker, chat } = setting
  const work = await worker.start()
  chat.behave(() => ({ outcome: 'failed' }))
  const id = await setting.requester.request()
  const tries = async () => (await worker.deps.cards.ofRequest(id))[0]?.tries
  await waitUntil(async () => expect(await tries()).toBeGreaterThanOrEqual(1))
  // Not before the vote is recorded: a try in between would post it.
  const [person] = setting.people
  await vote(setting, id, person ?? expect.unreachable(), 'approved')
  chat.behave(() => undefined)
  await untilAtRest(worker, id)
  work.loops.cards.wake()
  expect(chat.messages).toEqual([])
  expect(await worker.deps.cards.ofRequest(id)).toMatchObject([
    { state: 'idle', shown: 2, wanted: 2, replies: [{ kind: 'decided', state: 'dropped' }] },
  ])
})

it('makes no card for a sandbox request, nor where the account has no workspace', async () => {
  const { worker, chat, requester } = await useCardSetting()
  await worker.start()
  const sandbox = await newRequester(worker, true)
  const dry = await sandbox.request()
  chat.tenants = []
  const away = await requester.request()
  for (const id of [dry, away]) {
    await waitUntil(async () => expect((await worker.deps.requests.find(id))?.outbox).toEqual([]))
    expect(await worker.deps.cards.ofRequest(id)).toEqual([])
  }
  expect(chat.calls).toEqual([])
})

it('tells a channel of the account who asks and what became of it, never the context, comment or name', async () => {
  const setting = await useCardSetting()
  const { worker, chat, requester } = setting
  const channels = [
    { platform: 'slack', tenant: 'T1', channel: 'C1' },
    { platform: 'slack', tenant: 'T-elsewhere', channel: 'C2' },
  ]
  await worker.stored('accounts').updateOne({ _id: requester.account.id }, { $set: { channels } })
  await worker.start()
  const id = await requester.request({})
  await untilAtRest(worker, id, 2)
  const [person] = setting.people
  await vote(setting, id, person ?? expect.unreachable(), 'rejected', { comment: 'secret' })
  await untilAtRest(worker, id, 2)
  const { shown, replies } = chat.one('C1', id)
  expect(shown.map(({ audience, rows, status }) => [audience, rows, status.kind])).toEqual([
    ['channel', [], 'pending'],
    ['channel', [], 'rejected'],
  ])
  expect(shown[1]?.status).toMatchObject({ comment: null })
  expect(JSON.stringify([shown, replies])).not.toMatch(/secret|Person/)
  expect(chat.of('C2')).toEqual([])
})
