import { beforeAll, describe, expect, it } from 'vitest'
import {
  codeAt,
  type EnrolledPerson,
  enrolWithPasskey,
  enrolWithTotp,
  passkeyProof,
  wrongCodeAt,
} from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { startService, type TestService } from '../../support/service.ts'
import { createSoftAuthenticator } from '../../support/soft-authenticator.ts'

const PROOF_REQUIRED = { error: 'proof_required', message: 'Confirm with a passkey or a code first.' }
const NOT_STARTED = { error: 'totp_not_started', message: 'Start setting up codes first.' }

let service: TestService
let later = 0
let people = 0
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' }, localTime: () => Date.now() + later })
  return () => service.close()
})

const now = () => service.composition.deps.clock.now()

function enrol(): Promise<EnrolledPerson> {
  people += 1
  return enrolWithPasskey(service, `person${people}@example.com`)
}

async function addCodes(person: EnrolledPerson): Promise<{ secret: string; backupCodes: string[] }> {
  const proof = await passkeyProof(person, service, 'totp.add')
  const setUp = await person.browser.post('/api/v1/me/totp/options', { proof })
  expect(setUp.status).toBe(200)
  const { secret } = setUp.body
  const answer = await person.browser.post('/api/v1/me/totp', { code: codeAt(secret, now()) })
  expect(answer.status).toBe(201)
  later += 60_000
  return { secret, backupCodes: answer.body.backup_codes }
}

describe('adding codes', () => {
  it('shows a 160-bit seed once, as text, link and picture, and counts after the first right code', async () => {
    const person = await enrol()
    const proof = await passkeyProof(person, service, 'totp.add')
    const { body } = await person.browser.post('/api/v1/me/totp/options', { proof })
    expect(body.secret).toMatch(/^[A-Z2-7]{32}$/)
    const url = new URL(body.otpauth_url)
    expect([url.protocol, url.searchParams.get('secret'), url.searchParams.get('issuer')]).toEqual([
      'otpauth:',
      body.secret,
      'Countersign',
    ])
    expect(decodeURIComponent(url.pathname)).toContain(person.email)
    expect(body.qr_svg).toMatch(/^<svg [\s\S]*<\/svg>\s*$/)
    expect((await person.browser.get('/api/v1/me/factors')).body.totp).toEqual({
      enabled: false,
      since: null,
    })
    const wrong = await person.browser.post('/api/v1/me/totp', { code: wrongCodeAt(body.secret, now()) })
    expect([wrong.status, wrong.body.error]).toEqual([403, 'totp_refused'])
    const right = await person.browser.post('/api/v1/me/totp', { code: codeAt(body.secret, now()) })
    expect(right.status).toBe(201)
    expect(right.body).toEqual({ backup_codes: expect.any(Array) })
    expect((await person.browser.get('/api/v1/me/factors')).body).toMatchObject({
      totp: { enabled: true, since: expect.any(String) },
      backup_codes_left: 10,
    })
  })

  it('makes this browser one where codes sign in', async () => {
    const person = await enrol()
    const { secret } = await addCodes(person)
    const body = { email: person.email, code: codeAt(secret, now()) }
    expect((await person.browser.post('/api/v1/session/totp', body)).status).toBe(200)
  })

  it('T34: is refused without a proof, without a start, and while codes are there', async () => {
    const person = await enrol()
    const bare = await person.browser.post('/api/v1/me/totp/options', {})
    expect([bare.status, bare.body]).toEqual([403, PROOF_REQUIRED])
    const early = await person.browser.post('/api/v1/me/totp', { code: '123456' })
    expect([early.status, early.body]).toEqual([409, NOT_STARTED])
    await addCodes(person)
    const twice = await person.browser.post('/api/v1/me/step-up/options', { operation: 'totp.add' })
    expect([twice.status, twice.body.error]).toEqual([409, 'totp_exists'])
  })

  it('T26: five wrong first codes and the seed is dead', async () => {
    const person = await enrol()
    const proof = await passkeyProof(person, service, 'totp.add')
    const { secret } = (await person.browser.post('/api/v1/me/totp/options', { proof })).body
    const wrong = { code: wrongCodeAt(secret, now()) }
    for (let attempt = 0; attempt < 5; attempt += 1)
      expect((await person.browser.post('/api/v1/me/totp', wrong)).body.error).toBe('totp_refused')
    const late = await person.browser.post('/api/v1/me/totp', { code: codeAt(secret, now()) })
    expect([late.status, late.body]).toEqual([409, NOT_STARTED])
  })
})

