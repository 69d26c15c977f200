import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { readConfig } from '../../../src/config/config.ts'
import { readLifetimes } from '../../../src/config/lifetimes.ts'
import { drawEntry } from '../../../src/domain/audit.ts'
import { createAppender } from '../../../src/flow/audit/append-to-trail.ts'
import { checkTrail } from '../../../src/flow/audit/check-trail.ts'
import type { FlowDeps } from '../../../src/flow/deps.ts'
import { eraseRequest, planErasure } from '../../../src/flow/erase/erase-requests.ts'
import { createRetention } from '../../../src/flow/erase/retention.ts'
import { expireRequests } from '../../../src/flow/requests/settle-request.ts'
import { verifyReceiptJson } from '../../../src/signing/verify-node.ts'
import { createStateSurvey } from '../../../src/store/audit/state-survey.ts'
import { createRequestErasure } from '../../../src/store/requests/request-erasure.ts'
import { alter, newCaller, stored } from '../../support/caller.ts'
import { clockOf } from '../../support/clock.ts'
import { expectStatus } from '../../support/enrolled.ts'
import { holding as holdingIn } from '../../support/holding.ts'
import {
  ask,
  askTogether,
  callWithKey,
  decideByPasskey,
  type LiveSetting,
  setUpOwner,
} from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let setting: LiveSetting
beforeAll(async () => {
  service = await startService({ work: true })
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

const CLI = { kind: 'cli' } as const
const DAY_MS = 86_400_000

function check() {
  const { deps, connection } = service.composition
  return checkTrail({ trail: deps.trail, logs: deps.logs, survey: createStateSurvey(connection) })
}

/** What the check finds once all entries are in the trail. */
async function findings() {
  await service.composition.deps.verifications.flush()
  await expect.poll(async () => (await check()).waiting).toBe(0)
  return (await check()).findings
}

const holding = (text: string) => holdingIn(service, text)

/** An approved request whose action, context and comment hold the text. */
async function approvedWith(text: string): Promise<string> {
  const id = await ask(setting, { action: `Pay ${text}`, context: { reason: text }, reuse: 'open' })
  expectStatus(await decideByPasskey(setting, id, 'approved', text), 200)
  await findings()
  return id
}

// biome-ignore lint/suspicious/noExplicitAny: a wrong path fails the assertion
const read = async (id: string): Promise<any> => (await callWithKey(service, setting.key, `/${id}`)).json()
const verify = async (id: string) => (await fetch(`${service.url}/api/v1/approvals/${id}/verify`)).json()

it('a finished request: its texts are nowhere, its receipt holds, the trail says who erased it', async () => {
  const { deps, connection } = service.composition
  const id = await ask(setting, { action: 'Pay SECRET-ONE', context: { reason: 'SECRET-ONE', tool: 'pay' } })
  const options = `/api/v1/approvals/${id}/decision/options`
  expectStatus(await setting.owner.browser.post(options, { decision: 'approved' }), 200)
  expectStatus(await decideByPasskey(setting, id, 'approved', 'SECRET-ONE'), 200)
  await findings()
  expect(await stored(service, 'requests').findOne({ _id: id })).toHaveProperty('kind_sha256')
  const before = await read(id)
  expect(await holding('SECRET-ONE')).toEqual(['challenges', 'requests'])
  expect(await eraseRequest(deps, id, CLI, true)).toMatchObject({ erased: false, request: { id } })
  expect(await holding('SECRET-ONE')).toEqual(['challenges', 'requests'])

  expect(await eraseRequest(deps, id, CLI)).toMatchObject({ erased: true, open_deliveries: 0, cards: 0 })
  expect(await holding('SECRET-ONE')).toEqual([])
  const kept = await stored(service, 'requests').findOne({ _id: id })
  for (const hash of ['open_sha256', 'kind_sha256']) expect(kept).not.toHaveProperty(hash)
  const left_over = await createRequestErasure(connection).count(id)
  expect(left_over).toEqual({ deliveries: 0, open_deliveries: 0, cards: 0 })
  expect(await findings()).toEqual([])
  const [told] = await deps.trail.list({ type: 'approval.erased', subject: id, limit: 1 })
  expect(told?.entry).toMatchObject({ actor: CLI, account_id: expect.stringMatching(/^acc_/) })

  const left = await read(id)
  const { intent: _, ...decision } = before.decision
  expect(left).toEqual({
    ...before,
    action: '[erased]',
    context: {},
    decision: { ...decision, comment: null },
    erased_at: expect.stringMatching(/Z$/),
  })
  const { payload, signature } = Object(await verify(id))
  expect(await verify(id)).toMatchObject({ valid: true, decision: 'approved', erased_at: left.erased_at })
  expect([payload.rid, signature]).toEqual([id, before.decision.signature])
  const keys = deps.keys.ring().publicRecords()
  expect(verifyReceiptJson(before, keys)).toMatchObject({ valid: true, checked: { action: 'full' } })
  expect(verifyReceiptJson(left, keys)).toMatchObject({ valid: true, unproven: true })

  expect(await eraseRequest(deps, id, CLI), 'again').toMatchObject({ erased: false })
  expect(await deps.trail.list({ type: 'approval.erased', subject: id, limit: 9 })).toHaveLength(1)
  await stored(service, 'requests').updateOne({ _id: id }, { $unset: { erased_at: 1 } })
  const codes = (
    await checkTrail({ trail: deps.trail, logs: deps.logs, survey: createStateSurvey(connection) })
  ).findings
  expect(codes.map(({ code, ...more }) => [code, 'type' in more && more.type])).toContainEqual([
    'contradicted',
    'approval.erased',
  ])
  await alter(service, 'requests', id, { erased_at: new Date() })
})

it('a pending request, and one that does not exist, are refused', async () => {
  const { deps } = service.composition
  const id = await ask(setting)
  expect(await eraseRequest(deps, id, CLI)).toEqual({ refused: 'pending' })
  const token = async () => (await stored(service, 'requests').findOne({ _id: id }))?.outbox_token
  await expect.poll(token).toBeUndefined()
  expect(await eraseRequest(deps, `req_${'0'.repeat(26)}`, CLI)).toEqual({ refused: 'unknown' })
  await stored(service, 'requests').updateOne(
    { _id: id },
    { $set: { status: 'expired', outbox_token: 'evt_x' } },
  )
  expect(await eraseRequest(deps, id, CLI), 'its entry is not in the trail yet').toEqual({ refused: 'busy' })
  await stored(service, 'requests').updateOne(
    { _id: id },
    { $set: { status: 'pending' }, $unset: { outbox_token: 1 } },
  )
})

it('what the trail does not have yet, and cards that show the texts, outlast every call', async () => {
  const { deps, connection } = service.composition
  const id = await approvedWith('SECRET-SEVEN')
  const delivery = { _id: 'dlv_x', request_id: id, state: 'dead', outbox_token: 'evt_x' }
  await stored(service, 'deliveries').insertOne(delivery)
  expect(await eraseRequest(deps, id, CLI)).toEqual({ refused: 'busy' })
  expect(await createRequestErasure(connection).deleteDeliveries([id]), 'by whoever looked before').toBe(0)
  await retain(400, { days: 30 })
  expect(await holding('SECRET-SEVEN')).toEqual(['requests'])
  await stored(service, 'deliveries').updateOne({ _id: 'dlv_x' }, { $unset: { outbox_token: 1 } })

  // A call that died just after it had erased the texts.
  const request = await deps.requests.find(id)
  if (request === undefined) throw new Error('no request')
  const card = { _id: 'card_x', request_id: id, recipient_key: 'x', state: 'idle', shown: 1, wanted: 1 }
  await stored(service, 'cards').insertOne({
    ...card,
    platform: 'slack',
    message: { channel: 'C1' },
    replies: [],
  })
  await createRequestErasure(connection).erase([planErasure(deps, request, CLI, 'shown')])
  await findings()
  expect(await eraseRequest(deps, id, CLI)).toMatchObject({ erased: false, cards: 1 })
  const version = (await deps.requests.find(id))?.version
  expect(await stored(service, 'cards').findOne({ _id: 'card_x' })).toMatchObject({
    state: 'due',
    wanted: version,
  })
  await stored(service, 'cards').updateOne({ _id: 'card_x' }, { $set: { state: 'idle', shown: version } })
  expect(await eraseRequest(deps, id, CLI)).toMatchObject({ cards: 0 })
  expect(await stored(service, 'deliveries').findOne({ _id: 'dlv_x' })).toBeNull()

  const used = await callWithKey(service, setting.key, `/${id}/consume`, { context: {} })
  expect([used.status, await used.json()]).toEqual([
    409,
    expect.objectContaining({ error: 'mismatch', field: 'action' }),
  ])
})

/** Two requests of one call with a card in chat; the first is over. */
async function pairWith(text: string, ttl_seconds = 604_800) {
  const asked = [{ action: `Pay ${text}-ONE` }, { action: `Pay ${text}-TWO`, ttl_seconds }]
  const { ids, batch } = await askTogether(setting, asked)
  const [one = '', two = ''] = ids
  expectStatus(await decideByPasskey(setting, one, 'approved'), 200)
  expect(await findings()).toEqual([])
  const card = { recipient_key: 'x', state: 'idle', shown: 3, wanted: 3, platform: 'slack', replies: [] }
  const message = { channel: 'C1' }
  await stored(service, 'cards').insertOne({ _id: `card_${text}`, request_id: batch, message, ...card })
  return { one, two, cardNow: () => stored(service, 'cards').findOne({ _id: `card_${text}` }) }
}

it('a card of several requests is edited when one of them is erased, and goes with the last', async () => {
  const { deps } = service.composition
  const { one, two, cardNow } = await pairWith('SECRET-CARD', 3_600)
  expect(await eraseRequest(deps, one, CLI)).toMatchObject({ erased: true, cards: 1 })
  expect(await cardNow()).toMatchObject({ state: 'due', wanted: 4 })
  await stored(service, 'cards').updateOne({ _id: 'card_SECRET-CARD' }, { $set: { state: 'idle', shown: 4 } })
  await findings()
  expect(await eraseRequest(deps, one, CLI)).toMatchObject({ erased: false, cards: 0 })
  expect(await cardNow()).not.toBeNull()
  expectStatus(await decideByPasskey(setting, two, 'rejected'), 200)
  await findings()
  expect(await eraseRequest(deps, two, CLI)).toMatchObject({ erased: true, cards: 1 })
  await stored(service, 'cards').updateOne({ _id: 'card_SECRET-CARD' }, { $set: { state: 'idle', shown: 6 } })
  await findings()
  expect(await eraseRequest(deps, two, CLI)).toMatchObject({ cards: 0 })
  expect(await cardNow()).toBeNull()
})

/** Forgets until when everything is erased: other tests look from later days. */
const lookAgain = () => stored(service, 'accounts').updateMany({}, { $unset: { erased_until: 1 } })

it.each([false, true])(
  'the sweep leaves a card of several requests while one is pending (whole: %s)',
  async (whole) => {
    const { requests } = service.composition.deps
    const { one, two, cardNow } = await pairWith(`SECRET-SWEEP-${whole}`)
    await lookAgain()
    await retain(3, { days: 1, whole })
    await findings()
    await retain(3, { days: 1, whole })
    // Its texts are gone; what the card's version is made of stays.
    expect((await requests.find(one))?.action).toBe('[erased]')
    expect(await holding(`SECRET-SWEEP-${whole}-TWO`)).toContain('requests')
    expect(await cardNow()).not.toBeNull()
    expectStatus(await decideByPasskey(setting, two, 'rejected'), 200)
    await findings()
    await retain(30, { days: 1, whole })
    await findings()
    await retain(30, { days: 1, whole })
    expect(await cardNow()).toBeNull()
    expect(await holding(`SECRET-SWEEP-${whole}`)).toEqual([])
    await lookAgain()
    expect((await requests.findMany([one, two])).length).toBe(whole ? 0 : 2)
  },
)

it('the sweep keeps a request that is over until its card needs it no more', async () => {
  const { deps } = service.composition
  const { one, two, cardNow } = await pairWith('SECRET-LATER')
  const rest = async (version: number) => {
    await findings()
    const shown = { state: 'idle', shown: version, wanted: version }
    await stored(service, 'cards').updateOne({ _id: 'card_SECRET-LATER' }, { $set: shown })
  }
  expectStatus(await decideByPasskey(setting, two, 'rejected'), 200)
  await rest(4)
  await lookAgain()
  for (const _ of [1, 2]) {
    await retain(3, { days: 1, whole: true })
    await findings()
  }
  expect((await deps.requests.find(two))?.action).toContain('SECRET')
  expect(await eraseRequest(deps, two, CLI)).toMatchObject({ erased: true, cards: 1 })
  await findings()
  expect(await eraseRequest(deps, two, CLI), 'the card still shows it').toMatchObject({ cards: 1 })
  expect(await cardNow()).toMatchObject({ state: 'due', wanted: 5 })
  await rest(5)
  expect(await eraseRequest(deps, two, CLI)).toMatchObject({ cards: 0 })
  expect(await cardNow()).toBeNull()
  await lookAgain()
  for (const _ of [1, 2]) {
    await retain(30, { days: 1, whole: true })
    await findings()
  }
  await lookAgain()
  expect(await deps.requests.findMany([one, two])).toEqual([])
})

it('the sweep deletes more requests of one card than it looks at in one run', async () => {
  const { deps } = service.composition
  const asked = Array.from({ length: 25 }, (_, n) => ({ action: `Pay SECRET-MANY ${n}` }))
  const { ids, batch } = await askTogether(setting, asked)
  const requests = stored(service, 'requests')
  await requests.updateMany({ 'batch.id': batch }, { $set: { expires_at: new Date(Date.now() - 60_000) } })
  await expireRequests(deps)
  await findings()
  await lookAgain()
  for (const _ of [1, 2]) {
    await retain(30, { days: 1, whole: true })
    await findings()
    expect(await holding('SECRET-MANY')).toEqual([])
  }
  expect(await deps.requests.findMany(ids)).toEqual([])
  await lookAgain()
})

/** Runs the sweep to its end, as it would run that many days later. */
async function retain(
  days: number,
  retention: Partial<FlowDeps['settings']['retention']>,
  on: TestService = service,
): Promise<void> {
  const { deps } = on.composition
  const clock = clockOf(() => Date.now() + days * DAY_MS)
  const none = { days: undefined, whole: false, auditDays: undefined }
  const settings = { ...deps.settings, retention: { ...none, ...retention } }
  const run = createRetention({ ...deps, clock, settings })
  while ((await run()) !== undefined);
}

it('finished requests grow too old by the service’s days or their account’s, pending ones never', async () => {
  const id = await approvedWith('SECRET-TWO')
  const waiting = await ask(setting, { action: 'SECRET-THREE', ttl_seconds: 604_800 })
  const { deps } = service.composition
  const account = (await deps.users.find(setting.owner.userId))?.account_id ?? ''
  const erased = async () => (await stored(service, 'requests').findOne({ _id: id }))?.erased_at !== undefined
  await retain(29, { days: 30 })
  expect(await erased()).toBe(false)
  await retain(29, {})
  expect(await erased(), 'kept for ever').toBe(false)
  await alter(service, 'accounts', account, { retention_days: 20 })
  await retain(19, { days: 30 })
  expect(await erased()).toBe(false)
  await retain(21, { days: 30 })
  expect(await erased()).toBe(true)
  expect(await holding('SECRET-TWO')).toEqual([])
  expect(await holding('SECRET-THREE')).toEqual(['requests'])
  expect((await read(waiting)).status).toBe('pending')
  expect(await findings()).toEqual([])
})

it('whole requests go once the trail has their entries', async () => {
  const other = await newCaller(service, { sandbox: true })
  const id = await other.createdId({ action: 'SECRET-FOUR', sandbox_auto_decide_seconds: 0 })
  await other.read(id)
  await findings()
  await retain(100, { days: 30, whole: true })
  expect(await stored(service, 'requests').findOne({ _id: id })).toBeNull()
  expect(await verify(id)).toMatchObject({ valid: false, error: 'request not found' })
  expect(await findings()).toEqual([])
})

it('T85: old records lose their contents; the chain holds, and none is erased without a record that says so', async () => {
  const { deps } = service.composition
  const id = await approvedWith('SECRET-FIVE')
  const { head } = await check()
  await retain(50, { auditDays: 60 })
  expect((await check()).erased).toBe(0)
  await retain(200, { auditDays: 60 })
  const report = await check()
  expect(report).toMatchObject({ findings: [], erased: expect.any(Number) })
  expect(report.erased).toBeGreaterThan(10)
  expect(await deps.trail.list({ subject: id, limit: 9 })).toEqual([])
  const { connection } = service.composition
  const expecting = { trail: deps.trail, logs: deps.logs, survey: createStateSurvey(connection) }
  expect((await checkTrail(expecting, { expect: head })).findings).toEqual([])
  const [last] = await deps.trail.list({ type: 'audit.erased', limit: 1 })
  expect(last?.entry).toMatchObject({ actor: { kind: 'service' }, subject: 'audit_log' })

  await approvedWith('SECRET-SIX')
  const [newest] = await deps.trail.list({ type: 'approval.approved', limit: 1 })
  await deps.trail.erase([{ seq: newest?.seq ?? 0, subject_sha256: '0'.repeat(64) }])
  expect((await check()).findings).toContainEqual({ code: 'erased_untold', seq: newest?.seq })
})

it('goes on behind hundreds of records in a row that say what was erased', async () => {
  const other = await startService()
  onTestFinished(() => other.close())
  const { deps } = other.composition
  const entry = (type: 'approval.erased' | 'approval.reminded', subject: string) =>
    drawEntry(deps, { type, at: deps.clock.now(), actor: CLI, subject })
  const append = createAppender(deps)
  await append(Array.from({ length: 450 }, () => entry('approval.erased', 'req_gone')))
  await append([entry('approval.reminded', 'req_old')])
  await retain(100, { auditDays: 60 }, other)
  expect(await deps.trail.list({ subject: 'req_old', limit: 9 })).toEqual([])
  expect(await deps.trail.list({ subject: 'req_gone', limit: 500 })).toHaveLength(450)
})

it('reads for how long things are kept: for ever, unless a number of days says otherwise', () => {
  const sessions = { SESSION_DAYS: 7, SESSION_IDLE_HOURS: 12 }
  const kept = (more: object) => readLifetimes({ ...sessions, RETENTION: 'texts', ...more }).retention
  expect(kept({})).toEqual({ days: undefined, whole: false, auditDays: undefined })
  expect(kept({ RETENTION_DAYS: 30, RETENTION: 'whole', AUDIT_RETENTION_DAYS: 400 })).toEqual({
    days: 30,
    whole: true,
    auditDays: 400,
  })
  for (const [name, value] of [
    ['RETENTION_DAYS', '0'],
    ['AUDIT_RETENTION_DAYS', '1.5'],
    ['RETENTION', 'all'],
  ] as const)
    expect(() => readConfig({ [name]: value }), name).toThrow(name)
})
