import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort, startService, type TestService } from '../../support/service.ts'
import { newWebhookOwner, WEBHOOKS_PATH } from '../../support/webhook-owner.ts'

let service: TestService
let nobody: string
beforeAll(async () => {
  service = await startService({ env: { CALLBACK_ALLOW_PRIVATE: '1' } })
  nobody = `http://127.0.0.1:${await freePort()}/in`
})
afterAll(() => service.close())

describe('a webhook as its owner reads it', () => {
  it('says that nothing happened yet, in the list and alone', async () => {
    const { made, list, call } = await newWebhookOwner(service)
    const { id, path } = await made(nobody)
    const [listed] = await list()
    expect(listed).toMatchObject({ id, state: 'active', last_delivery: null })
    const alone = await call('GET', path)
    expect([alone.status, alone.body]).toEqual([200, listed])
    expect(alone.text).not.toContain('secret":"')
  })

  it('tells what became of the newest delivery of each, and of no other', async () => {
    const { made, list, call } = await newWebhookOwner(service)
    const [first, second] = [await made(nobody), await made(nobody)]
    await call('POST', `${first.path}/test`)
    const newest = await call('POST', `${first.path}/test`)
    const [one, other] = await list()
    expect(one?.last_delivery).toEqual(newest.body)
    expect(newest.body).toMatchObject({
      event_type: 'webhook.test',
      attempts: [{ outcome: 'connect_failed' }],
    })
    expect(other).toMatchObject({ id: second.id, last_delivery: null })
  })

  it('stays readable after its deletion, though it is listed no more', async () => {
    const { made, list, call } = await newWebhookOwner(service)
    const { id, path } = await made(nobody)
    await call('DELETE', path)
    expect(await list()).toEqual([])
    const answer = await call('GET', `${WEBHOOKS_PATH}/${id}`)
    expect([answer.status, answer.body]).toMatchObject([200, { id, state: 'deleted', last_delivery: null }])
  })
})
