import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { alter, decidedId, newCaller, send, stored } from '../../support/caller.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { startService, type TestService } from '../../support/service.ts'
import { newWebhookOwner, type WebhookOwner } from '../../support/webhook-owner.ts'

const UNKNOWN = `dlv_${'0'.repeat(26)}`
const replayPath = (id: unknown) => `/api/v1/deliveries/${id}/replay`

let service: TestService
let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
  service = await startService({ env: { CALLBACK_ALLOW_PRIVATE: '1' }, work: true })
})
afterAll(async () => {
  await service.close()
  await receiver.close()
})

const arrivedAt = (path: string) => receiver.received.filter((arrival) => arrival.path === path)

/** A key.created that went out to a webhook, once its delivery rests. */
async function delivered(owner: WebhookOwner, at: string) {
  const hook = await owner.made(receiver.url(at), ['key.created'])
  await owner.call('POST', '/api/v1/account/api-keys', { name: 'Robot' })
  await resting(owner, hook.id)
  const [delivery] = await owner.log(hook.id)
  return { hook, id: String(delivery?.id) }
}

const resting = (owner: WebhookOwner, webhookId: string, attempts = 1) =>
  expect
    .poll(() => owner.log(webhookId))
    .toMatchObject([{ state: 'delivered', attempts: Array.from({ length: attempts }, () => ({})) }])

/** Makes the last of its tries due now, in one write: an attempt under way would write over what is set beside it. */
async function lastTry(webhookId: string): Promise<void> {
  const waiting = { 'target.webhook_id': webhookId, state: 'due', tries: { $gte: 1 } }
  const due = { $set: { tries: 4, next_at: new Date(0) } }
  const deliveries = stored(service, 'deliveries')
  await expect.poll(async () => (await deliveries.updateOne(waiting, due)).matchedCount).toBe(1)
  service.work?.loops.deliveries.wake()
}

describe('a replay', () => {
  it('sends the same event once more at once: same id, same bytes, signed anew', async () => {
    const owner = await newWebhookOwner(service)
    const { hook, id } = await delivered(owner, '/again')
    receiver.trust('/again', hook.secret)
    const { status, body } = await owner.call('POST', replayPath(id))
    expect(status).toBe(200)
    expect(body).toMatchObject({ id, webhook_id: hook.id, state: 'due', attempts: [{ outcome: 'http_200' }] })
    expect(body.next_attempt_at).toEqual(expect.any(String))
    await receiver.until('the second', () => arrivedAt('/again').length === 2)
    const [first, second] = arrivedAt('/again')
    expect(second?.eventId).toBe(first?.eventId)
    expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true)
    expect(second?.signed).toEqual({ service: true, standard: true })
    await resting(owner, hook.id, 2)
  })

  it('of a callback goes to the same address, with the key that asked', async () => {
    const owner = await newWebhookOwner(service)
    const caller = await newCaller(service, { user: owner.user, sandbox: true })
    const secret = await caller.send('/api/v1/account/webhook-secret')
    receiver.trust('/callback', String(secret.body.webhook_signing_secret))
    const request = await decidedId(service, caller, { callback_url: receiver.url('/callback') })
    const log = async () =>
      Array.from(Object((await caller.send(`/api/v1/approvals/${request}/deliveries`)).body.data), Object)
    await expect.poll(log).toMatchObject([{ state: 'delivered' }])
    const [delivery] = await log()
    expect((await owner.call('POST', replayPath(delivery?.id))).status).toBe(200)
    await receiver.until('the second', () => arrivedAt('/callback').length === 2)
    const [first, second] = arrivedAt('/callback')
    expect(second?.eventId).toBe(first?.eventId)
    expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true)
    expect(second?.signed).toEqual({ service: true, standard: true })
  })

  it('of a delivery that was given up starts a new round of tries', async () => {
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let replayed = 0
    receiver.behave(async ({ path }) => {
      if (path !== '/dead') return { kind: 'answer', status: 200 }
      // The second try of the new round waits: what the first one left stays to be seen.
      if (replayed > 0 && arrivedAt(path).length > replayed + 1) await held
      return { kind: 'answer', status: 500 }
    })
    const owner = await newWebhookOwner(service)
    const hook = await owner.made(receiver.url('/dead'), ['key.created'])
    await owner.call('POST', '/api/v1/account/api-keys', { name: 'Robot' })
    await lastTry(hook.id)
    await expect.poll(() => owner.log(hook.id)).toMatchObject([{ state: 'dead' }])
    const id = String((await owner.log(hook.id))[0]?.id)
    replayed = arrivedAt('/dead').length
    await owner.call('POST', replayPath(id))
    await receiver.until('another try', () => arrivedAt('/dead').length > replayed)
    await expect
      .poll(async () => stored(service, 'deliveries').findOne({ _id: id }))
      .toMatchObject({ state: expect.stringMatching(/^(due|leased)$/), tries: 1 })
    receiver.behave(() => ({ kind: 'answer', status: 200 }))
    release()
  })

  it('leaves delivery.replayed in the audit trail, with who asked', async () => {
    const owner = await newWebhookOwner(service)
    const { id } = await delivered(owner, '/audited')
    await owner.call('POST', replayPath(id))
    const trail = () =>
      service.composition.deps.trail.list({ type: 'delivery.replayed', subject: id, limit: 5 })
    await expect.poll(async () => (await trail()).length).toBe(1)
    expect((await trail())[0]?.entry).toMatchObject({
      account_id: owner.user.account_id,
      actor: { kind: 'user', id: owner.user.id, address: '127.0.0.1' },
    })
  })
})

