import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { drawQr } from '../../../src/http/draw-qr.ts'
import { canonicalize } from '../../../src/signing/canonical.ts'
import { parseJwks } from '../../../src/signing/keys.ts'
import { verifyReceiptJson } from '../../../src/signing/verify-node.ts'
import { stored } from '../../support/caller.ts'
import { setPolicy } from '../../support/deciders.ts'
import {
  codeAt,
  type EnrolledPerson,
  enrolWithPasskey,
  enrolWithTotp,
  expectStatus,
} from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { joinAccount } from '../../support/joined.ts'
import { ask, decideByPasskey, keyOf, type LiveSetting, proofFor, setUpOwner } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let setting: LiveSetting

beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

async function read(id: string, key = setting.key) {
  const headers = { Authorization: `Bearer ${key}` }
  return (await createHttpClient(service.url).get(`/api/v1/approvals/${id}`, { headers })).body
}

async function jwks() {
  return parseJwks(await (await fetch(`${service.url}/.well-known/jwks.json`)).json())
}

describe('POST /api/v1/approvals/:id/decision', () => {
  it('approves with a passkey; the receipt verifies online, offline and by its fields', async () => {
    const context = { agent_name: 'deployer', tool_arguments: { version: '4.2', toJSON: 'data' } }
    const id = await ask(setting, { action: 'Deploy release 4.2', context })
    const answer = await decideByPasskey(setting, id, 'approved', 'looks right')
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      id,
      status: 'approved',
      vote: { decision: 'approved', method: 'passkey' },
    })
    const { decision } = await read(id)
    expect(decision).toEqual(answer.body.decision)
    expect(decision).toMatchObject({ decision: 'approved', method: 'passkey', comment: 'looks right' })
    const offline = verifyReceiptJson({ decision }, await jwks())
    expect(offline).toMatchObject({
      valid: true,
      sandbox: false,
      payload: { rid: id, did: decision.id, v: 1 },
    })
    const online = await (await fetch(`${service.url}/api/v1/approvals/${id}/verify`)).json()
    expect(online).toMatchObject({
      valid: true,
      decision: 'approved',
      method: 'passkey',
      signature: decision.signature,
    })
    const payload = JSON.parse(Buffer.from(decision.signed_payload, 'base64url').toString('utf8'))
    expect(Object.keys(payload)).toEqual([
      'action',
      'approver',
      'decision',
      'did',
      'exp',
      'method',
      'nonce',
      'rid',
      'ts',
      'v',
    ])
    expect(payload.action).toBe(createHash('sha256').update('Deploy release 4.2').digest('hex').slice(0, 16))
    expect(new Date(decision.decided_at).getTime()).toBe(
      Math.floor(payload.ts) * 1000 + (new Date(decision.decided_at).getTime() % 1000),
    )
  })

  it('rejects with a passkey: the read has no context and no times, the receipt says rejected', async () => {
    const id = await ask(setting, { context: { reason: 'x' } })
    await decideByPasskey(setting, id, 'rejected')
    const body = await read(id)
    expect(Object.keys(body).sort()).toEqual(['action', 'decision', 'id', 'status'])
    expect(body).toMatchObject({ status: 'rejected', decision: { decision: 'rejected', comment: null } })
    expect(verifyReceiptJson({ decision: body.decision }, await jwks())).toMatchObject({ valid: true })
  })

  it.each([
    [undefined, 'Not now'],
    ['After the audit.', 'Not now: After the audit.'],
  ])('rejects with a reason and the comment %j, which the caller gets as one', async (comment, told) => {
    const id = await ask(setting)
    const passkey = await proofFor(setting, id, 'rejected')
    const said = { decision: 'rejected', comment, reason: ' Not now ', passkey }
    expectStatus(await setting.owner.browser.post(`/api/v1/approvals/${id}/decision`, said), 200)
    expect(await read(id)).toMatchObject({ decision: { comment: told } })
    // By itself, to be counted.
    const { votes } = Object(await stored(service, 'requests').findOne({ _id: id }))
    expect(votes).toMatchObject([{ reason: 'Not now', comment: told }])
  })

  it('approves with a code when the person has no passkey', async () => {
    const person = await enrolWithTotp(service, 'codes@example.com')
    const key = await keyOf(service, person.userId)
    const id = await ask({ service, key })
    const later = new Date(service.composition.deps.clock.now().getTime() + 0)
    await forgetLastStep(person.userId)
    const totp = codeAt(person.secret, later)
    const answer = await person.browser.post(`/api/v1/approvals/${id}/decision`, {
      decision: 'approved',
      totp,
    })
    expect(answer.body).toMatchObject({ status: 'approved', decision: { method: 'totp' } })
    expect(verifyReceiptJson({ decision: answer.body.decision }, await jwks())).toMatchObject({ valid: true })
  })

  it.each([
    ['v2', {}],
    ['v3', { use_within_seconds: 600 }],
  ])('binds the challenge to the intent %s: SHA-256 of its RFC 8785 text', async (version, use) => {
    const said = { audience: 'https://payments.example', reversibility: 'irreversible', ...use }
    const id = await ask(setting, { context: { amount: 12 }, requires_individual_decision: true, ...said })
    const asked = await setting.owner.browser.post(`/api/v1/approvals/${id}/decision/options`, {
      decision: 'approved',
    })
    const { intent, options } = expectStatus(asked, 200)
    expect(options.challenge).toBe(createHash('sha256').update(canonicalize(intent)).digest('base64url'))
    expect(options).toMatchObject({ rpId: 'localhost', userVerification: 'required' })
    expect(options.allowCredentials.map((one: { id: string }) => one.id)).toEqual([
      setting.owner.authenticator.credentials[0]?.id,
    ])
    const review = expectStatus(await setting.owner.browser.get(`/api/v1/approvals/${id}/review`), 200)
    const policy = canonicalize({ ...review.policy, quorum: review.quorum.needed })
    expect(review).toMatchObject({ ...said, policy: { approvers: [review.approver], passkey_only: false } })
    expect(intent).toEqual({
      typ: `human-approval/intent/${version}`,
      aud: service.url,
      rid: id,
      decision: 'approved',
      approver: review.approver,
      action: 'Deploy release 4.2',
      context_sha256: createHash('sha256').update('{"amount":12}').digest('hex'),
      request_created_at: review.created_at,
      exp: Math.floor(new Date(review.expires_at).getTime() / 1000),
      high_impact: true,
      requester: { ...review.requester, name: review.requested_by.key_name },
      policy_sha256: createHash('sha256').update(policy).digest('hex'),
      quorum: 1,
      ...said,
      salt: expect.stringMatching(/^[\w-]{43}$/),
    })
  })

  it('stores intent, evidence, event, callback bytes and audit entry in the deciding write', async () => {
    const id = await ask(setting, { callback_url: 'https://receiver.example/hook' })
    await decideByPasskey(setting, id, 'approved', 'fine')
    const stored = await service.composition.deps.requests.find(id)
    const vote = stored?.votes[0]
    expect(JSON.parse(vote?.intent_json ?? '{}')).toMatchObject({ rid: id, decision: 'approved' })
    expect(vote?.evidence).toMatchObject({
      type: 'passkey',
      credential_id: setting.owner.authenticator.credentials[0]?.id,
    })
    expect(stored?.outbox.map((event) => event.type)).toEqual(['approval.created', 'approval.approved'])
    expect(stored?.audit.map((entry) => entry.type)).toEqual([
      'approval.created',
      'approval.voted',
      'approval.approved',
    ])
    expect(stored?.callback).toMatchObject({
      state: 'due',
      url: 'https://receiver.example/hook',
      event_id: expect.stringMatching(/^evt_/),
      delivery_id: expect.stringMatching(/^dlv_/),
    })
    const body = JSON.parse(stored?.callback?.body ?? '{}')
    expect(Object.keys(body)).toEqual(['request_id', 'decision', 'decided_at', 'signed_receipt'])
    expect(Object.keys(body.signed_receipt)).toEqual([
      'decision_id',
      'signature',
      'public_key_id',
      'canonical_payload',
      'comment',
    ])
    expect(verifyReceiptJson(body, await jwks())).toMatchObject({ valid: true, payload: { rid: id } })
  })
})

