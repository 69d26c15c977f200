import { createHash, randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { newCaller, send, stored, type TestCaller } from '../../support/caller.ts'
import { ask, decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { type Received, type Receiver, startReceiver } from '../../support/receiver.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let receiver: Receiver
let setting: LiveSetting
let sandbox: TestCaller

beforeAll(async () => {
  service = await startService({ work: true, env: { CALLBACK_ALLOW_PRIVATE: '1' } })
  receiver = await startReceiver()
  setting = await setUpOwner(service)
  sandbox = await newCaller(service, { sandbox: true })
})
afterEach(() => receiver.behave(() => ({ kind: 'answer', status: 200 })))
afterAll(async () => {
  await service.close()
  await receiver.close()
})

/** Everything that arrived at that path once the condition holds. */
async function arrivals(path: string, count: number, ms?: number): Promise<Received[]> {
  const at = () => receiver.received.filter((delivery) => delivery.path === path)
  await receiver.until(`${count} at ${path}`, () => at().length >= count, ms)
  return at()
}

async function trusted(path: string, token: string): Promise<void> {
  const { body } = await send(service, '/api/v1/account/webhook-secret', { token })
  receiver.trust(path, String(body.webhook_signing_secret))
}

const delivery = (id: string) => stored(service, 'deliveries').findOne({ request_id: id })

describe('the callback of a request', () => {
  const TRACE = '0af7651916cd43dd8448eb211c80319c'

  it.each([
    ['carries the trace of the create on', `00-${TRACE}-b7ad6b7169203331-01`, TRACE],
    ['drops a trace that is none', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, undefined],
    ['drops what no standard knows', '00-trace-span-01; drop', undefined],
  ])('%s', async (_what, traceparent, trace) => {
    const path = `/trace-${randomUUID()}`
    await trusted(path, setting.key)
    const json = { action: 'Deploy', callback_url: receiver.url(path) }
    const options = { method: 'POST', token: setting.key, json, headers: { traceparent } }
    const { body } = await send(service, '/api/v1/approvals/request', options)
    await decideByPasskey(setting, String(body.id), 'approved')
    const [first] = await arrivals(path, 1)
    expect(first?.headers.traceparent).toBe(trace === undefined ? undefined : traceparent)
    const lines = service.logged.filter(({ fields }) => fields.path === '/api/v1/approvals/request')
    expect(lines.at(-1)?.fields.trace_id).toBe(trace)
  })

  it.each(['approved', 'rejected'] as const)(
    'tells that a live request was %s, with its receipt',
    async (decision) => {
      const path = `/live-${decision}`
      await trusted(path, setting.key)
      const id = await ask(setting, { callback_url: receiver.url(path) })
      const decided = await decideByPasskey(setting, id, decision, 'checked the invoice')
      const [first, ...more] = await arrivals(path, 1)
      const read = await send(service, `/api/v1/approvals/${id}`, { token: setting.key })
      const shown = Object(read.body.decision)
      expect(decided.status).toBe(200)
      expect(more).toEqual([])
      expect(JSON.parse(String(first?.body))).toEqual({
        request_id: id,
        decision,
        decided_at: shown.decided_at,
        signed_receipt: {
          decision_id: shown.id,
          signature: shown.signature,
          public_key_id: shown.public_key_id,
          canonical_payload: Buffer.from(shown.signed_payload, 'base64url').toString(),
          comment: 'checked the invoice',
        },
      })
      expect(first?.signed).toEqual({ service: true, standard: true })
      expect(first?.headers).toMatchObject({
        'content-type': 'application/json',
        'webhook-id': expect.stringMatching(/^evt_[0-9a-hjkmnp-tv-z]{26}$/),
        'x-service-timestamp': expect.stringMatching(/^\d{10}$/),
        'x-service-signature': expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
      })
    },
  )

  it('tells of a sandbox decision as such', async () => {
    await trusted('/sandbox', sandbox.token)
    const fields = { callback_url: receiver.url('/sandbox'), sandbox_auto_decide_seconds: 0 }
    const id = await sandbox.createdId(fields)
    await sandbox.read(id)
    const [first] = await arrivals('/sandbox', 1)
    expect(JSON.parse(String(first?.body))).toMatchObject({
      request_id: id,
      decision: 'approved',
      sandbox: true,
    })
    expect(first?.signed).toEqual({ service: true, standard: true })
  })

  it('sends the same bytes under the same id until somebody takes them, each with a timestamp of its own', async () => {
    await trusted('/again', sandbox.token)
    receiver.behave(({ attempt }) =>
      attempt === 1 ? { kind: 'answer', status: 500 } : { kind: 'answer', status: 204 },
    )
    const id = await sandbox.createdId({
      callback_url: receiver.url('/again'),
      sandbox_auto_decide_seconds: 0,
    })
    await sandbox.read(id)
    const [first, second] = await arrivals('/again', 2)
    expect(second?.eventId).toBe(first?.eventId)
    expect(digest(second)).toBe(digest(first))
    expect(Number(second?.headers['x-service-timestamp'])).toBeGreaterThan(
      Number(first?.headers['x-service-timestamp']),
    )
    expect(second?.signed).toEqual({ service: true, standard: true })
    await expect
      .poll(() => delivery(id))
      .toMatchObject({
        state: 'delivered',
        attempts: [{ outcome: 'http_500' }, { outcome: 'http_204' }],
      })
  })

  it('takes a redirect for a failure and never follows it', async () => {
    receiver.behave(({ path, attempt }) =>
      path === '/moved' && attempt === 1
        ? { kind: 'answer', status: 307, headers: { location: receiver.url('/elsewhere') } }
        : { kind: 'answer', status: 200 },
    )
    const id = await sandbox.createdId({
      callback_url: receiver.url('/moved'),
      sandbox_auto_decide_seconds: 0,
    })
    await sandbox.read(id)
    await arrivals('/moved', 2)
    expect(receiver.received.filter(({ path }) => path === '/elsewhere')).toEqual([])
    await expect.poll(() => delivery(id)).toMatchObject({ attempts: [{ outcome: 'http_307' }, {}] })
  })

  it('leaves the request light: once handed over, its bytes are in the delivery alone', async () => {
    const id = await sandbox.createdId({
      callback_url: receiver.url('/light'),
      sandbox_auto_decide_seconds: 0,
    })
    await sandbox.read(id)
    const [first] = await arrivals('/light', 1)
    await expect
      .poll(() => stored(service, 'requests').findOne({ _id: id }))
      .toMatchObject({ audit: [], outbox: [] })
    const document = await stored(service, 'requests').findOne({ _id: id })
    expect(document).not.toHaveProperty('outbox_token')
    expect(Object(document).callback).toEqual({
      state: 'handed',
      url: receiver.url('/light'),
      event_id: first?.eventId,
      delivery_id: (await delivery(id))?._id,
      secret_version: 1,
    })
  })

  it('does not fire for a request that expires, nor before a decision', async () => {
    const id = await ask(setting, { callback_url: receiver.url('/never') })
    await stored(service, 'requests').updateOne(
      { _id: id },
      { $set: { expires_at: new Date(Date.now() - 1_000) } },
    )
    expect((await send(service, `/api/v1/approvals/${id}`, { token: setting.key })).body.status).toBe(
      'expired',
    )
    await service.work?.relay.run()
    expect(await delivery(id)).toBeNull()
    expect(receiver.received.filter(({ path }) => path === '/never')).toEqual([])
  })
})

function digest(delivery: Received | undefined): string {
  return createHash('sha256')
    .update(delivery?.body ?? '')
    .digest('hex')
}