describe('codes as a proof', () => {
  it('T25: one code confirms one change, and then neither a second nor a sign-in', async () => {
    const person = await enrolWithTotp(service, 'once@example.com')
    later += 60_000
    const code = codeAt(person.secret, now())
    const first = await person.browser.post('/api/v1/me/backup-codes', { proof: { totp: code } })
    expect(first.status).toBe(201)
    expect(first.body.backup_codes).toHaveLength(10)
    const second = await person.browser.post('/api/v1/me/backup-codes', { proof: { totp: code } })
    expect([second.status, second.body]).toEqual([
      403,
      {
        error: 'totp_refused',
        message:
          'The code is wrong or was already used; wait for the next one. If that one fails too, check the clock of your phone.',
      },
    ])
    const signIn = await person.browser.post('/api/v1/session/totp', { email: person.email, code })
    expect(signIn.status).toBe(401)
    const old = { email: person.email, code: person.backupCodes[0] }
    expect((await person.browser.post('/api/v1/session/backup-code', old)).status).toBe(401)
    const renewed = { email: person.email, code: first.body.backup_codes[0] }
    expect((await person.browser.post('/api/v1/session/backup-code', renewed)).status).toBe(200)
  })

  it('T15: are worth nothing without a session', async () => {
    const person = await enrolWithTotp(service, 'nosession@example.com')
    later += 60_000
    const proof = { totp: codeAt(person.secret, now()) }
    const answer = await createHttpClient(service.url).post('/api/v1/me/backup-codes', { proof })
    expect([answer.status, answer.body]).toEqual([401, { error: 'not_signed_in', message: 'Sign in first.' }])
  })

  it('T27: while locked, the passkey still confirms', async () => {
    const person = await enrol()
    const { secret } = await addCodes(person)
    const wrong = { proof: { totp: wrongCodeAt(secret, now()) } }
    for (let attempt = 0; attempt < 10; attempt += 1)
      expect((await person.browser.post('/api/v1/me/backup-codes', wrong)).body.error).toBe('totp_refused')
    const right = { proof: { totp: codeAt(secret, now()) } }
    const locked = await person.browser.post('/api/v1/me/backup-codes', right)
    expect([locked.status, locked.body.error]).toEqual([429, 'totp_locked'])
    const proof = await passkeyProof(person, service, 'backup_codes.renew')
    expect((await person.browser.post('/api/v1/me/backup-codes', { proof })).status).toBe(201)
  })

  it('may not remove themselves; a passkey may, and takes the backup codes along', async () => {
    const person = await enrol()
    const { secret, backupCodes } = await addCodes(person)
    const asked = await person.browser.post('/api/v1/me/step-up/options', { operation: 'totp.remove' })
    expect(asked.body.methods).toEqual(['passkey'])
    const self = await person.browser.post('/api/v1/me/totp/remove', {
      proof: { totp: codeAt(secret, now()) },
    })
    expect([self.status, self.body]).toEqual([403, PROOF_REQUIRED])
    const proof = await passkeyProof(person, service, 'totp.remove')
    const removed = await person.browser.post('/api/v1/me/totp/remove', { proof })
    expect([removed.status, removed.body]).toEqual([200, { ok: true }])
    const body = { email: person.email, code: backupCodes[0] }
    expect((await person.browser.post('/api/v1/session/backup-code', body)).status).toBe(401)
  })

  it('may not be removed as the last factor; with codes, the last passkey may', async () => {
    const codesOnly = await enrolWithTotp(service, 'codesonly@example.com')
    const last = await codesOnly.browser.post('/api/v1/me/totp/remove', {})
    expect([last.status, last.body.error]).toEqual([409, 'last_factor'])
    const person = await enrol()
    const { secret } = await addCodes(person)
    const { passkeys } = (await person.browser.get('/api/v1/me/factors')).body
    const proof = { totp: codeAt(secret, now()) }
    const removed = await person.browser.post(`/api/v1/me/passkeys/${passkeys[0].id}/remove`, { proof })
    expect([removed.status, removed.body]).toEqual([200, { ok: true }])
  })

  it('backup codes are not renewed for a person without codes, and the proof is not used up', async () => {
    const person = await enrol()
    const refused = {
      error: 'method_not_enrolled',
      message: 'You have not set up this factor; use another one.',
    }
    const asked = await person.browser.post('/api/v1/me/step-up/options', { operation: 'backup_codes.renew' })
    expect([asked.status, asked.body]).toEqual([403, refused])
    const bare = await person.browser.post('/api/v1/me/backup-codes', {})
    expect([bare.status, bare.body]).toEqual([403, refused])
    expect((await person.browser.get('/api/v1/me/factors')).body.backup_codes_left).toBe(0)
  })

  it('let a person without a passkey add one', async () => {
    const person = await enrolWithTotp(service, 'upgrade@example.com')
    later += 60_000
    const proof = { totp: codeAt(person.secret, now()) }
    const { options } = (await person.browser.post('/api/v1/me/passkeys/options', { proof })).body
    const credential = createSoftAuthenticator().register(options, { origin: service.url })
    const answer = await person.browser.post('/api/v1/me/passkeys', { name: 'new', credential })
    expect(answer.status).toBe(201)
    expect((await person.browser.get('/api/v1/session')).body.user).toMatchObject({ has_passkey: true })
  })
})
