import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Delivery } from '../../../src/domain/webhook.ts'
import { decidedId, newCaller, send, stored } from '../../support/caller.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { startService, type TestService } from '../../support/service.ts'
import { entriesOf, newWebhookOwner, type WebhookOwner } from '../../support/webhook-owner.ts'

const UNKNOWN = `req_${'0'.repeat(26)}`

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

/** A sandbox request that was decided and whose callback and webhook were told; `at` is the path of both. */
async function told(owner: WebhookOwner, at: string) {
  const hook = await owner.made(receiver.url(at), ['approval.approved'])
  const caller = await newCaller(service, { user: owner.user, sandbox: true })
  const id = await decidedId(service, caller, { callback_url: receiver.url(at) })
  const arrived = () => receiver.received.filter(({ path }) => path === at)
  await receiver.until('callback and webhook', () => arrived().length === 2)
  const settled = async () => {
    const states = await stored(service, 'deliveries').find({ request_id: id }).toArray()
    return states.filter(({ state }) => state === 'delivered').length
  }
  await expect.poll(settled).toBe(2)
  return { hook, caller, id, arrived, path: `/api/v1/approvals/${id}/deliveries` }
}

describe('the log of a request', () => {
  it('shows the key that made it its callback, and not the body', async () => {
    const owner = await newWebhookOwner(service)
    const { caller, id, path, arrived } = await told(owner, '/log-1')
    const { status, body, text, headers } = await caller.send(path)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    const request = await stored(service, 'requests').findOne({ _id: id })
    const { delivery_id, event_id } = Object(request?.callback)
    expect(body).toEqual({
      data: [
        {
          id: delivery_id,
          target: 'callback',
          request_id: id,
          event_id,
          event_type: 'callback',
          url: receiver.url('/log-1'),
          state: 'delivered',
          next_attempt_at: null,
          attempts: [{ at: expect.any(String), outcome: 'http_200', duration_ms: expect.any(Number) }],
          created_at: expect.any(String),
        },
      ],
      next_cursor: null,
      cards: [],
      notifications: [],
      quiet: [],
    })
    expect(arrived().map(({ eventId }) => eventId)).toContain(event_id)
    for (const part of ['signed_receipt', 'canonical_payload', 'webhook_id', 'account_id', 'audit', 'lease'])
      expect(text).not.toContain(part)
  })

  it("shows the account's owner also what webhooks were told, in pages", async () => {
    const owner = await newWebhookOwner(service)
    const { hook, id, path } = await told(owner, '/log-2')
    const all = entriesOf(await owner.call('GET', path))
    expect(all.map(({ target }) => target).sort()).toEqual(['callback', 'webhook'])
    expect(all.find(({ target }) => target === 'webhook')).toMatchObject({
      webhook_id: hook.id,
      request_id: id,
      event_type: 'approval.approved',
      state: 'delivered',
    })
    const first = await owner.call('GET', `${path}?limit=1`)
    expect(first.body.data).toEqual(all.slice(0, 1))
    const second = await owner.call('GET', `${path}?limit=1&cursor=${first.body.next_cursor}`)
    expect(second.body).toEqual({
      data: all.slice(1),
      next_cursor: null,
      cards: [],
      notifications: [],
      quiet: [],
    })
  })

  it('is empty without a callback, and before the decision', async () => {
    const caller = await newCaller(service)
    for (const fields of [{}, { callback_url: receiver.url('/never') }]) {
      const id = await caller.createdId(fields)
      const answer = await caller.send(`/api/v1/approvals/${id}/deliveries`)
      expect([answer.status, answer.body]).toEqual([
        200,
        { data: [], next_cursor: null, cards: [], notifications: [], quiet: [] },
      ])
    }
  })

  it('counts as a read and needs approval:read', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const read = await caller.read(id)
    const log = await caller.send(`/api/v1/approvals/${id}/deliveries`)
    const left = [read, log].map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))
    expect(left).toEqual([119, 118])
    const blind = await newCaller(service, { scopes: ['approval:create'] })
    const own = await blind.createdId()
    const refused = await blind.send(`/api/v1/approvals/${own}/deliveries`)
    expect(refused.status).toBe(403)
    expect(refused.body).toEqual({
      error: 'insufficient_scope',
      message: 'This API key lacks the scope approval:read; use a key that has it.',
      scope: 'approval:read',
    })
  })

  it('T55: is a 404 for other keys, other accounts and unknown ids alike', async () => {
    const owner = await newWebhookOwner(service)
    const { path } = await told(owner, '/log-3')
    const sibling = await newCaller(service, { user: owner.user })
    const stranger = await newCaller(service)
    const other = await newWebhookOwner(service)
    const answers = [
      await sibling.send(path),
      await stranger.send(path),
      await other.call('GET', path),
      await stranger.send(`/api/v1/approvals/${UNKNOWN}/deliveries`),
      await owner.call('GET', `/api/v1/approvals/${UNKNOWN}/deliveries`),
      await owner.call('GET', '/api/v1/approvals/%7B%22%24ne%22%3Anull%7D/deliveries'),
    ]
    for (const { status, body } of answers) {
      expect(status).toBe(404)
      expect(body).toEqual({
        error: 'not_found',
        message: 'There is no such resource, or it is not yours; check the address and its ids.',
      })
    }
  })

  it('is a 401 without credentials and for junk', async () => {
    const path = `/api/v1/approvals/${UNKNOWN}/deliveries`
    const none = await send(service, path)
    expect([none.status, none.body.error]).toEqual([401, 'invalid or missing API key'])
    const jwt = await send(service, path, { token: 'a.b.c' })
    expect([jwt.status, jwt.body.error]).toEqual([401, 'not_signed_in'])
  })
})

