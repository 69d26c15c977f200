import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EventType } from '../../../src/domain/event.ts'
import { checkTrail } from '../../../src/flow/audit/check-trail.ts'
import { eventBody } from '../../../src/http/api/events.ts'
import { createStateSurvey } from '../../../src/store/audit/state-survey.ts'
import { begin, codeChallenge, consent, pollOnce, pollRested, stored } from '../../support/bootstraps.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let receiver: Receiver
let owner: EnrolledPerson
beforeAll(async () => {
  receiver = await startReceiver()
  service = await startService({ env: { TRUST_PROXY: '1', CALLBACK_ALLOW_PRIVATE: '1' }, work: true })
  owner = await enrolWithPasskey(service, 'owner@example.com')
})
afterAll(async () => {
  await service.close()
  await receiver.close()
})

async function heard(path: string, type: EventType) {
  return (await allHeard(path, type, 1))[0]
}

async function allHeard(path: string, type: EventType, count: number) {
  const bodies = () =>
    receiver.received
      .filter((arrival) => arrival.path === path)
      .map(({ body }) => JSON.parse(String(body)))
      .filter((body) => body.type === type)
  await receiver.until(`${count} ${type} at ${path}`, () => bodies().length >= count)
  // What comes back unchanged holds no field that is not written down.
  for (const body of bodies()) expect(eventBody(type).parse(body)).toEqual(body)
  return bodies().map(({ data }) => data)
}

describe('notices of a bootstrap', () => {
  it('webhooks of the account hear who asks, that the owner consented, and who collected', async () => {
    const made = await owner.browser.post('/api/v1/account/webhooks', { url: receiver.url('/owner') })
    receiver.trust('/owner', expectStatus(made, 201).secret)
    const begun = await begin(service, owner.email)
    const { id, requester } = await stored(service, begun.secret)
    const facts = {
      consent_id: id,
      unverified_client_name: 'Release agent',
      scopes: ['approval:create', 'approval:read'],
    }
    expect(await heard('/owner', 'bootstrap.requested')).toMatchObject({
      ...facts,
      requested_from: requester.address,
      review_url: `${service.url}/b/${id}`,
    })
    await consent(service, owner, begun)
    expect(await heard('/owner', 'bootstrap.approved')).toEqual({ ...facts, approved_at: expect.any(String) })
    expectStatus(await pollOnce(service, begun.secret), 200)
    expect(await heard('/owner', 'key.created')).toMatchObject({
      name: 'Release agent',
      consent_id: id,
      collected_from: expect.stringMatching(/^10\./),
    })
    const all = receiver.received.map(({ body }) => String(body)).join()
    for (const secret of [begun.secret, begun.code, begun.code.replace('-', '')])
      expect(all).not.toContain(secret)
  })

  it('webhooks of the account hear of the key again when the first one was lost, with its new prefix', async () => {
    const made = await owner.browser.post('/api/v1/account/webhooks', { url: receiver.url('/replaced') })
    receiver.trust('/replaced', expectStatus(made, 201).secret)
    const { verifier, code_challenge } = codeChallenge()
    const begun = await begin(service, owner.email, { code_challenge })
    await consent(service, owner, begun)
    const first = await pollOnce(service, begun.secret, verifier)
    const second = await pollRested(service, begun.secret, verifier)
    const keys = await allHeard('/replaced', 'key.created', 2)
    const prefixes = [first, second].map(({ body }) => body.api_key.slice(0, 14))
    expect(keys.map(({ key_prefix }) => key_prefix).sort()).toEqual(prefixes.sort())
    const { key_id, consent_id } = keys[0]
    expect(keys[1]).toMatchObject({ key_id, consent_id, collected_from: expect.any(String) })
  })

  it('nobody hears of a decoy', async () => {
    const { secret } = await begin(service, 'nobody@example.com')
    await expect.poll(async () => (await stored(service, secret)).outbox).toEqual([])
    const { id } = await stored(service, secret)
    const made = await service.composition.connection.collection('deliveries').find({}).toArray()
    expect(made.filter(({ body }) => String(body).includes(id))).toEqual([])
  })

  it('the audit trail bears every state out, and finds one that was made by hand', async () => {
    const { verifier, code_challenge } = codeChallenge()
    const replaced = await begin(service, owner.email, { code_challenge })
    await consent(service, owner, replaced)
    expect((await pollOnce(service, replaced.secret, verifier)).body.api_key).toMatch(/^sa_live_/)
    await expect.poll(async () => (await stored(service, replaced.secret)).collected).toBeDefined()
    expect((await pollRested(service, replaced.secret, verifier)).body.api_key).toMatch(/^sa_live_/)
    const rejected = await begin(service, owner.email)
    await consent(service, owner, rejected, 'rejected')
    const { deps, connection } = service.composition
    const check = () =>
      checkTrail({ trail: deps.trail, logs: deps.logs, survey: createStateSurvey(connection) })
    expect((await check()).findings).toEqual([])
    const { id } = await stored(service, rejected.secret)
    await expect.poll(async () => (await stored(service, rejected.secret)).audit).toEqual([])
    const bootstraps = connection.collection<{ _id: string }>('bootstraps')
    await bootstraps.updateOne({ _id: id }, { $set: { status: 'approved', key_id: 'key_x' } })
    const facts = { collection: 'bootstraps', id }
    expect((await check()).findings).toMatchObject([
      { ...facts, code: 'not_told', type: 'bootstrap.approved' },
      { ...facts, code: 'contradicted', type: 'bootstrap.rejected' },
    ])
  })
})
