import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { alter, newCaller, type SendOptions, send, signIn, stored } from '../../support/caller.ts'
import { asMembers } from '../../support/members.ts'
import { addPerson } from '../../support/people.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/approvals/request'
/** In three parts, as a JWT: no route may take it for a session. */
const SECRET = 'a.token.of-more-than-32-characters'
const TOKEN = `internal-${SECRET}`

let service: TestService
beforeAll(async () => {
  service = await startService({ env: { INTERNAL_SERVICE_TOKEN: SECRET } })
})
afterAll(() => service.close())

const as = (email: string, path: string, options: SendOptions = {}) =>
  send(service, path, { token: TOKEN, headers: { 'X-Approver-Email': email }, ...options })
const create = (email: string, json: unknown = { action: 'Deploy' }) =>
  as(email, PATH, { method: 'POST', json })

describe('the internal token with X-Approver-Email', () => {
  it("makes a live request in the named user's own account, which only that user decides", async () => {
    const user = await addPerson(service, 'named@example.com')
    const other = await addPerson(service, 'colleague@example.com')
    const policy = { approvers: [other.id, user.id], quorum: 2, passkey_only: false }
    await alter(service, 'accounts', user.account_id, { policy, members: asMembers(policy.approvers) })
    const made = await create('named@example.com')
    expect(made.status).toBe(201)
    expect(Object.keys(made.body).sort()).toEqual([
      'action',
      'created_at',
      'expires_at',
      'id',
      'metadata',
      'review_url',
      'status',
    ])
    expect(await stored(service, 'requests').findOne({ _id: String(made.body.id) })).toMatchObject({
      account_id: user.account_id,
      requirement: { quorum: 1, approvers: [{ user_id: user.id }] },
    })
  })

  it("uses the named user's default TTL", async () => {
    const user = await addPerson(service, 'slow@example.com')
    await alter(service, 'users', user.id, { default_ttl_seconds: 4_321 })
    const { body } = await create('slow@example.com')
    expect(Date.parse(String(body.expires_at)) - Date.parse(String(body.created_at))).toBe(4_321_000)
  })

  it('compares addresses in one spelling: case and blanks do not matter', async () => {
    const user = await addPerson(service, 'mixed@example.com')
    const made = await create('  MiXed@Example.COM ')
    expect(made.status).toBe(201)
    const document = await stored(service, 'requests').findOne({ _id: String(made.body.id) })
    expect(document?.account_id).toBe(user.account_id)
  })

  it.each(['utf8', 'latin1'] as const)(
    'knows an address with other letters, sent as %s',
    async (encoding) => {
      const user = await addPerson(service, `jürgen.${encoding}@example.com`)
      const made = await create(Buffer.from(user.email, encoding).toString('latin1'))
      expect(made.status).toBe(201)
      const document = await stored(service, 'requests').findOne({ _id: String(made.body.id) })
      expect(document?.account_id).toBe(user.account_id)
    },
  )

  it('reads, lists, waits for and reminds of what it made, through one pseudo-key of the account', async () => {
    await addPerson(service, 'busy@example.com')
    const made = await Promise.all([create('busy@example.com'), create('busy@example.com')])
    const id = String(made[0]?.body.id)
    expect((await as('busy@example.com', `/api/v1/approvals/${id}`)).body).toMatchObject({
      status: 'pending',
    })
    expect((await as('busy@example.com', '/api/v1/approvals')).body.data).toHaveLength(2)
    const waited = await as('busy@example.com', `/api/v1/approvals/${id}/wait?timeout=1`)
    expect(waited.body).toMatchObject({ id, status: 'pending' })
    const reminded = await as('busy@example.com', `/api/v1/approvals/${id}/remind`, { method: 'POST' })
    expect(reminded.body).toMatchObject({ ok: true, request_id: id })
    const theirs = { _id: { $in: made.map(({ body }) => String(body.id)) } }
    const requests = await stored(service, 'requests').find(theirs).toArray()
    expect(new Set(requests.map(({ api_key_id }) => api_key_id)).size).toBe(1)
  })

  it('T55: reaches nothing of another user, and a key reaches nothing of what it made', async () => {
    const owner = await newCaller(service)
    await addPerson(service, 'stranger@example.com')
    const mine = String((await create(owner.user.email)).body.id)
    const keyed = await owner.createdId()
    for (const [email, id] of [
      ['stranger@example.com', mine],
      ['stranger@example.com', keyed],
    ] as const) {
      const answer = await as(email, `/api/v1/approvals/${id}`)
      expect([answer.status, answer.body.error]).toEqual([404, 'not_found'])
    }
    expect((await owner.read(mine)).status).toBe(404)
  })

  it('counts against limits and quota of that account alone', async () => {
    const user = await addPerson(service, 'limited@example.com')
    await addPerson(service, 'free@example.com')
    await alter(service, 'accounts', user.account_id, { monthly_quota: 1 })
    const first = await create('limited@example.com')
    expect(first.headers.get('x-ratelimit-remaining')).toBe('59')
    expect((await create('limited@example.com')).body.error).toBe('quota_exceeded')
    const free = await create('free@example.com')
    expect([free.status, free.headers.get('x-ratelimit-remaining')]).toEqual([201, '59'])
  })

  it('has a webhook secret per account, and is listed for the owner as a key that cannot be revoked', async () => {
    const user = await addPerson(service, 'hooks@example.com')
    const secret = (await as('hooks@example.com', '/api/v1/account/webhook-secret')).body
      .webhook_signing_secret
    expect(secret).toMatch(/^[0-9a-f]{64}$/)
    const token = await signIn(service, user)
    const listed = await send(service, '/api/v1/account/webhook-secret', { token })
    expect(listed.body.keys).toMatchObject([{ key_prefix: 'internal', webhook_signing_secret: secret }])
    const key = await stored(service, 'api_keys').findOne({ account_id: user.account_id })
    const path = `/api/v1/account/api-keys/${key?._id}`
    expect((await send(service, path, { token, method: 'DELETE' })).status).toBe(404)
    expect((await send(service, '/api/v1/account/api-keys', { token })).body.data).toEqual([])
  })

  it('T47: leaves an audit entry with the caller address for every use', async () => {
    const user = await addPerson(service, 'audited@example.com')
    const id = String((await create('audited@example.com')).body.id)
    await as('audited@example.com', `/api/v1/approvals/${id}`)
    const waiting = await stored(service, 'audit_inbox')
      .find({ 'audit.account_id': user.account_id })
      .toArray()
    expect(waiting.flatMap((document) => document.audit)).toMatchObject([
      { type: 'internal_token.used', subject: user.id, actor: { kind: 'internal', address: '127.0.0.1' } },
      { type: 'internal_token.used', subject: user.id, actor: { kind: 'internal', address: '127.0.0.1' } },
    ])
    expect(await stored(service, 'requests').findOne({ _id: id })).toMatchObject({
      audit: [{ type: 'approval.created', actor: { kind: 'internal', address: '127.0.0.1' } }],
    })
  })

  it('reads, waits for and reminds of what any key of the named account made, and of no other account', async () => {
    const owner = await newCaller(service, { user: await addPerson(service, 'reached@example.com') })
    const stranger = await newCaller(service)
    const [id, foreign] = [await owner.createdId(), await stranger.createdId()]
    const ask = async (of: string, rest: string, method = 'GET') =>
      as('reached@example.com', `/api/v1/approvals/${of}${rest}`, { method })
    expect((await ask(id, '')).body).toEqual((await owner.read(id)).body)
    expect((await ask(id, '/wait?timeout=1')).status).toBe(200)
    expect((await ask(id, '/deliveries')).body).toEqual(
      (await owner.send(`/api/v1/approvals/${id}/deliveries`)).body,
    )
    expect((await ask(id, '/remind', 'POST')).body).toMatchObject({ ok: true, request_id: id })
    // What it did not make it neither withdraws nor uses up.
    for (const [of, rest, method] of [
      [id, '/cancel', 'POST'],
      [id, '/consume', 'POST'],
      [foreign, '', 'GET'],
      [foreign, '/deliveries', 'GET'],
      [foreign, '/remind', 'POST'],
    ] as const)
      expect([rest, (await ask(of, rest, method)).status]).toEqual([rest, 404])
  })

  it('can never decide', async () => {
    await addPerson(service, 'decider@example.com')
    const id = String((await create('decider@example.com')).body.id)
    for (const path of [`${id}/decision`, `${id}/decision/options`]) {
      const json = { decision: 'approved', totp: '123456' }
      const answer = await as('decider@example.com', `/api/v1/approvals/${path}`, { method: 'POST', json })
      expect([answer.status, answer.body.error]).toEqual([401, 'not_signed_in'])
    }
  })

  it('may not send sandbox fields', async () => {
    await addPerson(service, 'dry@example.com')
    const answer = await create('dry@example.com', { action: 'x', sandbox_decision: 'approved' })
    expect([answer.status, answer.body.error]).toEqual([400, 'sandbox_fields_require_sandbox_key'])
  })
})