describe('409', () => {
  it('delivery_in_progress while it is due, and while it is being sent', async () => {
    const owner = await newWebhookOwner(service)
    const { id } = await delivered(owner, '/busy')
    const future = new Date(Date.now() + 60_000)
    for (const state of ['due', 'leased']) {
      await alter(service, 'deliveries', id, { state, next_at: future })
      const { status, body } = await owner.call('POST', replayPath(id))
      expect(status).toBe(409)
      expect(body).toEqual({
        error: 'delivery_in_progress',
        message: 'This delivery is still in progress; wait until it is finished.',
      })
    }
  })

  it('delivery_in_progress for all but one of several replays at once', async () => {
    const owner = await newWebhookOwner(service)
    const { hook, id } = await delivered(owner, '/race')
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    receiver.behave(async ({ path }) => {
      if (path === '/race') await held
      return { kind: 'answer', status: 200 }
    })
    const answers = await Promise.all(Array.from({ length: 6 }, () => owner.call('POST', replayPath(id))))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const others = answers.filter(({ status }) => status !== 200)
    expect(others.map(({ status, body }) => [status, body.error])).toEqual(
      others.map(() => [409, 'delivery_in_progress']),
    )
    release()
    await resting(owner, hook.id, 2)
    expect(arrivedAt('/race')).toHaveLength(2)
    receiver.behave(() => ({ kind: 'answer', status: 200 }))
  })

  it('webhook_gone when its webhook was deleted or is switched off', async () => {
    const owner = await newWebhookOwner(service)
    const { hook, id } = await delivered(owner, '/gone')
    const gone = {
      error: 'webhook_gone',
      message: 'The webhook of this delivery was deleted or is switched off; switch it on first.',
    }
    const { webhooks, clock } = service.composition.deps
    const entry = { eid: 'evt_x', type: 'webhook.disabled', actor: { kind: 'service' } } as const
    await webhooks.disable(hook.id, clock.now(), { ...entry, at: clock.now(), subject: hook.id })
    const off = await owner.call('POST', replayPath(id))
    expect([off.status, off.body]).toEqual([409, gone])
    await owner.call('DELETE', hook.path)
    const deleted = await owner.call('POST', replayPath(id))
    expect([deleted.status, deleted.body]).toEqual([409, gone])
    expect(await owner.log(hook.id)).toMatchObject([{ id, state: 'delivered' }])
    expect(arrivedAt('/gone')).toHaveLength(1)
  })
})

describe('404 and 401', () => {
  it("T55: cannot replay another account's delivery, nor find out about it", async () => {
    const owner = await newWebhookOwner(service)
    const { id } = await delivered(owner, '/theirs')
    const mine = await newWebhookOwner(service)
    const foreign = await mine.call('POST', replayPath(id))
    expect(foreign.status).toBe(404)
    expect(foreign.body).toEqual({
      error: 'not_found',
      message: 'There is no such resource, or it is not yours; check the address and its ids.',
    })
    for (const odd of [UNKNOWN, 'dlv_x', '%7B%22%24ne%22%3Anull%7D']) {
      const answer = await mine.call('POST', replayPath(odd))
      expect([answer.status, answer.text], odd).toEqual([404, foreign.text])
    }
    expect(arrivedAt('/theirs')).toHaveLength(1)
  })

  it('needs a session: a key, or nobody, gets 401', async () => {
    const owner = await newWebhookOwner(service)
    const { id } = await delivered(owner, '/key')
    const caller = await newCaller(service, { user: owner.user })
    const byKey = await caller.send(replayPath(id), { method: 'POST' })
    const byNobody = await send(service, replayPath(id), { method: 'POST' })
    for (const answer of [byKey, byNobody])
      expect([answer.status, answer.body.error]).toEqual([401, 'not_signed_in'])
    expect(await owner.log(String((await owner.list())[0]?.id))).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ id, state: 'delivered' })]),
    )
  })
})
