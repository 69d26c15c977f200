import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cookieName } from '../../../src/domain/cookie-name.ts'
import { REFUSALS } from '../../../src/domain/errors.ts'
import { noticesIn } from '../../../src/domain/factor-notice.ts'
import { assertWith, type EnrolledPerson, enrolWithPasskey, passkeyProof } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { startService, type TestService } from '../../support/service.ts'
import { type AssertionCeremony, FLAGS } from '../../support/soft-authenticator.ts'

const FAILED = { error: 'sign_in_failed', message: 'Signing in failed; check your input and try again.' }
const CHALLENGE_INVALID = {
  error: 'challenge_invalid',
  message: 'This confirmation has expired, was already used or belongs to something else; start again.',
}

const SUSPENDED = { error: 'passkey_suspended', message: REFUSALS.passkey_suspended[1] }
const NO_HANDLE = { error: 'user_handle_missing', message: REFUSALS.user_handle_missing[1] }
const forge = (made: Uint8Array) => made.with(-1, (made.at(-1) ?? 0) ^ 1)

let service: TestService
let ada: EnrolledPerson
let bob: EnrolledPerson
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
  ada = await enrolWithPasskey(service, 'ada@example.com')
  bob = await enrolWithPasskey(service, 'bob@example.com', { algorithm: -8 })
})
afterAll(() => service.close())

async function signIn(person: EnrolledPerson, ceremony: Partial<AssertionCeremony> = {}) {
  const browser = createHttpClient(service.url)
  const { options } = (await browser.post('/api/v1/session/passkey/options', {})).body
  const credential = assertWith(person, service, options, ceremony)
  return { browser, credential, answer: await browser.post('/api/v1/session/passkey', { credential }) }
}

function lastReason(): string {
  return String(service.logged.filter((line) => line.message === 'passkey refused').at(-1)?.fields.reason)
}