describe('refusals of the internal token', () => {
  it('400 approver_email_required without the header, or with a blank one', async () => {
    for (const headers of [{}, { 'X-Approver-Email': '  ' }]) {
      const answer = await send(service, PATH, {
        method: 'POST',
        json: { action: 'x' },
        token: TOKEN,
        headers,
      })
      expect(answer.status).toBe(400)
      expect(answer.body).toEqual({ error: 'approver_email_required', message: expect.any(String) })
    }
  })

  it.each([
    ['an unknown address', 'nobody@example.com'],
    ['no address at all', 'nobody'],
    ['an operator', '{"$ne":null}'],
    ['two addresses', 'a@example.com, b@example.com'],
    ['a pattern', '.*@example.com'],
    ['a very long address', `${'a'.repeat(5_000)}@example.com`],
  ])('404 approver_not_found for %s', async (_what, email) => {
    const answer = await create(email)
    expect(answer.status).toBe(404)
    expect(answer.body).toEqual({ error: 'approver_not_found', message: expect.any(String) })
  })

  it.each(['internal-', 'internal-undefined', `${TOKEN}x`, TOKEN.slice(0, -1), TOKEN.toUpperCase(), SECRET])(
    '401 for %s',
    async (token) => {
      const answer = await send(service, PATH, {
        method: 'POST',
        json: { action: 'x' },
        token,
        headers: { 'X-Approver-Email': 'named@example.com' },
      })
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid or missing API key'])
    },
  )
})

describe('a token shorter than 32 characters', () => {
  it('T47: leaves the feature off', async () => {
    const short = 'x'.repeat(31)
    const off = await startService({ env: { INTERNAL_SERVICE_TOKEN: short } })
    try {
      await addPerson(off, 'named@example.com')
      const headers = { 'X-Approver-Email': 'named@example.com' }
      for (const token of [`internal-${short}`, 'internal-undefined', 'internal-null', 'internal-false']) {
        const answer = await send(off, PATH, { method: 'POST', json: { action: 'x' }, token, headers })
        expect([answer.status, answer.body.error]).toEqual([401, 'invalid or missing API key'])
      }
    } finally {
      await off.close()
    }
  })
})
