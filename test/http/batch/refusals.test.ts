import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RefusalCode, refusal } from '../../../src/domain/errors.ts'
import { approve, BATCH, decideBatch, proveBatch, reject, startBatch } from '../../support/batches.ts'
import {
  assertWith,
  type EnrolledPerson,
  enrolWithPasskey,
  expectStatus,
  passkeyProof,
} from '../../support/enrolled.ts'
import { type Answer, createHttpClient } from '../../support/http-client.ts'
import { ask, callWithKey, type LiveSetting, proofFor, setUpOwner } from '../../support/live.ts'
import { addKey } from '../../support/people.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let setting: LiveSetting
let stranger: EnrolledPerson

beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
  setting = await setUpOwner(service)
  stranger = await enrolWithPasskey(service, 'stranger@example.com')
})
afterAll(() => service.close())

const post = (body: unknown, browser = setting.owner.browser) => browser.post(BATCH, body)
const options = (items: unknown, browser = setting.owner.browser) =>
  browser.post(`${BATCH}/options`, { items })

function expectRefusal(answer: Answer, code: RefusalCode, details: object = {}): void {
  const { status, publicMessage: message } = refusal(code, details)
  expect({ status: answer.status, body: answer.body }).toEqual({
    status,
    body: { error: code, message, ...details },
  })
}

async function stillPending(...ids: string[]): Promise<void> {
  for (const id of ids) {
    const stored = await service.composition.deps.requests.find(id)
    expect({ status: stored?.status, votes: stored?.votes }).toEqual({ status: 'pending', votes: [] })
  }
}

describe('who may decide a batch', () => {
  it('nobody without a session', async () => {
    const id = await ask(setting)
    const proven = await proveBatch(service, setting.owner, approve(id))
    const nobody = createHttpClient(service.url)
    expectRefusal(await options(approve(id), nobody), 'not_signed_in')
    expectRefusal(await post(proven, nobody), 'not_signed_in')
    await stillPending(id)
  })

  it('T57: never an API key', async () => {
    const id = await ask(setting)
    const proven = await proveBatch(service, setting.owner, approve(id))
    for (const path of ['/decisions/options', '/decisions']) {
      const response = await callWithKey(service, setting.key, path, { items: approve(id), ...proven })
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({ error: 'not_signed_in' })
    }
    await stillPending(id)
  })

  it('T22: no page of another origin', async () => {
    const id = await ask(setting)
    const proven = await proveBatch(service, setting.owner, approve(id))
    const answer = await setting.owner.browser.post(BATCH, proven, { origin: 'https://evil.example' })
    expectRefusal(answer, 'csrf_refused')
    await stillPending(id)
  })

  it('T55: answers for foreign, unknown and malformed ids alike, and starts nothing', async () => {
    const mine = await ask(setting)
    const foreign = await ask({ service, key: (await foreignKey()).raw_key })
    const ids = [foreign, `req_${'0'.repeat(26)}`, 'req_x', '$ne', '']
    for (const id of ids) expectRefusal(await options(approve(mine, id)), 'not_found', { ids: [id] })
    expectRefusal(await options(approve(...ids, mine)), 'not_found', { ids })
    await stillPending(mine, foreign)
  })

  async function foreignKey() {
    const user = await service.composition.deps.users.find(stranger.userId)
    return addKey(service, user ?? expect.unreachable())
  }
})

