import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { send, stored } from '../../support/caller.ts'
import type { Receiver } from '../../support/receiver.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startService, type TestService } from '../../support/service.ts'
import { entriesOf, newWebhookOwner, type WebhookOwner } from '../../support/webhook-owner.ts'

const DEAD = '/api/v1/account/dead-letters'

let service: TestService
let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
  receiver.behave(() => ({ kind: 'answer', status: 410 }))
  service = await startService({ env: { CALLBACK_ALLOW_PRIVATE: '1' } })
})
afterAll(async () => {
  await service.close()
  await receiver.close()
})

/** A webhook and the ids of its events, each given up at once, newest first: tests, as which the log no longer knows them. */
async function givenUp(owner: WebhookOwner, events: number): Promise<string[]> {
  const { id, path } = await owner.made(receiver.url('/gone'))
  const ids: string[] = []
  for (let n = 0; n < events; n += 1) ids.unshift(String((await owner.call('POST', `${path}/test`)).body.id))
  const theirs = { 'target.webhook_id': id }
  await stored(service, 'deliveries').updateMany(theirs, { $set: { event_type: 'key.created' } })
  return ids
}

describe('deliveries that were given up', () => {
  it('is listed for the account alone, newest first, page by page', async () => {
    const owner = await newWebhookOwner(service)
    const [third, second, first] = await givenUp(owner, 3)
    const page = await owner.call('GET', `${DEAD}?limit=2`)
    expect(entriesOf(page).map(({ id, state }) => [id, state])).toEqual([
      [third, 'dead'],
      [second, 'dead'],
    ])
    expect(entriesOf(page)[0]).toMatchObject({ target: 'webhook', attempts: [{ outcome: 'http_410' }] })
    expect(page.text).not.toContain('"body"')
    const rest = await owner.call('GET', `${DEAD}?limit=2&cursor=${page.body.next_cursor}`)
    expect([entriesOf(rest).map(({ id }) => id), rest.body.next_cursor]).toEqual([[first], null])
    expect(entriesOf(await (await newWebhookOwner(service)).call('GET', DEAD))).toEqual([])
  })

  it('is listed no more once it is on its way again', async () => {
    const owner = await newWebhookOwner(service)
    const [id] = await givenUp(owner, 1)
    const [webhook] = await owner.list()
    await owner.call('POST', `/api/v1/account/webhooks/${webhook?.id}/enable`)
    expect((await owner.call('POST', `/api/v1/deliveries/${id}/replay`)).status).toBe(200)
    expect(entriesOf(await owner.call('GET', DEAD))).toEqual([])
  })

  it('does not list a test that failed', async () => {
    const owner = await newWebhookOwner(service)
    const { path } = await owner.made(receiver.url('/gone'))
    expect((await owner.call('POST', `${path}/test`)).body).toMatchObject({ state: 'dead' })
    expect(entriesOf(await owner.call('GET', DEAD))).toEqual([])
  })

  it('400, 401: takes a limit up to 100, and a session', async () => {
    const owner = await newWebhookOwner(service)
    const wide = await owner.call('GET', `${DEAD}?limit=101`)
    expect([wide.status, wide.body]).toMatchObject([
      400,
      { error: 'invalid_field', field: 'limit', detail: 'must be at most 100' },
    ])
    const stranger = await send(service, DEAD)
    expect([stranger.status, stranger.body]).toEqual([
      401,
      { error: 'not_signed_in', message: 'Sign in first.' },
    ])
  })
})
