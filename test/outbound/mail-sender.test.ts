import { createServer } from 'node:net'
import type { SMTPServerOptions } from 'smtp-server'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { MailRelay } from '../../src/domain/mail.ts'
import { createMailSender, greetRelay } from '../../src/outbound/mail-sender.ts'
import { startMailServer } from '../support/mail-server.ts'
import { type Certificate, makeCertificate } from './receiver.ts'

let known: Certificate
beforeAll(async () => {
  known = await makeCertificate('localhost')
})

const PASSWORD = 'correct horse "battery"'
const LOGIN = { user: 'countersign', password: PASSWORD }

async function relay(options: SMTPServerOptions = {}) {
  const server = await startMailServer(options)
  onTestFinished(() => server.close())
  return server
}

/** Accepts one login; anything else is refused as relays do. */
const withLogin: SMTPServerOptions = {
  onAuth({ username, password }, _session, done) {
    if (username === LOGIN.user && password === PASSWORD) return done(null, { user: username })
    done(new Error('Invalid username or password'))
  },
}

function settings(port: number, more: Partial<MailRelay & { ca: string; timeoutMs: number }> = {}) {
  const from = Object.freeze({ name: 'Countersign', address: 'approvals@example.com' })
  const base = { host: 'localhost', port, tls: 'opportunistic' as const, from }
  return {
    ...base,
    baseUrl: 'https://approve.example.com',
    timeoutMs: 5_000,
    ...more,
  }
}

const MESSAGE = {
  to: 'ann@example.com',
  mail: { subject: 'S', text: 'T', html: '<p>T</p>' },
  id: 'id1',
  thread: 'th1',
  at: new Date('2026-11-21T16:02:45Z'),
}

const outcomeOf = async (options: ReturnType<typeof settings>, message = MESSAGE) =>
  (await createMailSender(options).send(message)).outcome

describe('T92: the line to the relay', () => {
  it.each([
    ['starttls', 'no STARTTLS', {}, 'none', 'smtp_500'],
    ['starttls', 'a stranger’s certificate', {}, 'stranger', 'connect_failed'],
    ['starttls', 'a known certificate', {}, 'known', 'smtp_250'],
    ['implicit', 'a known certificate', { secure: true }, 'known', 'smtp_250'],
    ['implicit', 'a stranger’s certificate', { secure: true }, 'stranger', 'connect_failed'],
  ] as const)(
    '%s where the relay has %s: the password is told only to a known one',
    async (tls, _what, how, whose, outcome) => {
      const logins: string[] = []
      const certificate = whose === 'none' ? {} : { key: known.key, cert: known.cert }
      const server = await relay({
        ...{ ...how, ...certificate, ...withLogin, allowInsecureAuth: true },
        onAuth(auth, session, done) {
          logins.push(String(auth.password))
          withLogin.onAuth?.call(this as never, auth, session, done)
        },
      })
      const trusted = whose === 'known' ? { ca: known.cert } : {}
      expect(await outcomeOf(settings(server.port, { tls, login: LOGIN, ...trusted }))).toBe(outcome)
      expect(logins).toEqual(outcome === 'smtp_250' ? [PASSWORD] : [])
      expect(server.mails.map(({ encrypted, user }) => ({ encrypted, user }))).toEqual(
        outcome === 'smtp_250' ? [{ encrypted: true, user: LOGIN.user }] : [],
      )
    },
  )

  it.each([
    ['opportunistic', true],
    ['none', false],
  ] as const)(
    '%s, where the relay offers STARTTLS with an unknown certificate: encrypted: %s',
    async (tls, encrypted) => {
      const server = await relay({ key: known.key, cert: known.cert })
      expect(await outcomeOf(settings(server.port, { tls }))).toBe('smtp_250')
      expect(server.mails).toMatchObject([{ encrypted }])
      expect(await greetRelay(settings(server.port, { tls }))).toEqual({ encrypted })
    },
  )

  it('a refused login sends nothing, and no failure holds the password', async () => {
    const server = await relay({ ...withLogin, allowInsecureAuth: true })
    const options = settings(server.port, { login: { ...LOGIN, password: 'wrong one' } })
    expect(await outcomeOf(options)).toBe('smtp_535')
    const failure = await greetRelay(options).catch((error: unknown) => error)
    expect(failure).toMatchObject({ name: 'SmtpFailure', reply: 535 })
    const told = JSON.stringify([
      failure,
      String(failure),
      Object.getOwnPropertyNames(Object(failure)).map((name) => Object(failure)[name]),
    ])
    expect(told).not.toMatch(/wrong one|d3Jvbmcgb25l/)
    expect(server.mails).toEqual([])
  })
})

describe('what a relay answers', () => {
  it.each([
    [550, '5.1.1 No such user', 'bounced'],
    [550, 'Unrouteable address', 'bounced'],
    [553, '5.1.3 Bad address syntax', 'bounced'],
    [552, '5.2.2 Mailbox full', 'bounced'],
    [554, '5.7.1 Relay access denied', 'smtp_554'],
    [550, 'relay not permitted', 'smtp_550'],
    [550, '5.7.26 Unauthenticated email is not accepted', 'smtp_550'],
    [451, '4.7.1 Greylisted', 'smtp_451'],
    [450, '4.2.1 Try later', 'smtp_450'],
  ] as const)('%i %s to the recipient: %s', async (code, text, outcome) => {
    const server = await relay()
    server.behave(() => [code, text])
    expect(await outcomeOf(settings(server.port))).toBe(outcome)
  })

  it('an address that is no address bounces, and nothing else is written on the line', async () => {
    const server = await relay()
    for (const to of [
      'a@b.example\r\nRCPT TO:<victim@evil.example>',
      'a>@b.example',
      '<x@y.example>,z@z.example',
    ])
      expect(await outcomeOf(settings(server.port), { ...MESSAGE, to })).toMatch(
        /^(?:bounced|unsigned|smtp_250)$/,
      )
    expect(server.named.filter((address) => /victim|z@z/.test(address))).toEqual([])
    expect(server.mails.flatMap(({ raw }) => raw.match(/^(?:Bcc|RCPT).*/gim) ?? [])).toEqual([])
  })

  it('none, a silent relay, and a stop in the middle', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1')
    onTestFinished(() => void silent.close())
    await new Promise((resolve) => silent.once('listening', resolve))
    const { port } = Object(silent.address())
    const sender = createMailSender(settings(port, { host: '127.0.0.1', timeoutMs: 20_000 }))
    const stopped = sender.send(MESSAGE)
    await new Promise((resolve) => silent.once('connection', resolve))
    sender.close()
    expect((await stopped).outcome).toBe('interrupted')
    expect((await sender.send(MESSAGE)).outcome).toBe('interrupted')
    expect(await outcomeOf(settings(port, { host: '127.0.0.1', timeoutMs: 200 }))).toBe('timeout')
    expect(await outcomeOf(settings(1, { host: '127.0.0.1' }))).toBe('connect_failed')
  })
})
