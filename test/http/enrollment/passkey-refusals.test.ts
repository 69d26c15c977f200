import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeAt, enrolWithPasskey, invitationFor } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { startService, type TestService } from '../../support/service.ts'
import {
  createSoftAuthenticator,
  FLAGS,
  type RegistrationCeremony,
} from '../../support/soft-authenticator.ts'

const REFUSED = {
  error: 'passkey_refused',
  message: 'The passkey could not be verified; nothing was recorded. Try again.',
}
const CHALLENGE_INVALID = {
  error: 'challenge_invalid',
  message: 'This confirmation has expired, was already used or belongs to something else; start again.',
}
const LINK_INVALID = {
  error: 'enrollment_invalid',
  message:
    'This link has expired or was already used; sign in if you have signed up; otherwise ask for a new one.',
}

let service: TestService
let people = 0
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
})
afterAll(() => service.close())

async function openLink() {
  people += 1
  const token = await invitationFor(service, `person${people}@example.com`)
  const browser = createHttpClient(service.url)
  const answer = await browser.post('/api/v1/enrollment/passkey/options', { token })
  return { token, browser, options: answer.body.options }
}

function flipLastBit(signature: Uint8Array): Uint8Array {
  return signature.with(-1, (signature.at(-1) ?? 0) ^ 1)
}

async function register(ceremony: Partial<RegistrationCeremony>) {
  const { token, browser, options } = await openLink()
  const credential = createSoftAuthenticator().register(options, { origin: service.url, ...ceremony })
  return browser.post('/api/v1/enrollment/passkey', { token, passkey_name: 'key', credential })
}

describe('a registration is refused', () => {
  const { up, uv, at, bs } = FLAGS
  it.each<[string, Partial<RegistrationCeremony>, string]>([
    ['T15: made on another site', { origin: 'https://evil.example' }, 'client data has another origin'],
    ['T21: made in a frame of another site', { crossOrigin: true }, 'client data is cross-origin'],
    ['T21: with a top origin', { topOrigin: 'https://evil.example' }, 'client data has a top origin'],
    ['T31: without user verification', { flags: up | at }, 'User verification was required'],
    ['T31: without user presence', { flags: uv | at }, 'User presence was required'],
    ['T31: with no flag but the credential', { flags: at }, 'User presence was required'],
    ['T32: for another relying party id', { rpId: 'evil.example' }, 'Unexpected RP ID hash'],
    ['as an answer to a sign-in', { type: 'webauthn.get' }, 'client data has another type'],
    ['under another credential id', { id: 'AAAA' }, 'id, rawId and credential id differ'],
    ['T35: backed up although it cannot be', { flags: up | uv | at | bs }, 'Single-device credential'],
    [
      'T35: with a broken self-attestation',
      { format: 'packed', tamper: flipLastBit },
      'the attestation is wrong',
    ],
  ])('%s', async (_name, ceremony, reason) => {
    const answer = await register(ceremony)
    expect([answer.status, answer.body]).toEqual([403, REFUSED])
    const why = service.logged.filter((line) => line.message === 'registration refused').at(-1)
    expect(String(why?.fields.reason)).toContain(reason)
  })

  it('T35: accepts a sound self-attestation', async () => {
    expect((await register({ format: 'packed' })).status).toBe(201)
  })

  it('T33: under a challenge that was never given out', async () => {
    const answer = await register({ challenge: Buffer.alloc(32, 7).toString('base64url') })
    expect([answer.status, answer.body]).toEqual([400, CHALLENGE_INVALID])
  })

  it('T33: twice under one challenge, and twice under one link', async () => {
    const { token, browser, options } = await openLink()
    const credential = createSoftAuthenticator().register(options, { origin: service.url })
    const body = { token, passkey_name: 'key', credential }
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => browser.post('/api/v1/enrollment/passkey', body)),
    )
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1)
    const again = await browser.post('/api/v1/enrollment/passkey', body)
    expect([again.status, again.body]).toEqual([410, LINK_INVALID])
  })

  it('a second ceremony under one link, when both finish at once', async () => {
    const { token, browser, options } = await openLink()
    const other = await browser.post('/api/v1/enrollment/passkey/options', { token })
    const bodies = [options, other.body.options].map((offered) => ({
      token,
      passkey_name: 'key',
      credential: createSoftAuthenticator().register(offered, { origin: service.url }),
    }))
    const answers = await Promise.all(
      bodies.map((body) => createHttpClient(service.url).post('/api/v1/enrollment/passkey', body)),
    )
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 410])
    const lost = answers.find((answer) => answer.status === 410)
    expect(lost?.body).toEqual(LINK_INVALID)
    expect(lost?.headers.getSetCookie()).toEqual([])
  })

  it('T33: the challenge of one link does not serve another', async () => {
    const mine = await openLink()
    const other = await openLink()
    const credential = createSoftAuthenticator().register(mine.options, { origin: service.url })
    const answer = await other.browser.post('/api/v1/enrollment/passkey', {
      token: other.token,
      passkey_name: 'key',
      credential,
    })
    expect([answer.status, answer.body]).toEqual([400, CHALLENGE_INVALID])
  })

  it('when somebody else has the credential already', async () => {
    const first = await enrolWithPasskey(service, 'holder@example.com')
    const stolen = first.authenticator.credentials[0]
    const { token, browser, options } = await openLink()
    const copy = createSoftAuthenticator()
    const made = copy.register(options, { origin: service.url })
    const swapped = copy.credentials[0]
    if (stolen === undefined || swapped === undefined) throw new Error('no credential')
    const attestation = Buffer.from(made.response.attestationObject, 'base64url')
    const at = attestation.indexOf(Buffer.from(swapped.id, 'base64url'))
    Buffer.from(stolen.id, 'base64url').copy(attestation, at)
    const credential = {
      ...made,
      id: stolen.id,
      rawId: stolen.id,
      response: { ...made.response, attestationObject: attestation.toString('base64url') },
    }
    const answer = await browser.post('/api/v1/enrollment/passkey', {
      token,
      passkey_name: 'key',
      credential,
    })
    expect([answer.status, answer.body]).toEqual([
      409,
      { error: 'passkey_exists', message: 'This passkey is already registered; nothing was changed.' },
    ])
  })
})

