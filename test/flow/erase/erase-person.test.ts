import { createECDH, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkTrail } from '../../../src/flow/audit/check-trail.ts'
import { erasePerson } from '../../../src/flow/erase/erase-person.ts'
import { findRecords } from '../../../src/flow/erase/erase-records.ts'
import { revokeApiKey } from '../../../src/flow/keys/manage-api-keys.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { verifyReceiptJson } from '../../../src/signing/verify-node.ts'
import { createStateSurvey } from '../../../src/store/audit/state-survey.ts'
import { type BothChats, inTeams, startBothChats, untilCardsRest } from '../../support/both-chats.ts'
import { alter, stored } from '../../support/caller.ts'
import { expectStatus } from '../../support/enrolled.ts'
import { holding } from '../../support/holding.ts'
import { newMember } from '../../support/invited.ts'
import { ask, callWithKey, decideByPasskey, proofFor, setUpOwner } from '../../support/live.ts'
import type { TestService } from '../../support/service.ts'
import { linkTo, personNumber } from '../../support/teams-service.ts'

let setting: BothChats
let service: TestService
beforeAll(async () => {
  setting = await startBothChats()
  service = setting.service
})
afterAll(() => setting.close())

const CLI = { kind: 'cli' } as const

async function findings() {
  const { deps, connection } = service.composition
  await deps.verifications.flush()
  await createRelay(deps, NO_LOOPS).run()
  const report = await checkTrail({
    trail: deps.trail,
    logs: deps.logs,
    survey: createStateSurvey(connection),
  })
  expect(report.waiting).toBe(0)
  return report.findings.filter((one) => !(one.code === 'not_told' && STORED.includes(one.type)))
}

/** What the setting has put into the store by hand. */
const STORED: readonly string[] = ['chat.linked', 'channel.added']

const verify = async (id: string) => (await fetch(`${service.url}/api/v1/approvals/${id}/verify`)).json()

/** Erases until a running service has edited the cards. */
async function erase(whom: string) {
  const { deps } = service.composition
  return expect
    .poll(() => erasePerson(deps, whom, CLI))
    .toMatchObject({ user: { erased_at: expect.any(Date) } })
}

async function expectNowhere(texts: readonly string[]): Promise<void> {
  for (const text of texts) expect([text, await holding(service, text)]).toEqual([text, []])
}

it('a voter in the account of another: what they said and who they were goes, what was decided stays', async () => {
  const { deps } = service.composition
  const boss = await setUpOwner(service, 'boss@example.com')
  const ann = await newMember(service, boss.owner, 'ann.smith@example.com')
  const account = (await deps.users.find(boss.owner.userId))?.account_id ?? ''
  await deps.users.change(
    ann.userId,
    (await deps.users.find(ann.userId))?.version ?? 0,
    { name: 'Ann Smithsonian' },
    [],
  )
  await alter(service, 'accounts', account, { 'policy.approvers': [ann.userId] })
  const inTenant = personNumber(setting.teams, 3)
  await linkTo(setting.teams, { id: ann.userId }, inTenant)
  await setting.teams.driver.installation(inTenant, 'add')
  const id = await ask(boss, { action: 'Open the gate', notify: { member: 'ann.smith@example.com' } })
  expect(await erasePerson(deps, 'ann.smith@example.com', CLI)).toMatchObject({
    refused: 'pending',
    ids: [id],
  })
  const passkey = await proofFor({ service, owner: ann }, id, 'approved')
  const headers = { 'X-Forwarded-For': '203.0.113.77', 'User-Agent': 'AnnBrowser/1' }
  const vote = { decision: 'approved', comment: 'ANN-COMMENT', passkey }
  expectStatus(await ann.browser.post(`/api/v1/approvals/${id}/decision`, vote, { headers }), 200)
  const subscription = {
    endpoint: 'https://push.example.com/ANN-ENDPOINT',
    keys: {
      p256dh: createECDH('prime256v1').generateKeys('base64url'),
      auth: randomBytes(16).toString('base64url'),
    },
  }
  const device = { subscription, name: 'ANN-BROWSER' }
  expectStatus(await ann.browser.post('/api/v1/me/push', device, { headers }), 201)
  const former = personNumber(setting.teams, 4)
  await setting.teams.driver.message(former, `verify ${id}`)
  await linkTo(setting.teams, { id: ann.userId }, former)
  const unlinked = { key: `teams:${setting.teams.tenantId}:${former.id}` }
  expectStatus(await ann.browser.post('/api/v1/me/chat/remove', unlinked), 200)
  const before = Object(await (await callWithKey(service, boss.key, `/${id}`)).json())
  expect(before.decision.comment).toBe('ANN-COMMENT')
  expect(await findings()).toEqual([])
  expect(await holding(service, '203.0.113.77')).toEqual(['audit_log', 'cards'])
  expect(await holding(service, former.id)).toEqual(
    expect.arrayContaining(['audit_log', 'chat_conversations']),
  )

  expect(await erasePerson(deps, 'ann.smith@example.com', CLI, true)).toMatchObject({
    user: { email: 'ann.smith@example.com' },
    counts: { requests: 0, votes: 1, records: expect.any(Number) },
  })
  await erase(ann.userId)
  await expectNowhere([
    'ann.smith@example.com',
    inTenant.id,
    former.id,
    'ANN-BROWSER',
    'Ann Smithsonian',
    'ANN-COMMENT',
    '203.0.113.77',
    'AnnBrowser/1',
  ])
  expect(await findings()).toEqual([])
  const left = Object(await (await callWithKey(service, boss.key, `/${id}`)).json())
  expect(left).toEqual({
    ...before,
    decision: { ...before.decision, comment: null },
    notify: { member: '[erased]' },
  })
  expect(await verify(id)).toMatchObject({ valid: true, decision: 'approved' })
  const keys = deps.keys.ring().publicRecords()
  expect(verifyReceiptJson(before, keys)).toMatchObject({ valid: true, checked: { action: 'full' } })
  expect((await deps.accounts.find(account))?.members).toEqual([])
  const [told] = await deps.trail.list({ type: 'user.erased', subject: ann.userId, limit: 2 })
  expect(told?.entry).toMatchObject({ actor: CLI })
  expect(told?.entry?.detail).toEqual({ votes: 1, requests: 0, records: expect.any(Number) })
  expect(await erasePerson(deps, 'ann.smith@example.com', CLI)).toEqual({ refused: 'unknown' })

  expect(await findings()).toEqual([])
  const records = (await deps.trail.head())?.seq ?? 0
  expect(await erasePerson(deps, ann.userId, CLI), 'again').toMatchObject({ left: { cards: 0 } })
  // The record of a verification comes when it comes.
  const newer = (await deps.trail.list({ limit: 5 })).filter(
    ({ entry }) => entry?.type !== 'approval.verified',
  )
  expect(newer.filter(({ seq }) => seq > records)).toEqual([])
  const { account_id } = (await deps.users.find(ann.userId)) ?? expect.unreachable()
  const traces = await findRecords(deps, { id: ann.userId, account_id, chat: [], notified: [] })
  expect([traces.found, traces.told.size]).toEqual([[], told?.entry?.detail?.records])
})

