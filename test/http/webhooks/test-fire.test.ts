import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventBody } from '../../../src/http/api/events.ts'
import { signIn, stored } from '../../support/caller.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { freePort, startService, type TestService, useService } from '../../support/service.ts'
import { newWebhookOwner, webhookOwnerWith } from '../../support/webhook-owner.ts'

let service: TestService
let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
  service = await startService({ env: { CALLBACK_ALLOW_PRIVATE: '1' } })
})
afterAll(async () => {
  await service.close()
  await receiver.close()
})

const arrivedAt = (path: string) => receiver.received.filter((arrival) => arrival.path === path)

describe('a test-fire', () => {
  it('sends webhook.test at once, signed, and answers with what came of it', async () => {
    const { made, call, log } = await newWebhookOwner(service)
    const { id, path, secret } = await made(receiver.url('/tested'))
    receiver.trust('/tested', secret)
    const { status, body } = await call('POST', `${path}/test`)
    expect(status).toBe(200)
    const [arrival, ...more] = arrivedAt('/tested')
    expect(more).toEqual([])
    expect(arrival?.signed).toEqual({ service: true, standard: true })
    expect(arrival?.headers['content-type']).toBe('application/json')
    const event = JSON.parse(String(arrival?.body))
    expect(eventBody('webhook.test').parse(event)).toEqual(event)
    expect(event).toMatchObject({ id: arrival?.eventId, data: { webhook_id: id } })
    expect(body).toEqual({
      id: expect.stringMatching(/^dlv_/),
      target: 'webhook',
      webhook_id: id,
      event_id: arrival?.eventId,
      event_type: 'webhook.test',
      url: receiver.url('/tested'),
      state: 'delivered',
      next_attempt_at: null,
      attempts: [{ at: expect.any(String), outcome: 'http_200', duration_ms: expect.any(Number) }],
      created_at: expect.any(String),
    })
    expect(await log(id)).toEqual([body])
  })

  it('leaves webhook.tested, with who fired it', async () => {
    const { user, made, call } = await newWebhookOwner(service)
    const { id, path } = await made(receiver.url('/audited'))
    await call('POST', `${path}/test`)
    const document = await stored(service, 'webhooks').findOne({ _id: id })
    const actor = { kind: 'user', id: user.id, address: '127.0.0.1' }
    expect(document?.audit).toMatchObject([
      { type: 'webhook.created' },
      { type: 'webhook.tested', subject: id, account_id: user.account_id, actor },
    ])
  })

  it.each([
    ['http_500', 500],
    ['http_302', 302],
    ['http_410', 410],
  ])('is tried once and says %s; nothing is switched off by it', async (outcome, answer) => {
    const at = `/answers-${answer}`
    receiver.behave(({ path }) => ({ kind: 'answer', status: path === at ? answer : 200 }))
    const { made, call, list } = await newWebhookOwner(service)
    const { path } = await made(receiver.url(at))
    const { status, body } = await call('POST', `${path}/test`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ state: 'dead', next_attempt_at: null, attempts: [{ outcome }] })
    expect(arrivedAt(at)).toHaveLength(1)
    expect(await list()).toMatchObject([{ state: 'active' }])
  })

  it('T7: tells a closed port and a receiver that hangs up by the same word', async () => {
    receiver.behave(({ path }) => (path === '/drop' ? { kind: 'drop' } : { kind: 'answer', status: 200 }))
    const { made, call } = await newWebhookOwner(service)
    const closed = await made(`http://127.0.0.1:${await freePort()}/`)
    const dropping = await made(receiver.url('/drop'))
    const answers = [await call('POST', `${closed.path}/test`), await call('POST', `${dropping.path}/test`)]
    for (const { body } of answers)
      expect(body).toMatchObject({
        state: 'dead',
        attempts: [{ at: expect.any(String), outcome: 'connect_failed', duration_ms: expect.any(Number) }],
      })
    const [one, other] = answers.map(({ body }) => Object.keys(Object(Array.from(Object(body.attempts))[0])))
    expect(one).toEqual(['at', 'outcome', 'duration_ms'])
    expect(other).toEqual(one)
  })

  it('reaches a webhook that is switched off, so that it can be tried before it is switched on', async () => {
    receiver.behave(() => ({ kind: 'answer', status: 200 }))
    const { made, call, list } = await newWebhookOwner(service)
    const { id, path } = await made(receiver.url('/off'))
    const { webhooks, clock } = service.composition.deps
    const entry = { eid: 'evt_x', type: 'webhook.disabled', actor: { kind: 'service' } } as const
    await webhooks.disable(id, clock.now(), { ...entry, at: clock.now(), subject: id })
    expect((await call('POST', `${path}/test`)).body).toMatchObject({ state: 'delivered' })
    expect(await list()).toMatchObject([{ id, state: 'disabled' }])
  })

  it('T9: runs one at a time for an account, whichever webhook and process it is; others are not in its way', async () => {
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    receiver.behave(async ({ path }) => {
      if (path === '/held') await held
      return { kind: 'answer', status: 200 }
    })
    const { made, call, user } = await newWebhookOwner(service)
    const [one, two] = [await made(receiver.url('/held')), await made(receiver.url('/free'))]
    const first = call('POST', `${one.path}/test`)
    await receiver.until('the first test arrived', () => arrivedAt('/held').length === 1)
    const database = service.composition.connection.name
    const beside = await useService({ database, env: { CALLBACK_ALLOW_PRIVATE: '1' } })
    const elsewhere = webhookOwnerWith(beside, user, await signIn(beside, user))
    for (const refused of [
      await call('POST', `${one.path}/test`),
      await call('POST', `${two.path}/test`),
      await elsewhere.call('POST', `${two.path}/test`),
    ]) {
      expect(refused.status).toBe(409)
      expect(refused.body).toEqual({
        error: 'test_in_progress',
        message: 'A test of this account is still running; wait for its answer.',
      })
    }
    const other = await newWebhookOwner(service)
    const theirs = await other.made(receiver.url('/theirs'))
    expect((await other.call('POST', `${theirs.path}/test`)).body.state).toBe('delivered')
    release()
    expect((await first).body.state).toBe('delivered')
    expect((await call('POST', `${two.path}/test`)).body.state).toBe('delivered')
  })

  it('gives up on a receiver that says nothing, within the time limit', async () => {
    receiver.behave(({ path }) => (path === '/silent' ? { kind: 'stall' } : { kind: 'answer', status: 200 }))
    // Of its own: whoever answers may take longer than this on a slow machine.
    const env = { CALLBACK_ALLOW_PRIVATE: '1', CALLBACK_TIMEOUT_SECONDS: '1' }
    const { made, call } = await newWebhookOwner(await useService({ env }))
    const { path } = await made(receiver.url('/silent'))
    const { body } = await call('POST', `${path}/test`)
    expect(body).toMatchObject({ state: 'dead', attempts: [{ outcome: 'timeout' }] })
  })

  it('cannot be asked for as an event', async () => {
    const { create } = await newWebhookOwner(service)
    const { status, body } = await create({ url: receiver.url('/'), events: ['webhook.test'] })
    expect([status, body.error, body.field]).toEqual([400, 'invalid_field', 'events.0'])
  })
})
