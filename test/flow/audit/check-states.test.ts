import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AUDIT_TYPES } from '../../../src/domain/audit.ts'
import { createTellings } from '../../../src/flow/audit/check-states.ts'
import { checkTrail } from '../../../src/flow/audit/check-trail.ts'
import { WITNESSES } from '../../../src/flow/audit/witnesses.ts'
import { deleteOverSessions } from '../../../src/flow/people/sessions.ts'
import { createStateSurvey } from '../../../src/store/audit/state-survey.ts'
import { alter, decidedId, lapse, newCaller, stored } from '../../support/caller.ts'
import { clockOf } from '../../support/clock.ts'
import { assertWith, codeAt, expectStatus, passkeyProof } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { ask, callWithKey, decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let setting: LiveSetting
beforeAll(async () => {
  service = await startService({ work: true })
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

function check() {
  const { deps, connection } = service.composition
  return checkTrail({ trail: deps.trail, logs: deps.logs, survey: createStateSurvey(connection) })
}

/** All entries are in the trail. */
async function settled(): Promise<void> {
  await service.composition.deps.verifications.flush()
  await expect.poll(async () => (await check()).waiting).toBe(0)
}

const findings = async () => (await check()).findings

it('T86: an entry is told from every other type, though there are more of them than an int32 has bits', () => {
  const watched = new Set(WITNESSES.flatMap(({ rules }) => rules.map(([type]) => type)))
  expect(watched.size).toBeGreaterThan(32)
  for (const type of AUDIT_TYPES) {
    const entry = { eid: 'evt_1', type, at: new Date(), actor: { kind: 'cli' as const }, subject: 'dev_1' }
    const tellings = createTellings()
    // Twice, as an entry that was copied.
    for (const one of [entry, entry]) tellings.add(one)
    expect([...tellings.left()], type).toEqual(watched.has(type) ? [['dev_1', [type]]] : [])
    expect(AUDIT_TYPES.filter((other) => tellings.has('dev_1', other))).toEqual(
      watched.has(type) ? [type] : [],
    )
  }
})

describe('T86: after a service was used in every way', () => {
  it('the trail has an entry for every state, and none too many', async () => {
    await useEverything()
    await settled()
    const report = await check()
    expect(report).toMatchObject({ findings: [], waiting: 0 })
    expect(report.documents).toBeGreaterThan(15)
    const types = (await service.composition.deps.trail.list({ limit: 1_000 })).map(
      ({ entry }) => entry?.type,
    )
    // The signing keys were made before anybody asked for anything.
    expect(types.filter((type) => type === 'signing_key.created')).toHaveLength(5)
    for (const type of USED) expect(types, type).toContain(type)
  })
})

const USED = [
  'approval.created',
  'approval.voted',
  'approval.approved',
  'approval.rejected',
  'approval.expired',
  'approval.cancelled',
  'approval.consumed',
  'approval.reminded',
  'approval.verified',
  'key.created',
  'key.revoked',
  'user.invited',
  'user.enrolled',
  'session.created',
  'session.ended',
  'factor.passkey_added',
  'factor.totp_added',
  'factor.backup_codes_renewed',
]

/** Requests in every final state, keys, people, factors and sessions. */
async function useEverything(): Promise<void> {
  const call = (path: string, body: object = {}) => callWithKey(service, setting.key, path, body)
  const approved = await ask(setting)
  expectStatus(await decideByPasskey(setting, approved, 'approved'), 200)
  expect((await call(`/${approved}/consume`)).status).toBe(200)
  expectStatus(await decideByPasskey(setting, await ask(setting), 'rejected'), 200)
  expect((await call(`/${await ask(setting)}/cancel`)).status).toBe(200)
  const lapsed = await ask(setting)
  expect((await call(`/${lapsed}/remind`)).status).toBe(200)
  const { expires_at } = Object(await stored(service, 'requests').findOne({ _id: lapsed }))
  await lapse(service, lapsed)
  for (const id of [lapsed, approved, 'req_unknown'])
    await fetch(`${service.url}/api/v1/approvals/${id}/verify`)
  const status = async () => (await stored(service, 'requests').findOne({ _id: lapsed }))?.status
  await expect.poll(status).toBe('expired')
  await alter(service, 'requests', lapsed, { expires_at })
  await ask(setting)
  await decidedId(service, await newCaller(service, { sandbox: true }))
  const { browser } = setting.owner
  const { key } = expectStatus(await browser.post('/api/v1/account/api-keys', { name: 'bot' }), 201)
  expectStatus(await browser.delete(`/api/v1/account/api-keys/${key.id}`), 200)
  const proof = await passkeyProof(setting.owner, service, 'totp.add')
  const { secret } = expectStatus(await browser.post('/api/v1/me/totp/options', { proof }), 200)
  const code = codeAt(secret, service.composition.deps.clock.now())
  expectStatus(await browser.post('/api/v1/me/totp', { code }), 201)
  const renewal = { proof: await passkeyProof(setting.owner, service, 'backup_codes.renew') }
  expectStatus(await browser.post('/api/v1/me/backup-codes', renewal), 201)
  const elsewhere = createHttpClient(service.url)
  const { options } = expectStatus(await elsewhere.post('/api/v1/session/passkey/options', {}), 200)
  const credential = assertWith(setting.owner, service, options)
  expectStatus(await elsewhere.post('/api/v1/session/passkey', { credential }), 200)
  expectStatus(await elsewhere.delete('/api/v1/session'), 200)
}

describe('T86: the check finds', () => {
  beforeEach(settled)

  it('a state that was changed without an entry', async () => {
    const id = await ask(setting)
    await settled()
    await alter(service, 'requests', id, { status: 'approved' })
    expect(await findings()).toEqual([
      { code: 'not_told', collection: 'requests', id, type: 'approval.approved' },
    ])
    await alter(service, 'requests', id, { status: 'expired', cancelled: true, consumed_at: new Date() })
    expect((await findings()).map(({ code, ...rest }) => [code, 'type' in rest && rest.type])).toEqual([
      ['not_told', 'approval.cancelled'],
      ['not_told', 'approval.consumed'],
    ])
    await stored(service, 'requests').updateOne(
      { _id: id },
      { $set: { status: 'pending' }, $unset: { cancelled: 1, consumed_at: 1 } },
    )
  })

  it('since a head, what later records are about, and no document that they do not name', async () => {
    const before = await ask(setting)
    await settled()
    const { head } = await check()
    const later = await ask(setting)
    expectStatus(await decideByPasskey(setting, later, 'approved'), 200)
    await settled()
    const { deps, connection } = service.composition
    const since = () =>
      checkTrail(
        { trail: deps.trail, logs: deps.logs, survey: createStateSurvey(connection) },
        { since: head },
      )
    const { documents, findings: none } = await since()
    expect(none).toEqual([])
    expect(documents).toBeLessThan((await check()).documents)
    await alter(service, 'requests', later, { status: 'rejected' })
    await alter(service, 'requests', before, { status: 'rejected' })
    const found = (id: string, { findings }: Awaited<ReturnType<typeof check>>) =>
      findings.filter((finding) => finding.id === id).map(({ code }) => code)
    expect(found(later, await since())).toEqual(['contradicted', 'not_told', 'altered'])
    expect(found(before, await since())).toEqual([])
    expect(found(before, await check())).toEqual(['not_told'])
    await alter(service, 'requests', later, { status: 'approved' })
    await alter(service, 'requests', before, { status: 'pending' })
  })

  it('a state that was turned back, with the record that says so', async () => {
    const id = await ask(setting)
    expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
    await settled()
    await alter(service, 'requests', id, { status: 'pending' })
    const [finding] = await findings()
    expect(finding).toMatchObject({ code: 'contradicted', id, type: 'approval.approved' })
    const [record] = await service.composition.deps.trail.scan(finding?.seq ?? 0, 1)
    expect(record?.entry).toMatchObject({ type: 'approval.approved', subject: id })
    await alter(service, 'requests', id, { status: 'approved' })
    expect(await findings()).toEqual([])
  })

  it('a decided request that shows or proves something else than what was signed, and which part', async () => {
    const id = await ask(setting)
    expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
    const other = await ask(setting)
    expectStatus(await decideByPasskey(setting, other, 'approved'), 200)
    await settled()
    const requests = stored(service, 'requests')
    const request = Object(await requests.findOne({ _id: id }))
    const elsewhere = Object(await requests.findOne({ _id: other }))
    const [vote] = request.votes
    const intent_json = vote.intent_json.replace('"quorum":1', '"quorum":0')
    const { receipt: _, ...unsigned } = vote // as votes below the quorum are: only the intent speaks for them
    const ofAnother = elsewhere.votes[0].intent_json
    const spoilt = [
      ['action', { action: 'Something else' }],
      ['context', { context_json: '{"reason":"another"}' }],
      ['context', { context_sha256: elsewhere.context_sha256.replace(/^./, 'x') }],
      ['intent', { votes: [{ ...vote, intent_json }] }],
      ['intent', { votes: [{ ...unsigned, intent_json: ofAnother }] }],
      ['action', { votes: [unsigned], action: 'Something else' }],
      ['receipt', { votes: [{ ...vote, receipt: elsewhere.votes[0].receipt }] }],
      ['receipt', { decision: { ...request.decision, receipt: elsewhere.votes[0].receipt } }],
      ['receipt', { decision: elsewhere.decision }],
      ['receipt', { votes: [{ ...vote, receipt: 'none' }] }],
      ['receipt', { votes: [unsigned] }],
    ] as const
    for (const [part, change] of spoilt) {
      await alter(service, 'requests', id, change)
      const found = { code: 'altered', collection: 'requests', id, type: 'approval.approved', part }
      expect(await findings()).toEqual([{ ...found, seq: expect.any(Number) }])
      await requests.replaceOne({ _id: id }, request)
    }
    // As schema versions before 14 stored it.
    await alter(service, 'requests', id, { 'decision.receipt': vote.receipt })
    expect(await findings()).toEqual([])
  })

  it('what a request asks for that no one has signed yet, once it is not what was asked for', async () => {
    const id = await ask(setting)
    await settled()
    const requests = stored(service, 'requests')
    const request = Object(await requests.findOne({ _id: id }))
    const spoilt = [
      { action: 'Something else' },
      { context_json: '{"reason":"another"}' },
      { high_impact: true },
      { use_within_seconds: 604_800 },
      { batch: { id: `bat_${'0'.repeat(26)}`, place: 0 } },
      { attachments: [{ name: 'x', kind: 'file', sha256: 'a'.repeat(64), bytes: 1 }] },
      { requirement: { ...request.requirement, quorum: 0 } },
      { expires_at: new Date(request.expires_at.getTime() + 1) },
      { callback_url: 'https://elsewhere.example' },
      { action: Number.NaN },
    ]
    for (const change of spoilt) {
      await alter(service, 'requests', id, change)
      const found = { code: 'altered', collection: 'requests', id, type: 'approval.created', part: 'asked' }
      expect(await findings()).toEqual([{ ...found, seq: expect.any(Number) }])
      await requests.replaceOne({ _id: id }, request)
    }
    expect(await findings()).toEqual([])
  })

  it('a revoked key that was made live again, and documents that vanished or came from nowhere', async () => {
    const caller = await newCaller(service)
    await settled()
    const keys = stored(service, 'api_keys')
    const { browser } = setting.owner
    const { key } = expectStatus(await browser.post('/api/v1/account/api-keys', { name: 'bot' }), 201)
    expectStatus(await browser.delete(`/api/v1/account/api-keys/${key.id}`), 200)
    await settled()
    const revoked = Object(await keys.findOne({ _id: key.id }))
    await alter(service, 'api_keys', key.id, { revoked_at: null })
    expect(await findings()).toMatchObject([{ code: 'contradicted', id: key.id, type: 'key.revoked' }])
    await keys.deleteOne({ _id: key.id })
    expect(await findings()).toMatchObject([{ code: 'vanished', collection: 'api_keys', id: key.id }])
    await keys.insertOne(revoked)
    const mine = Object(await keys.findOne({ _id: caller.keyId }))
    await keys.insertOne({ ...mine, _id: 'key_forged', key_hash: '0'.repeat(64), internal: false, slot: 99 })
    expect(await findings()).toEqual([
      { code: 'not_told', collection: 'api_keys', id: 'key_forged', type: 'key.created' },
    ])
    await keys.deleteOne({ _id: 'key_forged' })
    expect(await findings()).toEqual([])
  })

  it('nothing wrong with entries that still wait in their documents', async () => {
    const alone = await startService()
    try {
      const own = await setUpOwner(alone)
      const id = await ask(own)
      expectStatus(await decideByPasskey(own, id, 'approved'), 200)
      const { deps, connection } = alone.composition
      const report = await checkTrail({
        trail: deps.trail,
        logs: deps.logs,
        survey: createStateSurvey(connection),
      })
      expect(report).toMatchObject({ records: 0, findings: [] })
      expect(report.waiting).toBeGreaterThanOrEqual(8)
    } finally {
      await alone.close()
    }
  })

  it('nothing wrong after sessions were cleaned up', async () => {
    const { deps } = service.composition
    const before = await stored(service, 'sessions').countDocuments({})
    const late = { ...deps, clock: clockOf(() => Date.now() + 31 * 86_400_000) }
    const { ended } = await deleteOverSessions(late)
    expect(ended).toBeGreaterThan(0)
    await settled()
    const { deleted } = await deleteOverSessions(late)
    expect(deleted).toBeGreaterThan(0)
    expect(await stored(service, 'sessions').countDocuments({})).toBeLessThan(before)
    expect(await findings()).toEqual([])
    const [last] = await deps.trail.list({ type: 'session.ended', limit: 1 })
    expect(last?.entry).toMatchObject({ actor: { kind: 'service' }, detail: { reason: 'lapsed' } })
  })
})

describe('the table of states', () => {
  const odd = [
    {},
    { status: 'approved' },
    { status: 'rejected' },
    { status: 'expired' },
    { state: 'deleted' },
  ]
  const full = {
    cancelled: true,
    consumed_at: 1,
    reminded_at: 1,
    votes: [1],
    revoked_at: 1,
    enrolled_at: 1,
    passkeys: [1],
    totp: {},
    ended_at: 1,
    state: 'disabled',
  }

  it.each(WITNESSES)('judges $collection by one rule an entry, whatever its documents hold', ({ rules }) => {
    expect(new Set(rules.map(([type]) => type)).size).toBe(rules.length)
    for (const facts of [...odd, full, ...odd.map((more) => ({ ...full, ...more }))])
      for (const [, isWanted] of rules) expect([true, false, undefined]).toContain(isWanted(facts))
  })
})
