import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resetPerson } from '../../../src/flow/joining/invite-user.ts'
import { auditOf } from '../../support/audit.ts'
import { stored } from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'
import { newWebhookOwner, WEBHOOKS_PATH } from '../../support/webhook-owner.ts'

const URL_1 = 'https://hooks.example.com/in'
const SUBSCRIBABLE = [
  'approval.created',
  'approval.approved',
  'approval.rejected',
  'approval.expired',
  'approval.reminded',
  'bootstrap.requested',
  'bootstrap.approved',
  'key.created',
  'key.revoked',
  'delivery.exhausted',
  'chat.unavailable',
  'chat.restored',
]

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const types = (document: Record<string, unknown> | null) =>
  Array.from(Object(document?.audit), (entry) => Object(entry).type)

describe('201', () => {
  it('answers the webhook and its secret: all events without a choice', async () => {
    const { create } = await newWebhookOwner(service)
    const { status, headers, body } = await create({ url: 'https://Hooks.Example.com:443/in?a=1' })
    expect(status).toBe(201)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      webhook: {
        id: expect.stringMatching(/^whk_[0-9a-hjkmnp-tv-z]{26}$/),
        url: 'https://hooks.example.com/in?a=1',
        events: SUBSCRIBABLE,
        state: 'active',
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        disabled_at: null,
        previous_secret_valid_until: null,
      },
      secret: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  })

  it('keeps a choice of events, each once', async () => {
    const { create } = await newWebhookOwner(service)
    const events = ['approval.approved', 'key.revoked', 'approval.approved']
    const { body } = await create({ url: URL_1, events })
    expect(Object(body.webhook).events).toEqual(['approval.approved', 'key.revoked'])
  })

  it('gives every webhook a secret of its own, also at the same address', async () => {
    const { made } = await newWebhookOwner(service)
    const secrets = [await made(URL_1), await made(URL_1)].map(({ secret }) => secret)
    expect(new Set(secrets).size).toBe(2)
  })

  it('T58: ignores everything else that is posted', async () => {
    const { user, create } = await newWebhookOwner(service)
    const forged = { id: 'whk_x', account_id: 'acc_x', state: 'deleted', secret: 'a', sealed_secret: 'b' }
    const { status, body } = await create({ url: URL_1, ...forged, host: 'elsewhere', outbox_token: 'evt_x' })
    expect(status).toBe(201)
    expect(body.ignored_fields).toEqual([...Object.keys(forged), 'host', 'outbox_token'].sort())
    const document = await stored(service, 'webhooks').findOne({ _id: Object(body.webhook).id })
    expect(document).toMatchObject({
      account_id: user.account_id,
      host: 'hooks.example.com',
      state: 'active',
      sealed_secret: expect.stringMatching(/^v1\./),
    })
    expect(document?.outbox_token).not.toBe('evt_x')
  })

  it('leaves webhook.created in its own document, with who did it', async () => {
    const { user, made } = await newWebhookOwner(service)
    const { id } = await made(URL_1)
    const document = await stored(service, 'webhooks').findOne({ _id: id })
    const actor = { kind: 'user', id: user.id, address: '127.0.0.1' }
    expect(document?.audit).toMatchObject([
      { type: 'webhook.created', subject: id, account_id: user.account_id, actor },
    ])
  })
})

describe('400', () => {
  it('says `url required` without an address', async () => {
    const { create } = await newWebhookOwner(service)
    for (const json of [{}, { events: ['key.created'] }]) {
      const { status, body } = await create(json)
      expect(status).toBe(400)
      expect(body).toEqual({ error: 'url required', message: 'Send the field url.', field: 'url' })
    }
  })

  it.each([
    ['url', { url: 5 }],
    ['url', { url: '' }],
    ['url', { url: 'hooks.example.com' }],
    ['url', { url: 'ftp://hooks.example.com/' }],
    ['url', { url: 'https://user:secret@hooks.example.com/' }],
    ['url', { url: 'https://127.0.0.1/' }],
    ['url', { url: 'https://localhost/' }],
    ['url', { url: 'https://169.254.169.254/latest/meta-data/' }],
    ['url', { url: `https://hooks.example.com/${'x'.repeat(2048)}` }],
    ['url', { url: { $ne: null } }],
    ['events', { url: URL_1, events: [] }],
    ['events', { url: URL_1, events: 'approval.approved' }],
    ['events.0', { url: URL_1, events: ['approval.decided'] }],
    ['events.1', { url: URL_1, events: ['key.created', 'webhook.test'] }],
    ['events.0', { url: URL_1, events: [{ $gt: '' }] }],
    ['events', { url: URL_1, events: Array.from({ length: SUBSCRIBABLE.length + 1 }, () => 'key.created') }],
  ])('refuses %s in %o', async (field, json) => {
    const { create, list } = await newWebhookOwner(service)
    const { status, body } = await create(json)
    expect([status, body.error, body.field]).toEqual([400, 'invalid_field', field])
    expect(String(body.detail)).not.toBe('')
    expect(await list()).toEqual([])
  })

  it("T11: refuses the service's own address", async () => {
    const { create } = await newWebhookOwner(service)
    const { status, body } = await create({ url: `${service.url}/api/v1/approvals/request` })
    expect([status, body.error, body.field]).toEqual([400, 'invalid_field', 'url'])
  })
})