describe('signing in by passkey', () => {
  it('needs no name, on any browser, and answers token, cookie and person', async () => {
    const browser = createHttpClient(service.url)
    const { options } = (await browser.post('/api/v1/session/passkey/options', {})).body
    expect(options).toMatchObject({ rpId: 'localhost', allowCredentials: [], userVerification: 'required' })
    expect(Buffer.from(options.challenge, 'base64url')).toHaveLength(32)
    for (const person of [ada, bob]) {
      const { browser: mine, answer } = await signIn(person)
      expect(answer.status).toBe(200)
      expect(answer.body).toMatchObject({
        token_type: 'Bearer',
        expires_in: 900,
        user: { id: person.userId },
      })
      expect([...mine.cookies.keys()]).toEqual([cookieName('countersign', service.url)])
      const me = await mine.get('/api/v1/session')
      expect(me.body).toEqual({
        user: answer.body.user,
        expires_at: expect.any(String),
        accounts: [{ id: me.body.user.account_id, name: me.body.user.name, role: 'owner', own: true }],
        invitations: [],
      })
      const bearer = { headers: { Authorization: `Bearer ${answer.body.token}` } }
      const same = await createHttpClient(service.url).get('/api/v1/session', bearer)
      expect(same.body.user.id).toBe(person.userId)
    }
  })

  it.each<[string, Partial<AssertionCeremony>, string]>([
    ['T15: made on another site', { origin: 'https://evil.example' }, 'client data has another origin'],
    ['T21: in a frame of another site', { crossOrigin: true }, 'client data is cross-origin'],
    ['T21: with a top origin', { topOrigin: 'https://evil.example' }, 'client data has a top origin'],
    [
      'T20: with the handle of another person',
      { userHandle: 'AAAA' },
      'the user handle is of another person',
    ],
    ['T20: with another raw id', { rawId: 'AAAA' }, 'id and rawId differ'],
    ['T31: with flags 0x00', { flags: 0 }, 'User not present during authentication'],
    ['T31: with flags 0x01 (present, not verified)', { flags: FLAGS.up }, 'the user was not verified'],
    [
      'T31: with flags 0x04 (verified, not present)',
      { flags: FLAGS.uv },
      'User not present during authentication',
    ],
    ['T32: for another relying party id', { rpId: 'evil.example' }, 'Unexpected RP ID hash'],
    [
      'T35: with BE set, which it was not',
      { flags: FLAGS.up | FLAGS.uv | FLAGS.be },
      'the backup eligibility changed',
    ],
    ['as an answer to a registration', { type: 'webauthn.create' }, 'client data has another type'],
    ['with a tampered signature', { tamper: forge }, 'the signature is wrong'],
  ])('is refused %s', async (_name, ceremony, reason) => {
    const { answer, browser } = await signIn(ada, ceremony)
    expect([answer.status, answer.body]).toEqual([401, FAILED])
    expect(lastReason()).toContain(reason)
    expect(browser.cookies.size).toBe(0)
  })

  it.each([
    ['without a handle', null],
    ['with an empty handle', ''],
  ])('T20: is refused %s, which only the holder of the passkey is told', async (_name, userHandle) => {
    const { answer, browser } = await signIn(ada, { userHandle })
    expect([answer.status, answer.body]).toEqual([403, NO_HANDLE])
    expect(browser.cookies.size).toBe(0)
    const { answer: forged } = await signIn(ada, { userHandle, tamper: forge })
    expect([forged.status, forged.body]).toEqual([401, FAILED])
  })

  it('T30: is refused with a passkey that is suspended, which only its holder is told, then and later', async () => {
    const cat = await enrolWithPasskey(service, 'cat@example.com', { startCounter: 5 })
    for (const counter of [5, 9]) {
      const { answer, browser } = await signIn(cat, { counter })
      expect([answer.status, answer.body]).toEqual([403, SUSPENDED])
      expect(browser.cookies.size).toBe(0)
    }
    for (const ceremony of [{ tamper: forge }, { origin: 'https://evil.example' }, { flags: FLAGS.up }]) {
      const { answer } = await signIn(cat, { counter: 10, ...ceremony })
      expect([answer.status, answer.body]).toEqual([401, FAILED])
    }
  })

  it('T30: goes on with a synced passkey whose counter falls: the trail is told each time, its person once a day', async () => {
    const { be, bs, up, uv, at } = FLAGS
    const flags = up | uv | be | bs
    const dan = await enrolWithPasskey(service, 'dan@example.com', { startCounter: 50, flags: flags | at })
    for (const counter of [51, 0, 0, 52, 52, 7])
      expect((await signIn(dan, { counter, flags })).answer.status).toBe(200)
    const user = await service.composition.deps.users.find(dan.userId)
    expect(user?.passkeys[0]).toMatchObject({ counter: 7, suspended_at: null })
    const fallen = user?.audit.filter(({ type }) => type === 'factor.passkey_counter_fell') ?? []
    expect(fallen.map(({ detail }) => [detail?.stored_counter, detail?.counter, detail?.again])).toEqual([
      [51, 0, undefined],
      [52, 52, true],
      [52, 7, true],
    ])
    expect(noticesIn(fallen).map(({ notice }) => [notice.type, notice.name])).toEqual([
      ['factor.passkey_counter_fell', 'laptop'],
    ])
  })

  it('T20: only the diagonal of person and credential passes', async () => {
    for (const person of [ada, bob])
      for (const other of [ada, bob]) {
        const { id } = other.authenticator.credentials[0] ?? { id: '' }
        const userHandle = other.authenticator.credentials[0]?.userHandle ?? ''
        const { answer } = await signIn(person, { id, userHandle })
        expect(answer.status).toBe(person === other ? 200 : 401)
        const { answer: handleOnly } = await signIn(person, { userHandle })
        expect(handleOnly.status).toBe(person === other ? 200 : 401)
      }
  })

  it('answers an unknown passkey as a wrong one', async () => {
    const { answer } = await signIn(ada, { id: randomBytes(32).toString('base64url') })
    expect([answer.status, answer.body]).toEqual([401, FAILED])
  })

  it('T33: the same assertion sent in parallel signs in once, and never again', async () => {
    const browser = createHttpClient(service.url)
    const { options } = (await browser.post('/api/v1/session/passkey/options', {})).body
    const credential = assertWith(ada, service, options)
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => browser.post('/api/v1/session/passkey', { credential })),
    )
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
    const lost = answers.filter((answer) => answer.status !== 200)
    for (const answer of lost) expect([answer.status, answer.body]).toEqual([400, CHALLENGE_INVALID])
  })

  it('T33: a refused attempt uses its challenge up', async () => {
    const { credential, answer, browser } = await signIn(ada, { flags: 0 })
    expect(answer.status).toBe(401)
    const challenge = JSON.parse(
      Buffer.from(credential.response.clientDataJSON, 'base64url').toString(),
    ).challenge
    const honest = assertWith(ada, service, { rpId: 'localhost', challenge })
    const again = await browser.post('/api/v1/session/passkey', { credential: honest })
    expect([again.status, again.body]).toEqual([400, CHALLENGE_INVALID])
  })

  it('T19: an assertion made for another purpose does not sign in, and one for sign-in confirms nothing', async () => {
    const { passkey } = await passkeyProof(ada, service, 'passkey.add')
    const wrong = await createHttpClient(service.url).post('/api/v1/session/passkey', { credential: passkey })
    expect([wrong.status, wrong.body]).toEqual([400, CHALLENGE_INVALID])
    const { options } = (await ada.browser.post('/api/v1/session/passkey/options', {})).body
    const proof = { passkey: assertWith(ada, service, options) }
    const reverse = await ada.browser.post('/api/v1/me/passkeys/options', { proof })
    expect([reverse.status, reverse.body]).toEqual([400, CHALLENGE_INVALID])
  })
})
