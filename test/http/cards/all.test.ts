import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { stored } from '../../support/caller.ts'
import { type ChatPlatform, createChatPlatform, nowShown, waitUntil } from '../../support/chat-platform.ts'
import { setPolicy } from '../../support/deciders.ts'
import { answerSchema } from '../../support/documented.ts'
import { type EnrolledPerson, enrolWithPasskey } from '../../support/enrolled.ts'
import {
  ask,
  callWithKey,
  decideByPasskey,
  type LiveSetting,
  proofFor,
  setUpOwner,
} from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

let chat: ChatPlatform
let service: TestService
let setting: LiveSetting
/** Decides as well, and is not on the platform. */
let away: EnrolledPerson

beforeAll(async () => {
  chat = createChatPlatform()
  service = await startService({ work: true, chats: [chat] })
  setting = await setUpOwner(service)
  away = await enrolWithPasskey(service, 'away@example.com')
  chat.members.set('owner@example.com', { platform: 'slack', tenant: 'T1', user: 'UOWNER' })
  const owner = await service.composition.deps.users.find(setting.owner.userId)
  const account = owner?.account_id ?? expect.unreachable()
  await setPolicy(service, account, { approvers: [setting.owner.userId, away.userId], quorum: 1 })
  const channels = [{ platform: 'slack', tenant: 'T1', channel: 'C1' }]
  await stored(service, 'accounts').updateOne({ _id: account }, { $set: { channels } })
})
beforeEach(() => chat.behave(() => undefined))
afterAll(() => service.close())

const approverOf = async (person: EnrolledPerson) =>
  (await service.composition.deps.users.find(person.userId))?.approver ?? expect.unreachable()

/** Asks and waits until everybody has been told who can be. */
async function asked(): Promise<string> {
  const id = await ask(setting)
  await waitUntil(async () => {
    const states = (await service.composition.deps.cards.ofRequest(id)).map(({ state }) => state)
    expect(states.sort()).toEqual(['idle', 'idle', 'unreachable'])
  })
  return id
}

async function logged(id: string) {
  const response = await callWithKey(service, setting.key, `/${id}/deliveries`)
  expect(response.status).toBe(200)
  const body: unknown = await response.json()
  const documented = answerSchema('get', '/api/v1/approvals/{id}/deliveries', 200)
  expect(documented.safeParse(body).error?.issues ?? []).toEqual([])
  return body
}

it('decides on the page, edits the card and says the decision under it', async () => {
  const id = await asked()
  const decided = await decideByPasskey(setting, id, 'approved', 'Checked.')
  expect(decided.status).toBe(200)
  await waitUntil(() => expect(chat.one('UOWNER', id).replies).toHaveLength(1))
  expect(nowShown(chat.one('UOWNER', id))?.status).toMatchObject({
    kind: 'approved',
    by: await approverOf(setting.owner),
    by_you: true,
    method: 'passkey',
    comment: 'Checked.',
    decision_id: decided.body.decision.id,
  })
  await waitUntil(() =>
    expect(nowShown(chat.one('C1', id))?.status).toMatchObject({ kind: 'approved', comment: null }),
  )
})

it('names people in a channel only when the account wants that', async () => {
  const users = await service.composition.deps.users.findMany([setting.owner.userId, away.userId])
  const everyone = users.map(({ name }) => ({ name }))
  const inChannel = async () => {
    const id = await asked()
    await decideByPasskey(setting, id, 'approved', 'Checked.')
    await waitUntil(() => expect(chat.one('C1', id).shown).toHaveLength(2))
    return chat.one('C1', id).shown
  }
  for (const wanted of [true, false]) {
    const changed = await setting.owner.browser.patch('/api/v1/account', { names_in_channels: wanted })
    expect([changed.status, changed.body.names_in_channels]).toEqual([200, wanted])
    const [open, closed] = await inChannel()
    expect(open?.waits_for).toEqual(wanted ? expect.arrayContaining(everyone) : [])
    const [decider] = users.filter(({ id }) => id === setting.owner.userId)
    const status = { by: await approverOf(setting.owner), comment: null }
    expect(closed?.status).toMatchObject(wanted ? { ...status, by_name: decider?.name } : status)
    if (wanted) continue
    expect(closed?.status).not.toHaveProperty('by_name')
    expect([open, closed].map((view) => [view?.approvals, view?.waits_for])).toEqual([
      [[], []],
      [[], []],
    ])
  }
})