it('an owner with chat on two platforms: cards are edited first, then every trace goes', async () => {
  const { deps } = service.composition
  const { owner, owners } = setting
  const user = (await deps.users.find(owner.userId)) ?? expect.unreachable()
  await alter(service, 'users', user.id, { 'passkeys.0.name': 'OWNER-PHONE' })
  const id = await ask(setting, { action: 'Pay OWNER-ACTION', context: { reason: 'OWNER-ACTION' } })
  await untilCardsRest(setting, id, 6)
  expectStatus(await decideByPasskey(setting, id, 'approved', 'OWNER-COMMENT'), 200)
  await untilCardsRest(setting, id, 6)
  const key = (await deps.apiKeys.list(user.account_id))[0]?.id ?? ''
  expect(await erasePerson(deps, user.email, CLI)).toMatchObject({ refused: 'keys', ids: [key] })
  await revokeApiKey(deps, key, user.account_id, CLI)
  expect(await erasePerson(deps, user.email, CLI)).toMatchObject({ refused: 'members' })
  await alter(service, 'accounts', user.account_id, { members: [] })
  await erase(owner.userId)
  const [card] = inTeams(setting, owners.id, id)
  expect(JSON.stringify(card?.shown.at(-1))).toContain('Not shown here any more')
  const chat = user.chat.map(({ user: one }) => one)
  await expectNowhere([user.email, 'OWNER-ACTION', 'OWNER-COMMENT', 'OWNER-PHONE', ...chat])
  expect(await findings()).toEqual([])
  expect(await verify(id)).toMatchObject({ valid: true, erased_at: expect.any(String) })
  expect(await stored(service, 'cards').countDocuments({ account_id: user.account_id })).toBe(0)
})

it('who enrols again while they are being erased is erased by the next call', async () => {
  const { deps } = service.composition
  const { owner } = await setUpOwner(service, 'back@example.com')
  const user = (await deps.users.find(owner.userId)) ?? expect.unreachable()
  for (const { id } of await deps.apiKeys.list(user.account_id))
    await revokeApiKey(deps, id, user.account_id, CLI)
  const personErasure = {
    ...deps.personErasure,
    async forgetNotified(id: string) {
      await deps.personErasure.forgetNotified(id)
      await alter(service, 'users', id, { passkeys: user.passkeys })
    },
  }
  const { user: still } = await erasePerson({ ...deps, personErasure }, user.id, CLI).then((done) =>
    'user' in done ? done : expect.unreachable(),
  )
  expect([still.erased_at, still.email]).toEqual([undefined, 'back@example.com'])
  await erase(user.id)
  expect(await deps.users.find(user.id)).toMatchObject({ passkeys: [], name: '[erased]' })
  await expectNowhere(['back@example.com', user.passkeys[0]?.credential_id ?? expect.unreachable()])
})

it('erased thrice at once, a person is erased, and every call says so', async () => {
  const { deps } = service.composition
  const boss = await setUpOwner(service, 'boss-of-thrice@example.com')
  const person = await newMember(service, boss.owner, 'thrice@example.com')
  const user = (await deps.users.find(person.userId)) ?? expect.unreachable()
  const all = await Promise.all(Array.from({ length: 3 }, () => erasePerson(deps, user.email, CLI)))
  for (const done of all) expect(done).toMatchObject({ user: { id: user.id } })
  await erase(user.id)

  // Another command erases them between the look-up and the first write, and the address goes to somebody else.
  const next = await newMember(service, boss.owner, 'thrice@example.com')
  let meanwhile: Promise<unknown> | undefined
  const users = {
    ...deps.users,
    async find(id: string) {
      meanwhile ??= erase(next.userId).then(() => newMember(service, boss.owner, 'thrice@example.com'))
      await meanwhile
      return deps.users.find(id)
    },
  }
  expect(await erasePerson({ ...deps, users }, 'thrice@example.com', CLI)).toMatchObject({
    user: { id: next.userId, erased_at: expect.any(Date), name: '[erased]' },
    left: { requests: 0, cards: 0, deliveries: 0 },
  })
  expect((await deps.users.find(next.userId))?.erasing ?? null).toBeNull()
  const heir = await deps.users.findByEmail('thrice@example.com')
  expect([heir?.id === next.userId, heir?.passkeys.length]).toEqual([false, 1])
})
