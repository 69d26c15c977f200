import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newCaller, send } from '../../support/caller.ts'
import { enrolWithPasskey } from '../../support/enrolled.ts'
import { startService, type TestService } from '../../support/service.ts'
import { newWebhookOwner, WEBHOOKS_PATH } from '../../support/webhook-owner.ts'

const URL_1 = 'https://hooks.example.com/in'
const UNKNOWN = `whk_${'0'.repeat(26)}`

/** Every operation on one webhook: method and what follows its id. */
const ON_ONE = [
  ['GET', ''],
  ['DELETE', ''],
  ['POST', '/enable'],
  ['POST', '/rotate'],
  ['POST', '/test'],
  ['GET', '/deliveries'],
] as const

let service: TestService
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
})
afterAll(() => service.close())

describe('another account', () => {
  it.each(ON_ONE)('T55: gets the same 404 from %s …%s as for ids that do not exist', async (method, rest) => {
    const mine = await newWebhookOwner(service)
    const theirs = await newWebhookOwner(service)
    const { id, path } = await theirs.made(URL_1)
    const before = await service.composition.deps.webhooks.find(id)
    const foreign = await mine.call(method, `${path}${rest}`)
    expect(foreign.status).toBe(404)
    expect(foreign.body).toEqual({
      error: 'not_found',
      message: 'There is no such resource, or it is not yours; check the address and its ids.',
    })
    for (const odd of [UNKNOWN, id.toUpperCase(), `${id}%00`, '%7B%22%24ne%22%3Anull%7D', 'key_x']) {
      const answer = await mine.call(method, `${WEBHOOKS_PATH}/${odd}${rest}`)
      expect([answer.status, answer.text], odd).toEqual([404, foreign.text])
    }
    expect(await service.composition.deps.webhooks.find(id)).toEqual(before)
  })

  it('sees nothing of it in its own list', async () => {
    const mine = await newWebhookOwner(service)
    await (await newWebhookOwner(service)).made(URL_1)
    expect(await mine.list()).toEqual([])
  })
})

describe('an API key', () => {
  it('must not see or manage webhooks, not even of its own account', async () => {
    const owner = await newWebhookOwner(service)
    const { path, id } = await owner.made(URL_1)
    const caller = await newCaller(service, { user: owner.user })
    const all: (readonly [string, string])[] = [
      ['GET', WEBHOOKS_PATH],
      ['POST', WEBHOOKS_PATH],
      ...ON_ONE.map(([method, rest]) => [method, `${path}${rest}`] as const),
    ]
    for (const [method, where] of all) {
      const json = where === WEBHOOKS_PATH && method === 'POST' ? { url: URL_1 } : undefined
      const answer = await caller.send(where, { method, ...(json && { json }) })
      expect(answer.status, where).toBe(401)
      const detail = 'Only a signed-in person may do this, and no API key.'
      expect(answer.body).toEqual({ error: 'not_signed_in', message: `Sign in first. ${detail}`, detail })
    }
    expect(await owner.list()).toMatchObject([{ id, state: 'active' }])
  })
})

describe('nobody', () => {
  it('gets 401 everywhere', async () => {
    for (const [method, rest] of [['GET', ''] as const, ['POST', ''] as const]) {
      const answer = await send(service, `${WEBHOOKS_PATH}${rest}`, { method })
      expect([answer.status, answer.body.error]).toEqual([401, 'not_signed_in'])
    }
    for (const [method, rest] of ON_ONE) {
      const answer = await send(service, `${WEBHOOKS_PATH}/${UNKNOWN}${rest}`, { method })
      expect([answer.status, answer.body.error], rest).toEqual([401, 'not_signed_in'])
    }
  })
})

describe('another site in the browser of an owner', () => {
  it('T22: changes nothing: foreign or missing origin, and forms, are refused', async () => {
    const { browser } = await enrolWithPasskey(service, 'ada@example.com')
    const made = await browser.post(WEBHOOKS_PATH, { url: URL_1 })
    expect(made.status).toBe(201)
    const one = `${WEBHOOKS_PATH}/${made.body.webhook.id}`
    const changes = ['', '/rotate', '/test', '/enable'].map((rest) =>
      rest === '' ? WEBHOOKS_PATH : one + rest,
    )
    for (const path of changes) {
      for (const options of [
        { origin: 'https://evil.example' },
        { origin: null },
        { headers: { 'Content-Type': 'text/plain' } },
        { headers: { 'Sec-Fetch-Site': 'cross-site' } },
      ]) {
        const answer = await browser.post(path, { url: URL_1 }, options)
        expect([answer.status, answer.body.error], path).toEqual([403, 'csrf_refused'])
      }
    }
    const deleted = await browser.delete(one, { origin: 'https://evil.example' })
    expect([deleted.status, deleted.body.error]).toEqual([403, 'csrf_refused'])
    const list = await browser.get(WEBHOOKS_PATH)
    expect(list.body.data).toMatchObject([{ id: made.body.webhook.id, previous_secret_valid_until: null }])
  })
})

describe('the body', () => {
  it('must be JSON, well formed and small', async () => {
    const { token } = await newWebhookOwner(service)
    const post = (raw: string, type = 'application/json') =>
      send(service, WEBHOOKS_PATH, { method: 'POST', token, raw, headers: { 'content-type': type } })
    const form = await post('url=https://x', 'application/x-www-form-urlencoded')
    expect([form.status, form.body.error]).toEqual([415, 'unsupported_media_type'])
    const broken = await post('{"url":')
    expect([broken.status, broken.body.error]).toEqual([400, 'invalid_json'])
    const large = await post(JSON.stringify({ url: URL_1, pad: 'x'.repeat(70_000) }))
    expect([large.status, large.body.error]).toEqual([413, 'payload_too_large'])
  })
})

describe('the limit a minute', () => {
  it('counts every change and every look at webhooks and logs against the person', async () => {
    const { made, call } = await newWebhookOwner(service)
    const { path } = await made(URL_1)
    const left = async (method: string, where: string) =>
      (await call(method, where)).headers.get('x-ratelimit-remaining')
    const counted = [
      await left('POST', WEBHOOKS_PATH),
      await left('POST', `${path}/enable`),
      await left('POST', `${path}/rotate`),
      await left('POST', `${path}/test`),
      await left('POST', `/api/v1/deliveries/dlv_${'0'.repeat(26)}/replay`),
      await left('DELETE', path),
      await left('GET', WEBHOOKS_PATH),
      await left('GET', `${path}/deliveries`),
      await left('GET', `/api/v1/approvals/req_${'0'.repeat(26)}/deliveries`),
    ]
    expect(counted).toEqual(['118', '117', '116', '115', '114', '113', '112', '111', '110'])
    const rest = Array.from({ length: 110 }, () => call('POST', `${path}/enable`))
    expect((await Promise.all(rest)).filter(({ status }) => status === 429)).toEqual([])
    expect((await call('GET', `${path}/deliveries`)).status).toBe(429)
    const refused = await call('POST', `${path}/rotate`)
    expect(refused.status).toBe(429)
    expect(refused.body).toEqual({
      error: 'rate limit exceeded',
      message: expect.stringMatching(/^Too many requests; wait \d+ seconds?\.$/),
      retry_after: expect.any(Number),
    })
  })
})
