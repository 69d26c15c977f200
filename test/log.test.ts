import { Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../src/compose/log.ts'
import { redact } from '../src/domain/redact.ts'
import { alter, decidedId, newCaller, send, signIn } from './support/caller.ts'
import {
  assertWith,
  codeAt,
  enrolWithPasskey,
  enrolWithTotp,
  invitationFor,
  wrongCodeAt,
} from './support/enrolled.ts'
import { startService, type TestService, useService } from './support/service.ts'
import { startWaits } from './support/waiting.ts'

describe('an end-to-end run, logged completely', () => {
  const INTERNAL = 'a-very-internal-token-of-40-characters-x'
  let service: TestService
  const secrets = new Map<string, string>()
  const keep = (what: string, value: unknown) => secrets.set(what, String(value))

  beforeAll(async () => {
    service = await startService({ env: { INTERNAL_SERVICE_TOKEN: INTERNAL } })
    keep('internal token', INTERNAL)
    keep('set-up link', new URL(String(service.setupUrl)).hash.slice(1))
    await runEverything()
  })
  afterAll(() => service.close())

  async function runEverything(): Promise<void> {
    const live = await newCaller(service)
    const sandbox = await newCaller(service, { user: live.user, sandbox: true })
    keep('live key', live.token)
    keep('sandbox key', sandbox.token)
    keep('session JWT', await signIn(service, live.user))
    keep('webhook secret', (await live.send('/api/v1/account/webhook-secret')).body.webhook_signing_secret)
    await callersSide(live, sandbox)
    await peopleSide()
    await misuse(live.token)
  }

  async function callersSide(
    live: Awaited<ReturnType<typeof newCaller>>,
    sandbox: Awaited<ReturnType<typeof newCaller>>,
  ): Promise<void> {
    const id = await live.createdId()
    await live.read(id)
    await live.send(`/api/v1/approvals/${id}/remind`, { method: 'POST' })
    const decided = await decidedId(service, sandbox)
    keep('signature', Object((await sandbox.read(decided)).body.decision).signature)
    await send(service, `/api/v1/approvals/${decided}/verify`)
    const headers = { 'X-Approver-Email': live.user.email }
    const options = { method: 'POST', json: { action: 'x' }, token: `internal-${INTERNAL}`, headers }
    await send(service, '/api/v1/approvals/request', options)
    const token = String(secrets.get('session JWT'))
    const made = await send(service, '/api/v1/account/api-keys', {
      method: 'POST',
      token,
      json: { name: 'a' },
    })
    keep('key from the account', made.body.raw_key)
  }

  async function peopleSide(): Promise<void> {
    const invitation = await invitationFor(service, 'link@example.com')
    keep('invitation', invitation)
    await send(service, '/api/v1/enrollment', { method: 'POST', json: { token: invitation } })
    const passkey = await enrolWithPasskey(service, 'passkey@example.com')
    keep('JWT of an enrolment', passkey.token)
    for (const [name, cookie] of passkey.browser.cookies) keep(`cookie ${name}`, cookie)
    const asked = await passkey.browser.post('/api/v1/session/passkey/options', {})
    const credential = assertWith(passkey, service, asked.body.options)
    const signedIn = await passkey.browser.post('/api/v1/session/passkey', { credential })
    keep('assertion', credential.response.signature)
    keep('JWT of a sign-in', signedIn.body.token)
    const totp = await enrolWithTotp(service, 'totp@example.com')
    keep('TOTP seed', totp.secret)
    for (const code of totp.backupCodes) keep(`backup code ${code.slice(0, 2)}`, code)
    for (const [name, cookie] of totp.browser.cookies) keep(`TOTP cookie ${name}`, cookie)
    const now = service.composition.deps.clock.now()
    const wrong = wrongCodeAt(totp.secret, now)
    const next = codeAt(totp.secret, new Date(now.getTime() + 30_000))
    keep('wrong code', wrong)
    keep('next code', next)
    for (const code of [wrong, next]) {
      await totp.browser.post('/api/v1/session/totp', { email: totp.email, code })
      await totp.browser.post('/api/v1/session/backup-code', { email: totp.email, code: totp.backupCodes[0] })
    }
  }

  /** Secrets where they do not belong, and errors that quote what they choked on. */
  async function misuse(key: string): Promise<void> {
    const jwt = String(secrets.get('session JWT'))
    for (const secret of [key, jwt, `internal-${INTERNAL}`]) {
      await send(service, `/api/v1/approvals/${secret}`, { token: key })
      await send(service, `/api/v1/approvals/${secret}/verify`)
      await send(service, `/api/v1/approvals?api_key=${secret}`, { token: key })
      await send(service, `/api/v1/approvals?cursor=${secret}`, { token: key })
      await send(service, `/${secret}`)
    }
    const caller = await newCaller(service)
    keep('third key', caller.token)
    const id = await caller.createdId()
    await alter(service, 'requests', id, { context_json: `Bearer ${key} ${jwt}` })
    expect((await caller.read(id)).status).toBe(500)
    const { requests } = service.composition.deps
    const { find } = requests
    requests.find = () =>
      Promise.reject(new Error(`failed at mongodb://admin:hunter2secret@db/x with ${key}`))
    expect((await caller.read(id)).status).toBe(500)
    requests.find = find
    keep('database password', 'hunter2secret')
  }

  /** The log as it would be written: every entry through the real one, at its most talkative. */
  function written(): string {
    let text = ''
    const sink = new Writable({
      write(chunk, _encoding, done) {
        text += String(chunk)
        done()
      },
    })
    const log = createLog({ production: true, logLevel: 'trace' }, sink)
    for (const { level, fields, message } of service.logged) {
      if (level === 'debug' || level === 'info' || level === 'warn' || level === 'error')
        log[level](fields, message)
    }
    return text
  }

  it('tells what happened', () => {
    const text = written()
    expect(text.split('\n').length).toBeGreaterThan(30)
    for (const part of [
      '/api/v1/approvals/request',
      '"status":201',
      '"status":500',
      'request failed',
      '127.0.0.1',
    ])
      expect(text).toContain(part)
  })

  it('contains none of the secrets', () => {
    const text = written()
    expect(secrets.size).toBeGreaterThan(20)
    const found = [...secrets].filter(([, secret]) => isIn(text, secret)).map(([what]) => what)
    expect(found).toEqual([])
  })

  it('never carries a header, cookie or body in the first place', () => {
    const names = new Set(service.logged.flatMap(({ fields }) => Object.keys(fields)))
    for (const name of ['headers', 'cookie', 'cookies', 'authorization', 'body', 'query'])
      expect(names).not.toContain(name)
  })

  it('logs what went wrong with the request id that the answer had', () => {
    const failed = service.logged.filter(({ message }) => message === 'request failed')
    expect(failed).toHaveLength(2)
    for (const { fields } of failed) expect(fields.request_id).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('the line of a request', () => {
  const linesOf = (service: TestService, path: string) =>
    service.logged.filter(({ message, fields }) => message === 'request' && fields.path === path)

  it('names the key or the person that was let in, and no one else', async () => {
    const service = await useService()
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const jwt = await signIn(service, caller.user)
    await send(service, '/api/v1/account/webhook-secret', { token: jwt })
    const refused = await send(service, `/api/v1/approvals/${id}?a=b`, { token: caller.token.slice(0, -1) })
    const line = (path: string) => expect.poll(() => linesOf(service, path).map(({ fields }) => fields))
    const by = { address: '127.0.0.1', ms: expect.any(Number) }
    await line('/api/v1/approvals/request').toEqual([
      {
        ...by,
        request_id: expect.any(String),
        method: 'POST',
        route: '/api/v1/approvals/request',
        path: '/api/v1/approvals/request',
        status: 201,
        key_id: caller.keyId,
      },
    ])
    await line('/api/v1/account/webhook-secret').toMatchObject([{ status: 200, user_id: caller.user.id }])
    await line(`/api/v1/approvals/${id}`).toEqual([
      {
        ...by,
        request_id: refused.headers.get('X-Request-Id'),
        method: 'GET',
        route: '/api/v1/approvals/:id',
        path: `/api/v1/approvals/${id}`,
        status: 401,
        error: 'invalid or missing API key',
      },
    ])
  })

  it('comes for a caller who hangs up, too', async () => {
    const service = await useService()
    const caller = await newCaller(service)
    const path = `/api/v1/approvals/${await caller.createdId()}/wait`
    const gone = new AbortController()
    const ask = () => caller.send(`${path}?timeout=60`, { signal: gone.signal })
    const [answer] = await startWaits(service, [() => ask().catch(() => 'none')])
    gone.abort()
    expect(await answer).toBe('none')
    await expect
      .poll(() => linesOf(service, path).map(({ fields }) => fields))
      .toMatchObject([
        { status: 499, cut_off: true, key_id: caller.keyId, route: '/api/v1/approvals/:id/wait' },
      ])
  })

  it('is part of the usual log in production, but for health checks', async () => {
    const env = { NODE_ENV: 'production', BASE_URL: 'https://approvals.example.com', TRUST_PROXY: '0' }
    const service = await useService({ env })
    for (const path of ['/healthz', '/readyz', '/api/v1/approvals']) await send(service, path)
    const level = (path: string) => expect.poll(() => linesOf(service, path).map((line) => line.level))
    await level('/healthz').toEqual(['debug'])
    await level('/readyz').toEqual(['debug'])
    await level('/api/v1/approvals').toEqual(['info'])
  })
})

describe('redact', () => {
  it.each([
    ['an API key', 'used sa_live_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM012345 here'],
    ['an internal token', 'Bearer internal-abc.def~x='],
    ['a JWT', 'token eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ1c3JfMSJ9.c2lnbmF0dXJlLXNpZ25hdHVyZS1zaWduYXR1cmU!'],
    [
      'a JWT glued to a word',
      'tokeneyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ1c3JfMSJ9.c2lnbmF0dXJlLXNpZ25hdHVyZS1zaWduYXR1cmU',
    ],
    ['a bootstrap id', 'GET /api/v1/bootstrap/boot_0123456789abcdefghijklmnopqrstuvwxyz/status'],
    ['a link token', 'https://a.example/enroll#abcdefghijklmnopqrstuvwxyz0123456789_-abcde'],
    ['a MongoDB password', 'mongodb+srv://user:pass%2Fword@host/db'],
    ['a bearer header', 'authorization: bearer c2VjcmV0'],
    ['a Slack bot token', 'token=xoxb-0123456789abcdef-abc.def, and more'],
    ['a Slack token that rotates', '"xoxe.xoxb-1-0123456789abcdef"'],
    ['a Slack app-level token', 'xapp-1-A0123456789abcdef-abc'],
    ['a client secret of Entra', 'client_secret=Abc8Q~0123456789abcdef.x_y-z~0123456789abc&x=1'],
  ])('replaces %s inside text', (_what, text) => {
    const safe = String(redact(text))
    expect(safe).toContain('[redacted]')
    for (const secret of [
      '0123456789abcdef',
      'abc.def',
      'eyJ',
      'c2VjcmV0',
      'pass%2Fword',
      'abcdefghijklmnopqrstuvwxyz',
    ])
      expect(safe).not.toContain(secret)
  })

  it('replaces named fields at any depth, in errors and their causes too', () => {
    const key = 'sa_test_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM012345'
    const error = new Error(`bad ${key}`, { cause: new TypeError(`because of ${key}`) })
    const safe = JSON.stringify(
      redact({
        a: { b: [{ Cookie: 'c=1', code: '123456' }] },
        error,
        webhook_secret: 'x1',
        slack: { signingSecret: 'x2', clientSecret: 'x3', botToken: 'x4', bot_token: 'x5' },
        teams: { appPassword: 'x6', TEAMS_APP_PASSWORD: 'x7' },
      }),
    )
    for (const secret of [key, 'c=1', '123456', '"x1"', '"x2"', '"x3"', '"x4"', '"x5"', '"x6"', '"x7"'])
      expect(safe).not.toContain(secret)
    expect(safe).toContain('TypeError')
  })

  it('keeps numbers, times, booleans and harmless text as they are', () => {
    const at = new Date()
    expect(redact({ status: 200, at, ok: true, path: '/api/v1/approvals', none: null })).toEqual({
      status: 200,
      at,
      ok: true,
      path: '/api/v1/approvals',
      none: null,
    })
  })

  it('is bounded: deep, wide, circular and very long things end', () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    expect(JSON.stringify(redact(circle))).toContain('[deep]')
    expect(
      Object.keys(Object(redact(Object.fromEntries(Array.from({ length: 500 }, (_, key) => [key, 1]))))),
    ).toHaveLength(100)
    expect(String(redact('x'.repeat(1_000_000))).length).toBeLessThan(20_000)
  })

  it('T63: 64 kB of text made to slow it down takes no time', () => {
    const units = [
      'eyJ',
      'eyJ.',
      'eyJa.eyJa.',
      '://a:',
      '://a:b@',
      '#',
      '#a',
      'Bearer ',
      'internal-',
      'sa_live_',
      'boot_',
      'xoxb-',
      'xapp-',
      'aaa8Q~',
      ':',
      ' ',
      'a.',
      'aaaa.',
    ]
    for (const unit of units) {
      const text = unit.repeat(Math.ceil(65_536 / unit.length))
      const took = Math.min(...[1, 2, 3].map(() => timed(() => redact(text))))
      // Some 2 ms where it is linear, two seconds where it is quadratic.
      expect([unit, took < 150]).toEqual([unit, true])
    }
  })
})

/** Six digits may be part of a time or an id by chance; a code that was logged stands by itself. */
function isIn(text: string, secret: string): boolean {
  return /^\d{6}$/.test(secret)
    ? new RegExp(`(?<![\\w.-])${secret}(?![\\w-])`).test(text)
    : text.includes(secret)
}

function timed(run: () => unknown): number {
  const before = process.cpuUsage()
  run()
  return process.cpuUsage(before).user / 1000
}
