import { createECDH } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cookieName } from '../../../src/domain/cookie-name.ts'
import { assertWith, type EnrolledPerson, enrolWithPasskey, passkeyProof } from '../../support/enrolled.ts'
import { createHttpClient, type HttpClient } from '../../support/http-client.ts'
import { addKey } from '../../support/people.ts'
import { startService, type TestService } from '../../support/service.ts'

const NOT_SIGNED_IN = { error: 'not_signed_in', message: 'Sign in first.' }
const CSRF = {
  error: 'csrf_refused',
  message: 'The request did not come from a page of this service; open the page again and retry.',
}
const HOURS = 3_600_000
const INTERNAL = `internal-${'t'.repeat(40)}`

let service: TestService
let ada: EnrolledPerson
let later = 0
beforeAll(async () => {
  service = await startService({
    env: { TRUST_PROXY: '1', INTERNAL_SERVICE_TOKEN: INTERNAL },
    localTime: () => Date.now() + later,
  })
  ada = await enrolWithPasskey(service, 'ada@example.com')
})
afterAll(() => service.close())

async function signIn(browser: HttpClient = createHttpClient(service.url)) {
  const { options } = (await browser.post('/api/v1/session/passkey/options', {})).body
  const answer = await browser.post('/api/v1/session/passkey', {
    credential: assertWith(ada, service, options),
  })
  expect(answer.status).toBe(200)
  return { browser, token: String(answer.body.token) }
}

const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } })

describe('a session', () => {
  it('tells that a passkey of its person is suspended', async () => {
    const { browser, userId } = await enrolWithPasskey(service, 'eve@example.com')
    const told = async () => (await browser.get('/api/v1/session')).body.user
    expect(await told()).toMatchObject({ has_passkey: true, has_suspended_passkey: false })
    const users = service.composition.connection.collection<{ _id: string }>('users')
    await users.updateOne({ _id: userId }, { $set: { 'passkeys.0.suspended_at': new Date() } })
    expect(await told()).toMatchObject({ has_passkey: false, has_suspended_passkey: true })
  })

  it('is read from a bearer token by the same rule for blanks as an API key', async () => {
    const { token } = await signIn()
    const user = await service.composition.deps.users.find(ada.userId)
    const { raw_key } = await addKey(service, user ?? fail())
    const statuses = async (path: string, credential: string) => {
      const forms = [
        `Bearer ${credential}`,
        `bearer   ${credential}`,
        `Bearer${credential}`,
        `Bearer\t${credential}`,
      ]
      const sent = forms.map((Authorization) =>
        fetch(`${service.url}${path}`, { headers: { Authorization } }),
      )
      return (await Promise.all(sent)).map(({ status }) => status)
    }
    expect(await statuses('/api/v1/session', token)).toEqual([200, 200, 401, 401])
    expect(await statuses('/api/v1/approvals', raw_key)).toEqual([200, 200, 401, 401])
  })

  it('is refused without any credential, and with what is no session', async () => {
    const { raw_key } = await addKey(
      service,
      (await service.composition.deps.users.find(ada.userId)) ?? fail(),
    )
    const stranger = createHttpClient(service.url)
    const { browser } = await signIn()
    for (const client of [stranger, browser])
      for (const token of [raw_key, INTERNAL, 'x', 'a.b.c']) {
        const answer = await client.get('/api/v1/session', bearer(token))
        const detail = 'Only a signed-in person may do this, and no API key.'
        const told = token === raw_key && { message: `${NOT_SIGNED_IN.message} ${detail}`, detail }
        expect([answer.status, answer.body]).toEqual([401, { ...NOT_SIGNED_IN, ...told }])
      }
    const none = await stranger.get('/api/v1/session')
    expect([none.status, none.body]).toEqual([401, NOT_SIGNED_IN])
    const asked = await fetch(`${service.url}/api/v1/session?optional=true`)
    expect([asked.status, await asked.text()]).toEqual([204, ''])
    expect((await browser.get('/api/v1/session?optional=true')).status).toBe(200)
    stranger.cookies.set(cookieName('countersign', service.url), 'A'.repeat(43))
    expect((await stranger.get('/api/v1/session')).status).toBe(401)
  })

  it('ends on the server: cookie and token are dead at once', async () => {
    const { browser, token } = await signIn()
    const stolen = browser.copy()
    const answer = await browser.delete('/api/v1/session')
    expect([answer.status, answer.body]).toEqual([200, { ok: true }])
    expect(browser.cookies.has(cookieName('countersign', service.url))).toBe(false)
    expect((await stolen.get('/api/v1/session')).body).toEqual(NOT_SIGNED_IN)
    expect((await stolen.get('/api/v1/session', bearer(token))).body).toEqual(NOT_SIGNED_IN)
  })

  it('gives a new token for the cookie, and never for a token alone', async () => {
    const { browser, token } = await signIn()
    const fresh = await browser.post('/api/v1/session/refresh', {})
    expect(fresh.body).toMatchObject({ token_type: 'Bearer', expires_in: 900, user: { id: ada.userId } })
    expect(
      (await createHttpClient(service.url).get('/api/v1/session', bearer(fresh.body.token))).status,
    ).toBe(200)
    const self = await createHttpClient(service.url).post('/api/v1/session/refresh', {}, bearer(token))
    expect([self.status, self.body]).toEqual([401, NOT_SIGNED_IN])
  })

  it('ends by its cookie without a Content-Type, which a DELETE without a body has none of', async () => {
    const { browser } = await signIn()
    const name = cookieName('countersign', service.url)
    const cookie = `${name}=${browser.cookies.get(name)}`
    const end = (headers: Record<string, string>) =>
      fetch(`${service.url}/api/v1/session`, { method: 'DELETE', headers: { Cookie: cookie, ...headers } })
    expect((await end({})).status).toBe(403)
    expect((await end({ Origin: 'https://evil.example' })).status).toBe(403)
    expect((await end({ Origin: service.url })).status).toBe(200)
    expect((await browser.get('/api/v1/session')).body).toEqual(NOT_SIGNED_IN)
  })

  it('T34: makes keys, changes where news goes and reads secrets only within 15 minutes of a proof, and says how to give one', async () => {
    const p256dh = createECDH('prime256v1').generateKeys('base64url')
    const subscription = { endpoint: 'https://push.example.com/x', keys: { p256dh, auth: 'A'.repeat(22) } }
    const asks = [
      ['post', '/api/v1/account/api-keys', { name: 'bot' }, 201],
      ['post', '/api/v1/account/webhooks', { url: 'https://example.com/hook' }, 201],
      ['post', `/api/v1/account/webhooks/whk_${'0'.repeat(26)}/enable`, {}, 404],
      ['delete', `/api/v1/account/webhooks/whk_${'0'.repeat(26)}`, undefined, 404],
      ['get', '/api/v1/account/webhook-secret', undefined, 200],
      ['post', '/api/v1/me/push', { subscription, name: 'laptop' }, 201],
    ] as const
    const tried = async ({ browser, token }: Awaited<ReturnType<typeof signIn>>) => {
      const found = []
      for (const options of [{}, bearer(token)])
        for (const [method, path, body] of asks)
          found.push(
            method === 'post'
              ? await browser.post(path, body, options)
              : await browser[method](path, options),
          )
      return found
    }
    const expected = [...asks, ...asks].map(([, , , status]) => status)
    try {
      later = 0
      const old = await signIn()
      later = 0.24 * HOURS
      expect((await tried(old)).map(({ status }) => status)).toEqual(expected)
      later = 0.26 * HOURS
      const { body: renewed } = await old.browser.post('/api/v1/session/refresh', {})
      const stale = { ...old, token: renewed.token }
      for (const { status, body } of await tried(stale)) {
        expect([status, body.error]).toEqual([403, 'proof_required'])
        expect(body.detail).toMatch(/step-up\/options .* session\.prove, .* POST \/api\/v1\/session\/proof/)
      }
      const bare = await old.browser.post('/api/v1/session/proof', {})
      expect([bare.status, bare.body.error]).toEqual([403, 'proof_required'])
      const wrong = await passkeyProof({ ...ada, browser: old.browser }, service, 'totp.add')
      const refused = await old.browser.post('/api/v1/session/proof', { proof: wrong })
      expect([refused.status, refused.body.error]).toEqual([400, 'challenge_invalid'])
      const proof = await passkeyProof({ ...ada, browser: old.browser }, service, 'session.prove')
      const proven = await old.browser.post('/api/v1/session/proof', { proof })
      expect(proven.body).toEqual({ ok: true, proven_until: expect.any(String) })
      expect(Date.parse(proven.body.proven_until) - Date.now() - later).toBeGreaterThan(14 * 60_000)
      expect((await tried(stale)).map(({ status }) => status)).toEqual(expected)
    } finally {
      later = 0
    }
  })

  it('T23: gets a new id at every sign-in, and the old one is dead', async () => {
    const { browser, token } = await signIn()
    const planted = browser.copy()
    const before = browser.cookies.get(cookieName('countersign', service.url))
    await signIn(browser)
    expect(browser.cookies.get(cookieName('countersign', service.url))).not.toBe(before)
    expect((await planted.get('/api/v1/session')).body).toEqual(NOT_SIGNED_IN)
    expect((await planted.get('/api/v1/session', bearer(token))).body).toEqual(NOT_SIGNED_IN)
    expect((await browser.get('/api/v1/session')).status).toBe(200)
  })

  it('T23: dies after 12 idle hours, not while used, and after 7 days in any case', async () => {
    const { browser, token } = await signIn()
    const idle = await signIn()
    try {
      for (let step = 1; step <= 3; step += 1) {
        later = step * 11 * HOURS
        expect((await browser.get('/api/v1/session')).status).toBe(200)
      }
      expect((await idle.browser.get('/api/v1/session')).body).toEqual(NOT_SIGNED_IN)
      expect((await browser.get('/api/v1/session', bearer(token))).body).toEqual(NOT_SIGNED_IN)
      for (let hours = 40; hours < 7 * 24; hours += 10) {
        later = hours * HOURS
        await service.composition.deps.sessions.touch(
          { id: (await sessionId(browser)) ?? fail(), last_seen_at: new Date(0) },
          new Date(Date.now() + later),
        )
      }
      expect((await browser.get('/api/v1/session')).status).toBe(200)
      later = 7 * 24 * HOURS + 1000
      expect((await browser.get('/api/v1/session')).body).toEqual(NOT_SIGNED_IN)
    } finally {
      later = 0
    }
  })
})