/** Enrolling used the current code up; a test cannot wait half a minute for the next. */
async function forgetLastStep(userId: string): Promise<void> {
  await service.composition.connection
    .collection<{ _id: string }>('users')
    .updateOne({ _id: userId }, { $set: { 'totp.last_step': 0 } })
}

describe('GET /api/v1/approvals/:id/review', () => {
  const look = async (who: EnrolledPerson, id: string) =>
    expectStatus(await who.browser.get(`/api/v1/approvals/${id}/review`), 200)

  it('tells people of the account when each approver had the request before them for the first time', async () => {
    const accountId = (await service.composition.deps.users.find(setting.owner.userId))?.account_id ?? ''
    const [second, auditor] = [
      await enrolWithPasskey(service, 'second@example.com'),
      await enrolWithPasskey(service, 'auditor@example.com'),
    ]
    await setPolicy(service, accountId, { approvers: [setting.owner.userId, second.userId], quorum: 1 })
    await joinAccount(service, accountId, auditor.userId, 'auditor')
    const id = await ask(setting)
    const references = async (who: EnrolledPerson) => (await look(who, id)).seen.map(Object)
    expect(await references(auditor)).toEqual([])
    await Promise.all(Array.from({ length: 20 }, () => look(setting.owner, id)))
    await expect.poll(() => references(auditor)).toHaveLength(1)
    await look(second, id)
    await expect.poll(() => references(auditor)).toHaveLength(2)
    const { seen, names } = await look(auditor, id)
    const [owner, other] = await Promise.all(
      [setting.owner, second].map(({ userId }) => service.composition.deps.users.find(userId)),
    )
    expect(seen).toEqual([
      { approver: owner?.approver, at: expect.any(String) },
      { approver: other?.approver, at: expect.any(String) },
    ])
    expect(names).toMatchObject({ [String(other?.approver)]: other?.name })
    // What happens after the decision is history, and no part of it.
    expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
    await service.composition.deps.requests.noteSeen(id, { approver: 'f'.repeat(16), at: new Date() })
    expect((await look(second, id)).seen).toEqual(seen)
  })

  it('has, once there is a receipt, the address of its check as a QR code, which names no more than the request', async () => {
    const id = await ask(setting)
    expect((await look(setting.owner, id)).verify_qr).toBeUndefined()
    expectStatus(await decideByPasskey(setting, id, 'rejected'), 200)
    expect((await look(setting.owner, id)).verify_qr).toBe(await drawQr(`${service.url}/verify#${id}`))
  })

  it('tells so of the first 50', async () => {
    const id = await ask(setting)
    const readers = Array.from({ length: 51 }, (_, index) => String(index).padStart(16, '0'))
    const { requests } = service.composition.deps
    for (const approver of readers) await requests.noteSeen(id, { approver, at: new Date() })
    const { seen } = await look(setting.owner, id)
    expect(seen).toEqual(readers.slice(0, 50).map((approver) => ({ approver, at: expect.any(String) })))
  })

  it('answers the same when that cannot be noted', async () => {
    const id = await ask(setting)
    const { requests } = service.composition.deps
    const { noteSeen } = requests
    requests.noteSeen = () => Promise.reject(new Error('the disk is full'))
    try {
      expect(await look(setting.owner, id)).toMatchObject({ id, may_decide: true, seen: [] })
    } finally {
      requests.noteSeen = noteSeen
    }
  })
})