it('lets of two decisions at once count one, and every card shows that one', async () => {
  const id = await asked()
  // Both have proved it before either decides: later nobody is asked to.
  const proven = [
    { by: setting.owner, decision: 'approved', passkey: await proofFor(setting, id, 'approved') },
    { by: away, decision: 'rejected', passkey: await proofFor({ service, owner: away }, id, 'rejected') },
  ]
  const both = await Promise.all(
    proven.map(({ by, ...said }) => by.browser.post(`/api/v1/approvals/${id}/decision`, said)),
  )
  const won = both.find(({ status }) => status === 200)
  expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
  expect(both.find(({ status }) => status === 409)?.body).toMatchObject({
    error: 'not_pending',
    message: expect.stringMatching(
      /^The request is no longer pending; its status is (approved|rejected)\. Nothing was changed\.$/,
    ),
  })
  await waitUntil(() => {
    for (const to of ['UOWNER', 'C1']) {
      const { shown, replies } = chat.one(to, id)
      expect(shown.map(({ status }) => status.kind)).toEqual(['pending', won?.body.status])
      expect(replies).toMatchObject([{ kind: 'decided', status: { kind: won?.body.status } }])
    }
  })
})

it('tells the page whom no platform reached, by reference, and the log what became of each card', async () => {
  const id = await asked()
  const review = await setting.owner.browser.get(`/api/v1/approvals/${id}/review`)
  expect(review.status).toBe(200)
  expect(review.body.not_reachable).toEqual([await approverOf(away)])
  const entry = (more: object) => ({
    id: expect.stringMatching(/^crd_/),
    platform: 'slack',
    next_attempt_at: null,
    created_at: expect.any(String),
    ...more,
  })
  const attempt = (outcome: string) => [
    { at: expect.any(String), what: 'post', outcome, duration_ms: expect.any(Number) },
  ]
  const approver = 'approver'
  const wanted = [
    entry({
      recipient: approver,
      approver: await approverOf(setting.owner),
      state: 'shown',
      attempts: attempt('accepted'),
    }),
    entry({
      recipient: approver,
      approver: await approverOf(away),
      state: 'unreachable',
      attempts: attempt('unreachable'),
    }),
    entry({ recipient: 'channel', state: 'shown', attempts: attempt('accepted') }),
  ]
  const log = Object(await logged(id))
  expect(log).toEqual({ data: [], next_cursor: null, quiet: [], notifications: [], cards: expect.any(Array) })
  expect(log.cards).toHaveLength(3)
  expect(log.cards).toEqual(expect.arrayContaining(wanted))
  expect(JSON.stringify([log, review.body])).not.toMatch(/UOWNER|C1\b|T1\b|usr_/)
  const own = await setting.owner.browser.get(`/api/v1/approvals/${id}/deliveries`)
  expect(own.body.cards).toEqual(log.cards)
})

it('no longer calls anybody unreachable once the request is over', async () => {
  const id = await asked()
  await decideByPasskey(setting, id, 'rejected')
  const review = await setting.owner.browser.get(`/api/v1/approvals/${id}/review`)
  expect(review.body).toMatchObject({ status: 'rejected', not_reachable: [] })
})

it('answers a reminder with push_accepted true when a message was accepted, and reminds in the thread', async () => {
  const id = await asked()
  const response = await callWithKey(service, setting.key, `/${id}/remind`, {})
  expect([response.status, await response.json()]).toMatchObject([
    200,
    { ok: true, push_sent: true, push_accepted: true },
  ])
  await waitUntil(() => expect(chat.one('C1', id).replies).toHaveLength(1))
  expect(chat.one('UOWNER', id).replies).toMatchObject([{ kind: 'reminder', automatic: false }])
})

it('answers with push_accepted false, and push_sent true, when only the channel took it, or the platform is away', async () => {
  const id = await asked()
  chat.behave(({ what, to }) => (what === 'reply' && to === 'UOWNER' ? { outcome: 'failed' } : undefined))
  const response = await callWithKey(service, setting.key, `/${id}/remind`, {})
  expect([response.status, await response.json()]).toMatchObject([
    200,
    { push_sent: true, push_accepted: false },
  ])
})