describe('a page that looks again by itself', () => {
  it('T23: does not keep a forgotten session alive', async () => {
    const { browser } = await signIn()
    const polled = ['/api/v1/me/pending', `/api/v1/approvals/req_${'0'.repeat(26)}/review`]
    try {
      later = 11 * HOURS
      const answers = []
      for (const path of polled) answers.push((await browser.get(path)).status)
      expect(answers).toEqual([200, 404])
      later = 12 * HOURS + 1000
      expect((await browser.get('/api/v1/session')).body).toEqual(NOT_SIGNED_IN)
    } finally {
      later = 0
    }
  })
})

describe('T22: what another site makes a browser send is refused', () => {
  it.each<[string, Parameters<HttpClient['post']>[2]]>([
    ['from another origin', { origin: 'https://evil.example' }],
    ['from the null origin of a sandboxed frame', { origin: 'null' }],
    ['from a look-alike origin', { origin: 'http://localhost.evil.example' }],
    ['without Origin', { origin: null }],
    ['as text/plain', { headers: { 'Content-Type': 'text/plain' }, raw: '{"operation":"passkey.add"}' }],
    [
      'as a form',
      { headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, raw: 'operation=passkey.add' },
    ],
    ['marked cross-site', { headers: { 'Sec-Fetch-Site': 'cross-site' } }],
  ])('%s', async (_name, options) => {
    const { browser } = await signIn()
    const body = { operation: 'passkey.add' }
    const answer = await browser.post('/api/v1/me/step-up/options', body, options)
    expect([answer.status, answer.body]).toEqual([403, CSRF])
    expect((await browser.post('/api/v1/me/step-up/options', body)).status).toBe(200)
  })

  it('also at sign-out and sign-in, while a token needs no Origin and reading needs none', async () => {
    const { browser, token } = await signIn()
    const foreign = { origin: 'https://evil.example' }
    expect((await browser.delete('/api/v1/session', foreign)).body).toEqual(CSRF)
    expect((await browser.post('/api/v1/session/passkey/options', {}, foreign)).body).toEqual(CSRF)
    expect(
      (await createHttpClient(service.url).post('/api/v1/session/passkey/options', {}, foreign)).body,
    ).toEqual(CSRF)
    expect((await browser.get('/api/v1/session', foreign)).status).toBe(200)
    const plain = createHttpClient(service.url)
    const body = { operation: 'passkey.add' }
    const byToken = await plain.post('/api/v1/me/step-up/options', body, { origin: null, ...bearer(token) })
    expect(byToken.status).toBe(200)
  })
})

async function sessionId(browser: HttpClient): Promise<string | undefined> {
  const { deps } = service.composition
  const hash = deps.vault.hash('session', browser.cookies.get(cookieName('countersign', service.url)) ?? '')
  return (await deps.sessions.findByToken(hash, deps.clock.now()))?.id
}

function fail(): never {
  throw new Error('missing')
}