describe('the log of a webhook', () => {
  /** Deliveries in the store, as a busy webhook would have left them: two of each moment. */
  async function filled(owner: WebhookOwner, count: number) {
    const { id } = await owner.made(receiver.url('/filled'), ['key.revoked'])
    const { deps } = service.composition
    const made = Array.from({ length: count }, (_, n): Delivery => {
      const moment = new Date(Date.parse('2026-03-01T10:00:00.000Z') + Math.floor(n / 2) * 1000)
      return {
        id: `dlv_${n.toString().padStart(26, '0')}`,
        account_id: owner.user.account_id,
        target: { kind: 'webhook', webhook_id: id },
        event_id: `evt_${n.toString().padStart(26, '0')}`,
        event_type: 'key.revoked',
        url: receiver.url('/filled'),
        host: '127.0.0.1',
        body: '{"secret":"contents"}',
        state: 'dead',
        next_at: moment,
        tries: 5,
        fence: 5,
        attempts: [{ at: moment, outcome: 'timeout', duration_ms: 10_000.4 }],
        created_at: moment,
        outbox: [],
        audit: [],
      }
    })
    await deps.deliveries.insertNew(made)
    return { id, made }
  }

  it('comes in pages, newest first, without a gap or a repeat, and without bodies', async () => {
    const owner = await newWebhookOwner(service)
    const { id, made } = await filled(owner, 25)
    const seen: unknown[] = []
    let query = '?limit=7'
    for (let page = 0; page < 4; page += 1) {
      const { body, text } = await owner.call('GET', `/api/v1/account/webhooks/${id}/deliveries${query}`)
      expect(text).not.toContain('contents')
      seen.push(...Array.from(Object(body.data), (entry) => Object(entry).id))
      query = `?limit=7&cursor=${body.next_cursor}`
      if (body.next_cursor === null) break
    }
    const newestFirst = made.map((delivery) => delivery.id).reverse()
    expect(seen).toEqual(newestFirst)
    const [first] = await owner.log(id)
    expect(first).toMatchObject({
      state: 'dead',
      next_attempt_at: null,
      attempts: [{ outcome: 'timeout', duration_ms: 10_000 }],
    })
    expect(await owner.log(id)).toHaveLength(20)
    const count = async (filter: string): Promise<number> =>
      entriesOf(await owner.call('GET', `/api/v1/account/webhooks/${id}/deliveries?limit=100&${filter}`))
        .length
    await stored(service, 'deliveries').updateOne({ _id: made[3]?.id ?? '' }, { $set: { state: 'dropped' } })
    const found = await Promise.all(
      [
        'state=dead',
        'state=dropped',
        'state=sending',
        'event=key.revoked&state=dead',
        'event=key.created',
      ].map(count),
    )
    expect(found).toEqual([24, 1, 0, 24, 0])
  })

  it.each([
    ['limit', '?limit=0'],
    ['limit', '?limit=101'],
    ['limit', '?limit=all'],
    ['state', '?state=leased'],
    ['event', '?event=callback'],
    ['cursor', '?cursor=%7B%7D'],
    ['cursor', '?cursor=abc'],
    ['cursor', `?cursor=${Buffer.from(JSON.stringify([0, UNKNOWN])).toString('base64url')}`],
    ['cursor', `?cursor=${Buffer.from('[9e15,"dlv_00000000000000000000000000"]').toString('base64url')}`],
  ])('refuses %s in %s', async (field, query) => {
    const owner = await newWebhookOwner(service)
    const { path } = await owner.made(receiver.url('/queries'))
    const { status, body } = await owner.call('GET', `${path}/deliveries${query}`)
    expect([status, body.error, body.field]).toEqual([400, 'invalid_field', field])
  })
})
