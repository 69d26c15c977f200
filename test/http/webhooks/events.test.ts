import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EventType } from '../../../src/domain/event.ts'
import { callbackBody, eventBody } from '../../../src/http/api/events.ts'
import { callerWith, decidedId, lapse, newCaller, stored } from '../../support/caller.ts'
import { decideByPasskey, setUpOwner } from '../../support/live.ts'
import { type Received, type Receiver, startReceiver } from '../../support/receiver.ts'
import { startService, type TestService } from '../../support/service.ts'
import { newWebhookOwner, type WebhookOwner, webhookOwnerWith } from '../../support/webhook-owner.ts'

let service: TestService
let receiver: Receiver
let paths = 0
beforeAll(async () => {
  receiver = await startReceiver()
  service = await startService({ env: { CALLBACK_ALLOW_PRIVATE: '1' }, work: true })
})
afterAll(async () => {
  await service.close()
  await receiver.close()
})

interface Event {
  id: string
  type: EventType
  created_at: string
  data: Record<string, unknown>
}

/** A webhook with a path of its own at the receiver. */
async function hooked(owner: WebhookOwner, events?: string[]) {
  paths += 1
  const at = `/hook-${paths}`
  const webhook = await owner.made(receiver.url(at), events)
  receiver.trust(at, webhook.secret)
  const arrived = (type?: string): Received[] =>
    receiver.received.filter(({ path, body }) => path === at && (type === undefined || typeOf(body) === type))
  const event = async (type: EventType): Promise<Event> => {
    await receiver.until(`${type} at ${at}`, () => arrived(type).length > 0)
    const arrival = arrived(type)[0]
    const body: Event = JSON.parse(String(arrival?.body))
    // The schema lets unknown fields pass; what comes back unchanged holds no field that is not written down.
    expect(eventBody(type).parse(body)).toEqual(body)
    expect(arrival?.signed).toEqual({ service: true, standard: true })
    expect(arrival?.eventId).toBe(body.id)
    return body
  }
  return { ...webhook, at, arrived, event }
}

const TRACE = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }

const typeOf = (body: Buffer): unknown => Object(JSON.parse(String(body))).type