describe('requests that no batch may hold', () => {
  it('a dry run', async () => {
    const user = await service.composition.deps.users.find(setting.owner.userId)
    const { raw_key } = await addKey(service, user ?? expect.unreachable(), { sandbox: true })
    const made = await callWithKey(service, raw_key, '/request', {
      action: 'Try',
      sandbox_auto_decide_seconds: 300,
    })
    const request_id = String(Object(await made.json()).request_id)
    const id = await ask(setting)
    expectRefusal(await options(approve(id, request_id)), 'sandbox_request', { ids: [request_id] })
  })

  it('what is decided, or voted on by this person', async () => {
    const [open, decided] = [await ask(setting), await ask(setting)]
    expectStatus(await decideBatch(service, setting.owner, reject(decided)), 200)
    expectRefusal(await options(approve(open, decided)), 'not_pending', { ids: [decided] })
    const requests = service.composition.connection.collection<{ _id: string }>('requests')
    const voted = await ask(setting)
    await requests.updateOne({ _id: voted }, { $set: { 'requirement.quorum': 2 } })
    expectStatus(await decideBatch(service, setting.owner, approve(voted)), 200)
    expectRefusal(await options(approve(voted, open)), 'already_voted', { ids: [voted] })
  })

  it('no request, more than fifty, one twice, or anything without an outcome', async () => {
    const ids = Array.from({ length: 51 }, (_, index) => `req_${String(index).padStart(26, '0')}`)
    const id = ids[0] ?? ''
    const cases: [unknown, string, string][] = [
      [undefined, 'items required', 'items'],
      [[], 'invalid_field', 'items'],
      [approve(...ids), 'invalid_field', 'items'],
      [approve(id, id), 'invalid_field', 'items'],
      [[...approve(id), ...reject(id)], 'invalid_field', 'items'],
      ['req', 'invalid_field', 'items'],
      [[id], 'invalid_field', 'items.0'],
      [[{ id }], 'invalid_field', 'items.0.decision'],
      [[{ decision: 'approved' }], 'invalid_field', 'items.0.id'],
      [[{ id, decision: 'maybe' }], 'invalid_field', 'items.0.decision'],
      [[{ id: { $ne: '' }, decision: 'approved' }], 'invalid_field', 'items.0.id'],
    ]
    for (const [items, error, field] of cases) {
      const answer = await options(items)
      expect([answer.status, answer.body], JSON.stringify(items)).toMatchObject([400, { error, field }])
    }
  })
})

