import { createECDH } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cookieName } from '../../../src/domain/cookie-name.ts'
import { createWebhook } from '../../../src/flow/webhooks/manage-webhooks.ts'
import { codeAt, enrolWithPasskey, enrolWithTotp, wrongCodeAt } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { addKey } from '../../support/people.ts'
import { startService, type TestService } from '../../support/service.ts'

const FAILED = { error: 'sign_in_failed', message: 'Signing in failed; check your input and try again.' }
const UNKNOWN = {
  error: 'unknown_browser',
  message:
    'Codes sign you in only in a browser where you signed up before. Use a passkey, or ask the owner who invited you, or the operator of this service, for a new sign-in link.',
}

let service: TestService
let later = 0
let people = 0
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' }, localTime: () => Date.now() + later })
})
afterAll(() => service.close())

/** A person whose next code is fresh: enrolling used up the current one. */
async function enrol() {
  people += 1
  const person = await enrolWithTotp(service, `person${people}@example.com`)
  later += 60_000
  return person
}

const now = () => service.composition.deps.clock.now()

describe('signing in by code', () => {
  it('works on the browser that was enrolled, each code once', async () => {
    const { browser, secret, email } = await enrol()
    const code = codeAt(secret, now())
    const answer = await browser.post('/api/v1/session/totp', { email: email.toUpperCase(), code })
    expect(answer.status).toBe(200)
    expect(answer.body.user).toMatchObject({ email, has_passkey: false, has_totp: true })
    const again = await browser.post('/api/v1/session/totp', { email, code })
    expect([again.status, again.body]).toEqual([401, FAILED])
  })

  it('T25: the code that confirmed the enrolment signs in nowhere', async () => {
    const { browser, secret, email, userId } = await enrolWithTotp(service, 'first@example.com')
    const step = (await service.composition.deps.users.find(userId))?.totp?.last_step ?? 0
    const code = codeAt(secret, new Date(step * 30_000))
    const answer = await browser.post('/api/v1/session/totp', { email, code })
    expect([answer.status, answer.body]).toEqual([401, FAILED])
  })

  it('T25: fifty parallel posts of one code sign in once', async () => {
    const { browser, secret, email } = await enrol()
    const code = codeAt(secret, now())
    const posts = Array.from({ length: 50 }, () => browser.post('/api/v1/session/totp', { email, code }))
    const answers = await Promise.all(posts)
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
    const refused = answers.filter((answer) => answer.status !== 200).map((answer) => answer.body.error)
    expect(new Set([...refused, 'sign_in_failed', 'totp_locked'])).toEqual(
      new Set(['sign_in_failed', 'totp_locked']),
    )
  })

  it('T15: a right code opens nothing on another browser, known or not', async () => {
    const { secret, email } = await enrol()
    const body = { email, code: codeAt(secret, now()) }
    const stranger = createHttpClient(service.url)
    const away = await stranger.post('/api/v1/session/totp', body)
    expect([away.status, away.body]).toEqual([403, UNKNOWN])
    stranger.cookies.set(cookieName('countersign-device', service.url), 'A'.repeat(43))
    expect((await stranger.post('/api/v1/session/totp', body)).body).toEqual(UNKNOWN)
    const other = await enrol()
    const elsewhere = await other.browser.post('/api/v1/session/totp', body)
    expect([elsewhere.status, elsewhere.body]).toEqual([401, FAILED])
  })

  it('T51: an unknown e-mail, a foreign e-mail and a wrong code answer alike', async () => {
    const { browser, secret, email } = await enrol()
    const foreign = await enrolWithPasskey(service, `foreign${people}@example.com`)
    const code = wrongCodeAt(secret, now())
    const emails = [email, foreign.email, 'nobody@example.com', 'no address']
    const known = await Promise.all(
      emails.map((who) => browser.post('/api/v1/session/totp', { email: who, code })),
    )
    for (const answer of known) expect([answer.status, answer.body]).toEqual([401, FAILED])
    const right = codeAt(secret, now())
    for (const who of emails.slice(1)) {
      const answer = await browser.post('/api/v1/session/totp', { email: who, code: right })
      expect([answer.status, answer.body]).toEqual([401, FAILED])
    }
    expect((await browser.post('/api/v1/session/totp', { email, code: right })).status).toBe(200)
    const stranger = createHttpClient(service.url)
    const strange = await Promise.all(
      emails.map((who) => stranger.post('/api/v1/session/totp', { email: who, code })),
    )
    for (const answer of strange) expect([answer.status, answer.body]).toEqual([403, UNKNOWN])
  })

  it.each([
    ['letters', 'abcdef'],
    ['five digits', '12345'],
    ['seven digits', '1234567'],
    ['full-width digits', '１２３４５６'],
    ['digits and a line feed', '123456\n'],
    ['nothing', ''],
  ])('T29: %s: a wrong code that uses up no try', async (_name, code) => {
    const { browser, email, userId } = await enrol()
    const answer = await browser.post('/api/v1/session/totp', { email, code })
    expect([answer.status, answer.body]).toEqual([401, FAILED])
    expect((await service.composition.deps.users.find(userId))?.totp?.failures).toBe(0)
  })

  const NO_TEXT = { error: 'invalid_field', field: 'code', detail: 'must be a text' }
  it.each<[string, unknown, object?]>([
    ['an object', { $ne: null }],
    ['a list', ['123456']],
    ['a number', 123456],
    ['nothing', null, { error: 'code required' }],
  ])('T29: %s: no text, so no code', async (_name, code, refused = NO_TEXT) => {
    const browser = createHttpClient(service.url)
    const answer = await browser.post('/api/v1/session/totp', { email: 'a@b.c', code })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject(refused)
  })

  it('T27: strangers cannot lock anybody out', async () => {
    const { browser, secret, email, userId } = await enrol()
    const stranger = createHttpClient(service.url)
    for (let attempt = 0; attempt < 20; attempt += 1)
      await stranger.post('/api/v1/session/totp', { email, code: '000000' })
    expect((await service.composition.deps.users.find(userId))?.totp?.failures).toBe(0)
    const answer = await browser.post('/api/v1/session/totp', { email, code: codeAt(secret, now()) })
    expect(answer.status).toBe(200)
  })

  it('T26: ten wrong codes lock for 15 minutes, also for the right one', async () => {
    const { browser, secret, email, userId } = await enrol()
    const code = wrongCodeAt(secret, now())
    for (let attempt = 0; attempt < 10; attempt += 1)
      expect((await browser.post('/api/v1/session/totp', { email, code })).body).toEqual(FAILED)
    const locked = await browser.post('/api/v1/session/totp', { email, code: codeAt(secret, now()) })
    expect(locked.status).toBe(429)
    expect(locked.body).toEqual({
      error: 'totp_locked',
      message: 'Too many wrong codes; wait 15 minutes or use a passkey.',
      retry_after: expect.any(Number),
    })
    expect(locked.body.retry_after).toBeGreaterThan(14 * 60)
    expect(locked.body.retry_after).toBeLessThanOrEqual(15 * 60)
    expect(locked.headers.get('Retry-After')).toBe(String(locked.body.retry_after))
    const audit = (await service.composition.deps.users.find(userId))?.audit.map((entry) => entry.type)
    expect(audit?.filter((type) => type === 'factor.totp_locked')).toHaveLength(1)
    later += 15 * 60_000
    const opened = await browser.post('/api/v1/session/totp', { email, code: codeAt(secret, now()) })
    expect(opened.status).toBe(200)
  })
})

