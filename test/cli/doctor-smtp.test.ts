import { describe, expect, it, onTestFinished } from 'vitest'
import { runSmtpDoctor } from '../../src/cli/doctor/smtp.ts'
import { inEnvironment } from '../../src/config/config.ts'
import { startMailServer } from '../support/mail-server.ts'

async function examine(env: Record<string, string>, options = {}) {
  const { value, failure } = await inEnvironment(env, () => runSmtpDoctor(options))
  const checks: { name: string; status: string; detail: string; fix?: string }[] = Object(value).checks
  const told = checks.filter(({ name }) => name !== 'Configuration')
  return { told: told.map(({ name, status, detail }) => `${status} ${name}: ${detail}`), failure, checks }
}

describe('doctor smtp', () => {
  it('says that nothing is set up, and that no relay answers', async () => {
    expect((await examine({})).told).toEqual(['fail E-mail: not set up: no SMTP_ variable is set'])
    const env = { SMTP_HOST: '127.0.0.1', SMTP_PORT: '1', SMTP_FROM: 'a@example.com' }
    const { told, failure } = await examine(env)
    expect(told).toEqual([expect.stringMatching(/^fail Mail relay: 127\.0\.0\.1:1: /)])
    expect(failure).toMatchObject({ error: 'doctor_failed' })
  })

  it('greets the relay, warns of a line that others can read, and sends a test only where it is asked to', async () => {
    const server = await startMailServer()
    onTestFinished(() => server.close())
    const where = `127.0.0.1:${server.port}`
    const relay = `warn Mail relay: ${where} answers without TLS, no login; mails come from approvals@example.com`
    expect((await examine(server.env)).told).toEqual([relay])
    expect(server.mails).toEqual([])
    const sent = await examine(server.env, { to: 'Ann@example.com' })
    expect(sent.told).toEqual([
      relay,
      'ok Test mail: accepted by the relay; look whether it arrives, and not among the spam',
    ])
    expect(server.mails.map(({ to }) => to)).toEqual([['ann@example.com']])
    server.behave(() => [550, 'relay not permitted'])
    expect((await examine(server.env, { to: 'x@elsewhere.example' })).told).toEqual([
      relay,
      'fail Test mail: not accepted: smtp_550',
    ])
  })

  it('T92: names a refused login without the password', async () => {
    const server = await startMailServer({
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) => done(new Error('no')),
    })
    onTestFinished(() => server.close())
    const { told, checks } = await examine({
      ...server.env,
      SMTP_USER: 'u',
      SMTP_PASSWORD: 'hunter2',
      SMTP_TLS: 'none',
    })
    expect(told).toEqual([`fail Mail relay: 127.0.0.1:${server.port}: answers 535 to AUTH`])
    expect(JSON.stringify(checks)).not.toContain('hunter2')
  })
})