describe('the subject of the proof', () => {
  it('T33: counts once, one after the other and at the same time', async () => {
    const [first, second] = [await ask(setting), await ask(setting)]
    const proven = await proveBatch(service, setting.owner, approve(first, second))
    const answers = await Promise.all([1, 2, 3, 4].map(() => post(proven)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
    for (const answer of answers.filter(({ status }) => status === 400))
      expectRefusal(answer, 'challenge_invalid')
    expectRefusal(await post(proven), 'challenge_invalid')
    const stored = await service.composition.deps.requests.find(first)
    expect(stored?.votes).toHaveLength(1)
  })

  it('T16: the assertion of one batch does for no other, so that no outcome can be flipped', async () => {
    const id = await ask(setting)
    const shown = await proveBatch(service, setting.owner, approve(id))
    const flipped = await startBatch(setting.owner, reject(id))
    expectRefusal(await post({ ...shown, batch_id: flipped.batch_id }), 'challenge_invalid')
    expectRefusal(await post({ ...shown, batch_id: flipped.batch_id }), 'challenge_invalid')
    await stillPending(id)
    const sent = { ...shown, items: reject(id), decision: 'rejected', decisions: reject(id) }
    expect(expectStatus(await post(sent), 200).data).toMatchObject([{ id, status: 'approved' }])
  })

  it('T19: neither a sign-in, a step-up nor a lone decision decides a batch, nor the reverse', async () => {
    const id = await ask(setting)
    const signIn = expectStatus(await setting.owner.browser.post('/api/v1/session/passkey/options', {}), 200)
    const others = [
      assertWith(setting.owner, service, signIn.options),
      (await passkeyProof(setting.owner, service, 'totp.add')).passkey,
      await proofFor(setting, id, 'approved'),
    ]
    for (const passkey of others) {
      const { batch_id } = await startBatch(setting.owner, approve(id))
      expectRefusal(await post({ batch_id, passkey }), 'challenge_invalid')
    }
    const { passkey } = await proveBatch(service, setting.owner, approve(id))
    const lone = { decision: 'approved', passkey }
    const answer = await setting.owner.browser.post(`/api/v1/approvals/${id}/decision`, lone)
    expectRefusal(answer, 'challenge_invalid')
    await stillPending(id)
  })

  it('T20: is bound to the person who asked', async () => {
    const id = await ask(setting)
    const proven = await proveBatch(service, setting.owner, approve(id))
    expectRefusal(await post(proven, stranger.browser), 'challenge_invalid')
    const started = await startBatch(setting.owner, approve(id))
    const [credential] = stranger.authenticator.credentials
    const passkey = assertWith(stranger, service, started.options, { ...(credential && { credential }) })
    expectRefusal(await post({ batch_id: started.batch_id, passkey }), 'passkey_refused')
    await stillPending(id)
  })

  it('is bound to the session that asked', async () => {
    const id = await ask(setting)
    const elsewhere = createHttpClient(service.url)
    const signIn = expectStatus(await elsewhere.post('/api/v1/session/passkey/options', {}), 200)
    const credential = assertWith(setting.owner, service, signIn.options)
    expectStatus(await elsewhere.post('/api/v1/session/passkey', { credential }), 200)
    const proven = await proveBatch(service, setting.owner, approve(id))
    expectRefusal(await post(proven, elsewhere), 'challenge_invalid')
    expectRefusal(await post(proven), 'challenge_invalid')
    await stillPending(id)
  })

  it('T15, T21, T31: was made on this origin, in no frame, with presence and verification', async () => {
    const tricks = [
      { origin: 'https://countersign.evil.example' },
      { crossOrigin: true },
      { flags: 0x01 },
      { flags: 0x04 },
    ]
    for (const trick of tricks) {
      const id = await ask(setting)
      const proven = await proveBatch(service, setting.owner, approve(id), trick)
      expectRefusal(await post(proven), 'passkey_refused')
      await stillPending(id)
    }
  })

  it('T33: is forgotten after five minutes', async () => {
    const id = await ask(setting)
    const proven = await proveBatch(service, setting.owner, approve(id))
    const challenges = service.composition.connection.collection<{ _id: string; expires_at: Date }>(
      'challenges',
    )
    const kept = await challenges.findOne({ _id: proven.batch_id })
    const left = Number(kept?.expires_at) - service.composition.deps.clock.now().getTime()
    expect(left).toBeGreaterThan(280_000)
    expect(left).toBeLessThanOrEqual(300_000)
    await challenges.updateOne(
      { _id: proven.batch_id },
      { $set: { expires_at: new Date(Date.now() - 1_000) } },
    )
    expectRefusal(await post(proven), 'challenge_invalid')
    await stillPending(id)
  })
})

describe('required fields', () => {
  it('the batch, exactly one proof, and a comment that fits', async () => {
    const id = await ask(setting)
    const { batch_id, passkey } = await proveBatch(service, setting.owner, approve(id))
    expect((await post({ passkey })).body).toMatchObject({ error: 'batch_id required' })
    for (const wrong of ['x', `${batch_id}0`, { $ne: '' }])
      expect((await post({ batch_id: wrong, passkey })).body).toMatchObject({
        error: 'invalid_field',
        field: 'batch_id',
      })
    expectRefusal(await post({ batch_id }), 'proof_required')
    expect((await post({ batch_id, passkey, totp: '123456' })).body).toMatchObject({ field: 'passkey' })
    const long = await post({ batch_id, passkey, comment: 'x'.repeat(1001) })
    expect(long.body).toMatchObject({ error: 'invalid_field', field: 'comment' })
    expectRefusal(await post({ batch_id: '0'.repeat(64), passkey }), 'challenge_invalid')
    // None of these looked at the batch itself; this one does.
    expect((await post({ batch_id, passkey, reason: 'Not now' })).body).toMatchObject({
      error: 'invalid_field',
      field: 'reason',
      detail: 'goes only with a rejection',
    })
    const full = { comment: 'x'.repeat(995), reason: 'Not now' }
    expect((await decideBatch(service, setting.owner, reject(id), full)).body).toMatchObject({
      error: 'invalid_field',
      field: 'comment',
    })
    expectStatus(await decideBatch(service, setting.owner, approve(id)), 200)
  })
})