describe('the events of a webhook', () => {
  it('when a request is made, reminded and runs out, each with the trace of the create', async () => {
    const owner = await newWebhookOwner(service)
    const hook = await hooked(owner)
    const caller = await newCaller(service, { user: owner.user })
    const asked = { action: 'Pay Zoë 5 €', requires_individual_decision: true }
    const made = await caller.create(asked, TRACE)
    const id = String(made.body.id)
    expect((await hook.event('approval.created')).data).toEqual({
      request_id: id,
      action: 'Pay Zoë 5 €',
      created_at: made.body.created_at,
      expires_at: made.body.expires_at,
      requires_individual_decision: true,
    })
    await caller.send(`/api/v1/approvals/${id}/remind`, { method: 'POST' })
    expect((await hook.event('approval.reminded')).data).toEqual({ request_id: id })
    await lapse(service, id)
    const expired = await caller.read(id)
    expect((await hook.event('approval.expired')).data).toEqual({
      request_id: id,
      expires_at: expired.body.expires_at,
    })
    const about = hook.arrived().filter(({ body }) => String(body).includes(id))
    expect(about.map(({ headers }) => headers.traceparent)).toEqual(Array(3).fill(TRACE.traceparent))
  })

  it.each(['approved', 'rejected'] as const)(
    'when a request is %s: exactly what the callback says, and the largest stays below 20 kB',
    async (decision) => {
      const setting = await setUpOwner(service, `${decision}@example.com`)
      // Carried on before there is a webhook, or it would be told of the key as well.
      const untold = { outbox_token: { $gt: '' } }
      await expect.poll(() => stored(service, 'api_keys').countDocuments(untold)).toBe(0)
      const user = await service.composition.deps.users.find(setting.owner.userId)
      if (user === undefined) throw new Error('no owner')
      const hook = await hooked(webhookOwnerWith(service, user, setting.owner.token))
      const caller = callerWith(service, user, setting.key, '')
      const secret = await caller.send('/api/v1/account/webhook-secret')
      const path = `/callback-${decision}`
      receiver.trust(path, String(secret.body.webhook_signing_secret))
      // Four bytes each: nothing a caller or an approver may write takes more.
      const [action, comment] = ['🜁'.repeat(500), '🜂'.repeat(1000)]
      const id = await caller.createdId({ action, callback_url: receiver.url(path) })
      const decided = await decideByPasskey(setting, id, decision, comment)
      expect(decided.status).toBe(200)

      const { data } = await hook.event(`approval.${decision}`)
      const calls = () => receiver.received.filter((arrival) => arrival.path === path)
      await receiver.until('the callback', () => calls().length > 0)
      const [called] = calls()
      expect(called?.signed).toEqual({ service: true, standard: true })
      const callback = JSON.parse(String(called?.body))
      expect(callbackBody.parse(callback)).toEqual(callback)
      expect(data).toEqual(callback)
      expect(callback).toEqual({
        request_id: id,
        decision,
        decided_at: decided.body.decision.decided_at,
        signed_receipt: {
          decision_id: decided.body.decision.id,
          signature: decided.body.decision.signature,
          public_key_id: decided.body.decision.public_key_id,
          canonical_payload: Buffer.from(decided.body.decision.signed_payload, 'base64url').toString(),
          comment,
        },
      })
      expect((await hook.event('approval.created')).data).toMatchObject({ action })
      const sizes = [...hook.arrived(), ...calls()].map(({ body }) => body.length)
      expect(sizes).toHaveLength(3)
      expect(Math.max(...sizes)).toBeGreaterThan(4_000)
      expect(Math.max(...sizes)).toBeLessThan(20_000)
    },
  )

  it('marks everything of the sandbox', async () => {
    const owner = await newWebhookOwner(service)
    const hook = await hooked(owner)
    const caller = await newCaller(service, { user: owner.user, sandbox: true })
    const id = await decidedId(service, caller, { sandbox_decision: 'rejected' })
    const data = { request_id: id, sandbox: true }
    expect((await hook.event('approval.created')).data).toMatchObject(data)
    expect((await hook.event('approval.rejected')).data).toMatchObject({ ...data, decision: 'rejected' })
    const later = await caller.createdId()
    await lapse(service, later)
    await caller.read(later)
    expect((await hook.event('approval.expired')).data).toMatchObject({ request_id: later, sandbox: true })
  })

  it('when a key is made and revoked', async () => {
    const owner = await newWebhookOwner(service)
    const hook = await hooked(owner)
    const made = await owner.call('POST', '/api/v1/account/api-keys', { name: 'Robot', sandbox: true })
    const { id, key_prefix } = Object(made.body.key)
    const data = { key_id: id, name: 'Robot', key_prefix, sandbox: true }
    expect((await hook.event('key.created')).data).toEqual(data)
    await owner.call('DELETE', `/api/v1/account/api-keys/${id}`)
    expect((await hook.event('key.revoked')).data).toEqual(data)
    for (const { body } of hook.arrived()) expect(String(body)).not.toContain(String(made.body.raw_key))
  })

  it('when a delivery to another receiver was given up, with the trace of that delivery', async () => {
    receiver.behave(({ path }) => ({ kind: 'answer', status: path === '/broken' ? 503 : 200 }))
    const owner = await newWebhookOwner(service)
    const hook = await hooked(owner, ['delivery.exhausted'])
    const broken = await owner.made(receiver.url('/broken'), ['approval.created'])
    const caller = await newCaller(service, { user: owner.user })
    const { body } = await caller.create({ action: 'Deploy' }, TRACE)
    await lastTry(broken.id)
    const [first] = await owner.log(broken.id)
    expect((await hook.event('delivery.exhausted')).data).toEqual({
      delivery_id: first?.id,
      target: 'webhook',
      webhook_id: broken.id,
      request_id: body.id,
      event_id: first?.event_id,
      event_type: 'approval.created',
      attempts: 5,
      last_outcome: 'http_503',
    })
    expect(hook.arrived()[0]?.headers).toMatchObject(TRACE)
    expect(await owner.log(broken.id)).toMatchObject([{ id: first?.id, state: 'dead' }])
    // The operator reads it, too: without the address, which is the receiver's own secret.
    expect(service.logged.filter(({ fields }) => fields.delivery_id === first?.id)).toEqual([
      {
        level: 'warn',
        message: 'a delivery was given up; it can be replayed',
        fields: { delivery_id: first?.id, host: '127.0.0.1', outcome: 'http_503' },
      },
    ])
  })
})