describe('200', () => {
  it('lists what was not deleted, oldest first, in the shape of every list', async () => {
    const { made, call } = await newWebhookOwner(service)
    const one = await made('https://one.example.com/')
    const two = await made('https://two.example.com/', ['key.created'])
    const three = await made('https://three.example.com/')
    await call('DELETE', two.path)
    const { status, body } = await call('GET', WEBHOOKS_PATH)
    expect(status).toBe(200)
    expect(body).toMatchObject({ data: [{ id: one.id }, { id: three.id }], next_cursor: null })
  })

  it('deletes for good: the secret is gone from the store, the log stays', async () => {
    const { made, call } = await newWebhookOwner(service)
    const { id, path } = await made(URL_1)
    await call('POST', `${path}/rotate`)
    const deleted = await call('DELETE', path)
    expect(deleted.status).toBe(200)
    expect(deleted.body).toEqual({
      ok: true,
      webhook: expect.objectContaining({ id, state: 'deleted', previous_secret_valid_until: null }),
    })
    const document = await stored(service, 'webhooks').findOne({ _id: id })
    expect(document).toMatchObject({ state: 'deleted', sealed_secret: '' })
    expect(document).not.toHaveProperty('previous_secret')
    expect((await call('GET', `${path}/deliveries`)).body).toEqual({ data: [], next_cursor: null })
    for (const [method, rest] of [
      ['DELETE', ''],
      ['POST', '/enable'],
      ['POST', '/rotate'],
      ['POST', '/test'],
    ] as const) {
      const again = await call(method, `${path}${rest}`)
      expect([again.status, again.body.error], rest).toEqual([404, 'not_found'])
    }
    expect(types(document)).toEqual(['webhook.created', 'webhook.rotated', 'webhook.deleted'])
  })

  it('switches on what a 410 switched off; what is on stays on and records nothing', async () => {
    const { made, call } = await newWebhookOwner(service)
    const { id, path } = await made(URL_1)
    const before = await call('POST', `${path}/enable`)
    expect(before.body).toMatchObject({ ok: true, webhook: { id, state: 'active' } })
    const { webhooks, clock } = service.composition.deps
    const at = clock.now()
    const entry = { eid: 'evt_x', type: 'webhook.disabled', at, actor: { kind: 'service' } } as const
    await webhooks.disable(id, at, { ...entry, subject: id })
    const off = await call('GET', WEBHOOKS_PATH)
    expect(off.body.data).toMatchObject([{ id, state: 'disabled', disabled_at: at.toISOString() }])
    const on = await call('POST', `${path}/enable`)
    expect(on.status).toBe(200)
    expect(on.body).toMatchObject({ ok: true, webhook: { id, state: 'active', disabled_at: null } })
    const document = await stored(service, 'webhooks').findOne({ _id: id })
    expect(types(document)).toEqual(['webhook.created', 'webhook.disabled', 'webhook.enabled'])
  })
})

it.each([
  ['webhooks', WEBHOOKS_PATH, { url: URL_1 }, { state: 'deleted' }, 'webhook.deleted'],
  [
    'api_keys',
    '/api/v1/account/api-keys',
    { name: 'theirs' },
    { revoked_at: expect.any(Date) },
    'key.revoked',
  ],
] as const)(
  'T23: one of the %s that a reset meets half made is undone',
  async (kind, path, body, gone, type) => {
    const { deps } = service.composition
    const owner = await newWebhookOwner(service)
    const { account_id } = owner.user
    const store: { insert: (...args: never[]) => Promise<unknown> } =
      kind === 'webhooks' ? deps.webhooks : deps.apiKeys
    const { insert } = store
    store.insert = async (...args) => {
      await resetPerson(deps, { email: owner.user.email }, { kind: 'cli' })
      return insert(...args)
    }
    const answer = await owner.call('POST', path, body).finally(() => {
      store.insert = insert
    })
    expect([answer.status, answer.body.error]).toEqual([401, 'not_signed_in'])
    const document = await stored(service, kind).findOne({ account_id })
    expect(document).toMatchObject(gone)
    expect(await auditOf(service, { type, subject: String(document?._id) })).toMatchObject([
      { actor: { kind: 'service' } },
    ])
  },
)

describe('409', () => {
  it('refuses a 21st webhook, also of parallel calls; deleted ones and other accounts do not count, disabled ones do', async () => {
    const { made, create, call } = await newWebhookOwner(service)
    const first = await made(URL_1)
    for (let n = 1; n < 15; n += 1) await made(`${URL_1}/${n}`)
    const last = await Promise.all(Array.from({ length: 12 }, () => create({ url: URL_1 })))
    expect(last.filter(({ status }) => status === 201)).toHaveLength(5)
    expect(last.filter(({ body }) => body.error === 'webhook_limit')).toHaveLength(7)
    const { webhooks, clock } = service.composition.deps
    const at = clock.now()
    const entry = { eid: 'evt_y', type: 'webhook.disabled', at, actor: { kind: 'service' } } as const
    await webhooks.disable(first.id, at, { ...entry, subject: first.id })
    const refused = await create({ url: URL_1 })
    expect(refused.status).toBe(409)
    expect(refused.body).toEqual({
      error: 'webhook_limit',
      message: 'The account has reached the limit of 20 webhooks; delete one first.',
    })
    expect((await (await newWebhookOwner(service)).create({ url: URL_1 })).status).toBe(201)
    await call('DELETE', first.path)
    expect((await create({ url: URL_1 })).status).toBe(201)
    expect((await create({ url: URL_1 })).body.error).toBe('webhook_limit')
  })
})