describe('signing in by backup code', () => {
  it('works once per code on the enrolled browser, however it is typed', async () => {
    const { browser, email, backupCodes } = await enrol()
    expect(backupCodes).toHaveLength(10)
    for (const code of backupCodes) expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$/)
    const typed = ` ${backupCodes[0]?.toLowerCase().replace('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')} `
    const first = await browser.post('/api/v1/session/backup-code', { email, code: typed })
    expect(first.status).toBe(200)
    expect((await browser.get('/api/v1/me/factors')).body.backup_codes_left).toBe(9)
    const again = await browser.post('/api/v1/session/backup-code', { email, code: backupCodes[0] })
    expect([again.status, again.body]).toEqual([401, FAILED])
    // It signs in and proves no presence: what hands out secrets asks for more.
    const key = await browser.post('/api/v1/account/api-keys', { name: 'bot' })
    expect([key.status, key.body.error]).toEqual([403, 'proof_required'])
    // What is wrong with a form is said first: nobody should confirm what is refused then.
    const point = createECDH('prime256v1').generateKeys('base64url')
    const keys = { auth: Buffer.alloc(16).toString('base64url'), p256dh: point }
    for (const [path, form, field] of [
      ['account/api-keys', { name: 'x'.repeat(81) }, 'name'],
      ['account/webhooks', { url: 'not a url' }, 'url'],
      ['account/webhooks', { url: 'https://10.0.0.1/' }, 'url'],
      [
        'me/push',
        { subscription: { endpoint: 'https://10.0.0.1/', keys }, name: 'x' },
        'subscription.endpoint',
      ],
    ] as const) {
      const wrong = await browser.post(`/api/v1/${path}`, form)
      expect([wrong.status, wrong.body.error, wrong.body.field]).toEqual([400, 'invalid_field', field])
    }
    const hook = await browser.post('/api/v1/account/webhooks', { url: 'https://hooks.example.com/' })
    expect([hook.status, hook.body.error]).toEqual([403, 'proof_required'])
    const { deps } = service.composition
    const user = (await deps.users.findByEmail(email)) ?? expect.unreachable()
    const one = { accountId: user.account_id, actor: { kind: 'cli' } } as const
    for (let n = 0; n < 20; n += 1) await createWebhook(deps, one, { url: 'https://hooks.example.com/' })
    for (let n = 0; n < 100; n += 1) await addKey(service, user)
    for (const [path, form, error] of [
      ['api-keys', { name: 'bot' }, 'key_limit'],
      ['webhooks', { url: 'https://hooks.example.com/' }, 'webhook_limit'],
    ] as const) {
      const full = await browser.post(`/api/v1/account/${path}`, form)
      expect([full.status, full.body.error]).toEqual([409, error])
    }
    const audit = (await service.composition.deps.users.findByEmail(email))?.audit.map((entry) => entry.type)
    expect(audit).toContain('factor.backup_code_used')
  })

  it('counts once when sent in parallel', async () => {
    const { browser, email, backupCodes } = await enrol()
    const body = { email, code: backupCodes[3] }
    const answers = await Promise.all(
      [1, 2, 3, 4, 5].map(() => browser.post('/api/v1/session/backup-code', body)),
    )
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
  })

  it('is refused elsewhere, and after ten attempts in a quarter of an hour', async () => {
    const { browser, email, backupCodes } = await enrol()
    const stranger = createHttpClient(service.url)
    const away = await stranger.post('/api/v1/session/backup-code', { email, code: backupCodes[0] })
    expect([away.status, away.body]).toEqual([403, UNKNOWN])
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const wrong = await browser.post('/api/v1/session/backup-code', { email, code: '00000-00000' })
      expect([wrong.status, wrong.body]).toEqual([401, FAILED])
    }
    const limited = await browser.post('/api/v1/session/backup-code', { email, code: backupCodes[0] })
    expect([limited.status, limited.body.error]).toEqual([429, 'totp_locked'])
  })
})