/**
 * Makes the last of the tries of a webhook's only delivery due now, once a try has failed. In one write: an attempt under
 * way would write over what is set beside it.
 */
async function lastTry(webhookId: string): Promise<void> {
  const waiting = { 'target.webhook_id': webhookId, state: 'due', 'attempts.0.outcome': 'http_503' }
  const due = { $set: { tries: 4, next_at: new Date(0) } }
  const deliveries = stored(service, 'deliveries')
  await expect.poll(async () => (await deliveries.updateOne(waiting, due)).matchedCount).toBe(1)
  service.work?.loops.deliveries.wake()
}

describe('who is told', () => {
  it('every webhook of the account that wants the type, under one event id; nobody else', async () => {
    const owner = await newWebhookOwner(service)
    const other = await newWebhookOwner(service)
    const all = await hooked(owner)
    const some = await hooked(owner, ['approval.expired', 'key.revoked'])
    const theirs = await hooked(other)
    const caller = await newCaller(service, { user: owner.user })
    const id = await caller.createdId()
    await lapse(service, id)
    await caller.read(id)
    const expired = await some.event('approval.expired')
    expect((await all.event('approval.expired')).id).toBe(expired.id)
    await receiver.until('all', () => all.arrived().length === 3)
    expect(all.arrived().map(({ body }) => typeOf(body))).toEqual(
      expect.arrayContaining(['key.created', 'approval.created', 'approval.expired']),
    )
    expect(some.arrived()).toHaveLength(1)
    expect(theirs.arrived()).toEqual([])
  })

  it('nobody by a 410 any more, until it is switched on again', async () => {
    const owner = await newWebhookOwner(service)
    const hook = await hooked(owner, ['approval.created'])
    const witness = await hooked(owner, ['approval.created'])
    const gone = new Set([hook.at])
    receiver.behave(({ path }) => ({ kind: 'answer', status: gone.has(path) ? 410 : 200 }))
    const caller = await newCaller(service, { user: owner.user })
    await caller.createdId()
    await expect
      .poll(async () => (await owner.list()).map(({ state }) => state))
      .toEqual(['disabled', 'active'])
    const [refused] = await owner.log(hook.id)
    expect(refused).toMatchObject({ state: 'dead', attempts: [{ outcome: 'http_410' }] })
    const replayed = await owner.call('POST', `/api/v1/deliveries/${refused?.id}/replay`)
    expect([replayed.status, replayed.body.error]).toEqual([409, 'webhook_gone'])

    await caller.createdId()
    await receiver.until('the second, elsewhere', () => witness.arrived().length === 2)
    gone.clear()
    expect((await owner.call('POST', `${hook.path}/enable`)).body).toMatchObject({ ok: true })
    const third = await caller.createdId()
    await receiver.until('the third', () => hook.arrived().length === 2)
    expect(String(hook.arrived()[1]?.body)).toContain(third)
  })

  it('nobody any more once the webhook is deleted', async () => {
    const owner = await newWebhookOwner(service)
    const hook = await hooked(owner)
    const witness = await hooked(owner)
    await owner.call('DELETE', hook.path)
    const caller = await newCaller(service, { user: owner.user })
    await caller.createdId()
    await receiver.until('both events', () => witness.arrived().length === 2)
    expect(hook.arrived()).toEqual([])
    expect(await owner.log(hook.id)).toEqual([])
  })
})
