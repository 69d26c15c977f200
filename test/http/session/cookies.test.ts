import { expect, it } from 'vitest'
import { inviteUser } from '../../../src/flow/joining/invite-user.ts'
import { linkToken } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { useService } from '../../support/service.ts'
import { createSoftAuthenticator } from '../../support/soft-authenticator.ts'

const HTTPS = 'https://approvals.example.com'

it('on https the cookies are __Host-, Secure, HttpOnly and Lax, and only our own origin may use them', async () => {
  const service = await useService({ env: { BASE_URL: HTTPS } })
  const { link } = await inviteUser(service.composition.deps, { email: 'ada@example.com' }, { kind: 'cli' })
  expect(link.url).toMatch(/^https:\/\/approvals\.example\.com\/enroll#/)
  const token = linkToken(link.url)
  const browser = createHttpClient(service.url)
  const ours = { origin: HTTPS }
  const { options } = (await browser.post('/api/v1/enrollment/passkey/options', { token }, ours)).body
  expect(options.rp.id).toBe('approvals.example.com')
  const credential = createSoftAuthenticator().register(options, { origin: HTTPS })
  const body = { token, passkey_name: 'key', credential }
  const answer = await browser.post('/api/v1/enrollment/passkey', body, ours)
  expect(answer.status).toBe(201)
  const attributes = (name: string) =>
    new RegExp(`^${name}=[\\w-]{43}; Max-Age=\\d+; Path=/; HttpOnly; Secure; SameSite=Lax$`)
  expect(answer.headers.getSetCookie()).toEqual([
    expect.stringMatching(attributes('__Host-countersign')),
    expect.stringMatching(attributes('__Host-countersign-device')),
  ])
  expect((await browser.get('/api/v1/session')).status).toBe(200)
  expect((await browser.post('/api/v1/session/refresh', {}, ours)).status).toBe(200)
  // The address the service listens on is not its origin.
  const direct = await browser.post('/api/v1/session/refresh', {})
  expect([direct.status, direct.body.error]).toEqual([403, 'csrf_refused'])
  const planted = createHttpClient(service.url)
  planted.cookies.set('countersign', browser.cookies.get('__Host-countersign') ?? '')
  expect((await planted.get('/api/v1/session')).status).toBe(401)
})

it('two development services on one host keep their cookies apart, as a browser ignores the port', async () => {
  const jar = new Map<string, string>()
  const browsers = await Promise.all(
    ['ada@example.com', 'bob@example.com'].map(async (email) => {
      const service = await useService()
      const { link } = await inviteUser(service.composition.deps, { email }, { kind: 'cli' })
      const browser = createHttpClient(service.url, jar)
      return { service, browser, token: linkToken(link.url), email }
    }),
  )
  for (const { service, browser, token } of browsers) {
    const { options } = (await browser.post('/api/v1/enrollment/passkey/options', { token })).body
    const credential = createSoftAuthenticator().register(options, { origin: service.url })
    const body = { token, passkey_name: 'key', credential }
    expect((await browser.post('/api/v1/enrollment/passkey', body)).status).toBe(201)
  }
  for (const { browser, email } of browsers)
    expect((await browser.get('/api/v1/session')).body.user).toMatchObject({ email })
  const ports = browsers.map(({ service }) => service.port)
  const names = ports.flatMap((port) => [`countersign-${port}`, `countersign-device-${port}`])
  expect([...jar.keys()].sort()).toEqual(names.sort())
})

it('nothing secret of sign-in and enrolment reaches the log (T14)', async () => {
  const service = await useService()
  const token = linkToken(service.setupUrl ?? '')
  const browser = createHttpClient(service.url)
  const profile = { token, email: 'ada@example.com', name: 'Ada' }
  const { options } = (await browser.post('/api/v1/enrollment/passkey/options', profile)).body
  const { secret } = (await browser.post('/api/v1/enrollment/totp/options', profile)).body
  const credential = createSoftAuthenticator().register(options, { origin: service.url })
  const answer = await browser.post('/api/v1/enrollment/passkey', { token, passkey_name: 'key', credential })
  expect(answer.status).toBe(201)
  await browser.post('/api/v1/session/totp', { email: 'ada@example.com', code: '918273' })
  const log = JSON.stringify(service.logged)
  expect(log).toContain('/api/v1/enrollment/passkey')
  const secrets = [token, secret, answer.body.token, options.challenge, ...browser.cookies.values()]
  for (const text of secrets) expect(log).not.toContain(text)
  // By itself: within the id of a request the six digits may stand by chance.
  expect(log).not.toMatch(/(?<![\w-])918273(?![\w-])/)
})