describe('a link is refused', () => {
  it('to all but one who confirm codes under it at once', async () => {
    const token = await invitationFor(service, 'together@example.com')
    const browser = createHttpClient(service.url)
    const { secret } = (await browser.post('/api/v1/enrollment/totp/options', { token })).body
    const code = codeAt(secret, service.composition.deps.clock.now())
    const posts = [1, 2, 3, 4].map(() => browser.post('/api/v1/enrollment/totp', { token, code }))
    const answers = await Promise.all(posts)
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 410, 410, 410])
  })

  it('when it is unknown, empty of hope or shaped wrongly', async () => {
    const browser = createHttpClient(service.url)
    for (const path of ['lookup', 'passkey/options', 'totp/options']) {
      const answer = await browser.post(`/api/v1/enrollment/${path}`, { token: 'A'.repeat(43) })
      expect([answer.status, answer.body]).toEqual([410, LINK_INVALID])
    }
    const odd = await browser.post('/api/v1/enrollment/lookup', { token: { $ne: null } })
    expect([odd.status, odd.body]).toEqual([
      400,
      {
        error: 'invalid_field',
        message: 'token must be a text.',
        field: 'token',
        detail: 'must be a text',
      },
    ])
    const missing = await browser.post('/api/v1/enrollment/lookup', {})
    expect(missing.body).toEqual({
      error: 'token required',
      message: 'Send the field token.',
      field: 'token',
    })
  })

  it('when it has expired by the clock of the database', async () => {
    const { deps } = service.composition
    const past = new Date(Date.now() - 1_000)
    await deps.enrollments.insert({
      id: 'enr_00000000000000000000000000',
      kind: 'setup',
      token_hash: deps.vault.hash('enrollment', 'late'),
      tries: 0,
      created_at: past,
      expires_at: past,
    })
    const answer = await createHttpClient(service.url).post('/api/v1/enrollment/lookup', { token: 'late' })
    expect([answer.status, answer.body]).toEqual([410, LINK_INVALID])
  })

  it('codes: before they were started, and after five wrong ones', async () => {
    const token = await invitationFor(service, 'five@example.com')
    const browser = createHttpClient(service.url)
    const early = await browser.post('/api/v1/enrollment/totp', { token, code: '123456' })
    expect([early.status, early.body.error]).toEqual([409, 'totp_not_started'])
    const { secret } = (await browser.post('/api/v1/enrollment/totp/options', { token })).body
    const future = codeAt(secret, new Date(Date.now() + 300_000))
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const wrong = await browser.post('/api/v1/enrollment/totp', { token, code: future })
      expect([wrong.status, wrong.body.error]).toEqual([403, 'totp_refused'])
    }
    const code = codeAt(secret, service.composition.deps.clock.now())
    const late = await browser.post('/api/v1/enrollment/totp', { token, code })
    expect([late.status, late.body]).toEqual([410, LINK_INVALID])
  })
})
