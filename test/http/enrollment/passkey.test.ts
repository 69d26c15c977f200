import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enrolWithPasskey, invitationFor, linkToken } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { startService, type TestService } from '../../support/service.ts'
import { createSoftAuthenticator } from '../../support/soft-authenticator.ts'

const INVALID = {
  error: 'enrollment_invalid',
  message:
    'This link has expired or was already used; sign in if you have signed up; otherwise ask for a new one.',
}

let service: TestService
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
})
afterAll(() => service.close())

describe('enrolment by passkey', () => {
  it('lets the first owner set up e-mail, name and passkey by the link of the first start', async () => {
    const browser = createHttpClient(service.url)
    const authenticator = createSoftAuthenticator()
    const token = linkToken(service.setupUrl ?? '')
    const looked = await browser.post('/api/v1/enrollment/lookup', { token })
    expect(looked.body).toEqual({
      kind: 'setup',
      email: null,
      name: null,
      expires_at: expect.any(String),
      enrolled: false,
    })
    const { options } = (
      await browser.post('/api/v1/enrollment/passkey/options', {
        token,
        email: ' Ada@Example.COM ',
        name: 'Ada',
        account_name: ' Analytical Engines ',
      })
    ).body
    expect(options).toMatchObject({
      rp: { id: 'localhost', name: 'Countersign' },
      user: { name: 'ada@example.com', displayName: 'Ada' },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      pubKeyCredParams: [
        { alg: -8, type: 'public-key' },
        { alg: -7, type: 'public-key' },
        { alg: -257, type: 'public-key' },
      ],
    })
    const credential = authenticator.register(options, { origin: service.url })
    const answer = await browser.post('/api/v1/enrollment/passkey', {
      token,
      passkey_name: 'laptop',
      credential,
    })
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      token: expect.stringMatching(/^eyJ/),
      token_type: 'Bearer',
      expires_in: 900,
      user: {
        id: expect.stringMatching(/^usr_/),
        email: 'ada@example.com',
        name: 'Ada',
        approver: expect.stringMatching(/^[0-9a-f]{16}$/),
        account_id: expect.stringMatching(/^acc_/),
        role: 'owner',
        has_passkey: true,
        has_totp: false,
        has_suspended_passkey: false,
        default_ttl_seconds: 3600,
        delegate: null,
      },
    })
    const cookies = answer.headers.getSetCookie()
    // Browsers ignore the port where they decide which cookies to send.
    expect(cookies.map((cookie) => cookie.replace(`-${new URL(service.url).port}=`, '-<port>='))).toEqual([
      expect.stringMatching(
        /^countersign-<port>=[\w-]{43}; Max-Age=60\d{4}; Path=\/; HttpOnly; SameSite=Lax$/,
      ),
      expect.stringMatching(
        /^countersign-device-<port>=[\w-]{43}; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Lax$/,
      ),
    ])
    const session = await browser.get('/api/v1/session')
    expect(session.body.user.id).toBe(answer.body.user.id)
    expect(session.body.accounts).toMatchObject([{ name: 'Analytical Engines', role: 'owner', own: true }])
    const again = await browser.post('/api/v1/enrollment/lookup', { token })
    expect([again.status, again.body]).toEqual([410, INVALID])
  })

  it('enrols an invited person under the name and e-mail of the invitation', async () => {
    const token = await invitationFor(service, 'bob@example.com')
    const browser = createHttpClient(service.url)
    const looked = await browser.post('/api/v1/enrollment/lookup', { token })
    expect(looked.body).toMatchObject({ kind: 'invite', email: 'bob@example.com', name: 'bob' })
    const { options } = (
      await browser.post('/api/v1/enrollment/passkey/options', {
        token,
        email: 'mallory@example.com',
        name: 'M',
        account_name: 'M & Sons',
      })
    ).body
    expect(options.user).toMatchObject({ name: 'bob@example.com', displayName: 'bob' })
    const credential = createSoftAuthenticator().register(options, { origin: service.url })
    const answer = await browser.post('/api/v1/enrollment/passkey', {
      token,
      passkey_name: 'key',
      credential,
    })
    expect(answer.body.user).toMatchObject({ email: 'bob@example.com', name: 'bob' })
    expect((await browser.get('/api/v1/account')).body.name).toBe('bob')
  })

  it.each([
    ['ES256', -7],
    ['EdDSA', -8],
    ['RS256', -257],
  ] as const)('accepts an %s key', async (name, algorithm) => {
    const person = await enrolWithPasskey(service, `${name.toLowerCase()}@example.com`, { algorithm })
    const user = await service.composition.deps.users.find(person.userId)
    expect(user?.passkeys[0]?.algorithm).toBe(algorithm)
  })
})
