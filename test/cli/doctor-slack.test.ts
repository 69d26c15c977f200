import { createServer } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { cli, useDataDir } from '../support/cli.ts'
import { freePort } from '../support/service.ts'
import { type SlackEmulator, startSlack, useSlack } from '../support/slack-emulator.ts'

interface Check {
  name: string
  status: string
  detail: string
  fix?: string
}

const NEEDED = ['chat:write', 'commands', 'im:history', 'im:write', 'users:read', 'users:read.email']

let slack: SlackEmulator

beforeAll(async () => {
  slack = await startSlack({ teamName: 'Acme', scopes: NEEDED })
})
afterAll(() => slack.close())
beforeEach(() => slack.behave(() => undefined))

async function examine(env: Record<string, string>) {
  const { env: data } = await useDataDir()
  const run = await cli(['doctor', 'slack', '--json'], { env: { ...data, ...env } })
  const checks: Check[] = run.json().checks
  return { run, checks, of: (name: string) => checks.find((check) => check.name === name) }
}

/** Stands where BASE_URL leads, and answers /slack/events with a status for what is signed or not. @returns its origin */
async function somethingAt(status: number, signed = status): Promise<string> {
  const server = createServer(({ method, url, headers }, response) => {
    const asked = method === 'POST' && url === '/slack/events'
    const called = headers['x-slack-signature'] === undefined ? status : signed
    response.writeHead(asked ? called : 500).end()
  })
  onTestFinished(() => void server.close())
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  return `http://localhost:${address !== null && typeof address === 'object' ? address.port : 0}`
}

const oneBy = (of: SlackEmulator) => ({ SLACK_BOT_TOKEN: of.botToken, SLACK_API_URL: of.apiUrl })
const socket = { SLACK_APP_TOKEN: 'xapp-1-emulated' }

describe('countersign doctor slack', () => {
  it('says how to begin when nothing is set', async () => {
    const { run, checks } = await examine({})
    expect(run.code).toBe(1)
    expect(run.error()).toEqual({ error: 'doctor_failed', message: '1 of 1 checks failed.' })
    expect(checks).toEqual([
      {
        name: 'Slack',
        status: 'fail',
        detail: 'not set up: no SLACK_ variable is set',
        fix: 'Make the app: npx countersign slack manifest --socket\nThen set SLACK_BOT_TOKEN and SLACK_APP_TOKEN (docs/slack.md).',
      },
    ])
    const { of } = await examine({ BASE_URL: 'https://approvals.example.com' })
    expect(of('Slack')?.fix).toBe(
      'Make the app: npx countersign slack manifest\nThen set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET (docs/slack.md).',
    )
  })

  it('names what is wrong with the configuration', async () => {
    const { run, checks } = await examine({ SLACK_BOT_TOKEN: slack.botToken })
    expect(run.code).toBe(1)
    expect(checks).toMatchObject([
      {
        status: 'fail',
        detail: 'SLACK_SIGNING_SECRET: must be set, or SLACK_APP_TOKEN for Socket Mode',
        fix: 'Change SLACK_SIGNING_SECRET in the environment or in .env; .env.example explains it.',
      },
    ])
  })

  it('finds one workspace over Socket Mode in order, and prints no secret', async () => {
    slack.behave(({ method }) =>
      method === 'apps.connections.open'
        ? { answer: { ok: true, url: 'wss://127.0.0.1/ticket' } }
        : undefined,
    )
    const { run, checks } = await examine({ ...oneBy(slack), ...socket })
    expect(checks).toEqual([
      { name: 'Slack', status: 'ok', detail: `one workspace by its bot token; Socket Mode; ${slack.apiUrl}` },
      { name: 'Bot token', status: 'ok', detail: `valid for Acme (${slack.teamId})` },
      { name: 'Scopes', status: 'ok', detail: 'all 6 that are needed' },
      { name: 'Look-up', status: 'ok', detail: 'finds people by their e-mail address' },
      { name: 'App token', status: 'ok', detail: 'Slack accepts connections (Socket Mode)' },
    ])
    expect([run.code, run.stderr, run.json().ok]).toEqual([0, '', true])
    expect(slack.calls.at(-1)).toMatchObject({
      method: 'apps.connections.open',
      token: socket.SLACK_APP_TOKEN,
    })
    expect(run.stdout).not.toMatch(/xoxb|xapp|ticket/)
  })

  it('names the scopes that are missing, and what that keeps from working', async () => {
    const narrow = await useSlack({ scopes: ['chat:write', 'commands'] })
    const { run, of } = await examine({ ...oneBy(narrow), ...socket })
    expect(run.code).toBe(1)
    expect(of('Scopes')).toMatchObject({
      status: 'fail',
      detail: 'missing: im:history, im:write, users:read, users:read.email',
      fix: expect.stringContaining('npx countersign slack manifest'),
    })
    expect(of('Look-up')).toMatchObject({
      status: 'fail',
      detail: 'Slack refuses it: missing_scope',
      fix: expect.stringContaining('users:read.email'),
    })
  })

  it.each([
    ['invalid_auth', /Copy the Bot User OAuth Token/],
    ['token_revoked', /Install it again/],
    ['account_inactive', /Install it again/],
    ['token_expired', /token rotation off/],
    ['fatal_error', /docs\.slack\.dev/],
    ['\u001b[2J', /docs\.slack\.dev/],
  ])('tells what to do about a bot token that is refused: %s', async (error, fix) => {
    slack.behave(({ method }) => (method === 'auth.test' ? { error } : undefined))
    const { run, of } = await examine({ ...oneBy(slack), ...socket })
    expect(run.code).toBe(1)
    expect(of('Bot token')).toMatchObject({ status: 'fail', fix: expect.stringMatching(fix) })
    expect(of('Scopes')).toBeUndefined()
    expect(run.stdout).not.toContain('[2J')
  })

  it('says so when Slack does not tell scopes, refuses the app token, or does not answer', async () => {
    const body = JSON.stringify({ ok: true, team: 'A\u001b[2Jme', team_id: 'T1' })
    slack.behave(({ method }) =>
      method === 'auth.test'
        ? { status: 200, body }
        : method === 'apps.connections.open'
          ? { error: 'not_allowed_token_type' }
          : 'drop',
    )
    const { run, of } = await examine({ ...oneBy(slack), ...socket })
    expect(of('Bot token')?.detail).toBe('valid for A?[2Jme (T1)')
    expect(of('Scopes')).toMatchObject({ status: 'warn', fix: expect.stringContaining(NEEDED.join(', ')) })
    expect(of('App token')).toMatchObject({
      status: 'fail',
      detail: 'Slack refuses it: not_allowed_token_type',
      fix: expect.stringContaining('connections:write'),
    })
    expect(of('Slack API')).toMatchObject({ status: 'fail', detail: `nothing answers at ${slack.apiUrl}` })
    expect(run.code).toBe(1)
  })

  it('says once that Slack does not answer', async () => {
    slack.behave(() => 'drop')
    const { run, checks } = await examine({ ...oneBy(slack), ...socket })
    expect(checks.slice(1)).toEqual([
      {
        name: 'Slack API',
        status: 'fail',
        detail: `nothing answers at ${slack.apiUrl}`,
        fix: expect.stringContaining('SLACK_API_URL'),
      },
    ])
    expect(run.error().message).toBe('1 of 2 checks failed.')
  })

  it.each([
    [401, 'ok', /refuses unsigned requests$/, undefined],
    [404, 'fail', /answers 404$/, /^Restart the service/],
    [200, 'fail', /answers 200 instead of 401$/, /a proxy must pass requests on/],
    [502, 'fail', /answers 502 instead of 401$/, /a proxy must pass requests on/],
  ])('looks where Slack sends to: %i is %s', async (status, found, detail, fix) => {
    const origin = await somethingAt(status)
    const env = { ...oneBy(slack), SLACK_SIGNING_SECRET: 'emulated', BASE_URL: origin }
    const { run, of } = await examine(env)
    expect(of('Events address')).toMatchObject({ status: found, detail: expect.stringMatching(detail) })
    if (fix !== undefined) expect(of('Events address')?.fix).toMatch(fix)
    expect(of('BASE_URL')).toMatchObject({
      status: 'fail',
      detail: `Slack sends only to https: addresses, not to ${origin}`,
      fix: expect.stringContaining('SLACK_APP_TOKEN'),
    })
    expect(run.code).toBe(1)
  })

  it.each([
    [200, 'ok', 'the running service accepts requests signed with it', undefined],
    [401, 'fail', 'the running service has another SLACK_SIGNING_SECRET', /^Copy the Signing Secret again/],
    [
      503,
      'fail',
      'requests signed with it are answered with 503 instead of with 200',
      /a proxy must pass requests on/,
    ],
  ])('looks whether what is signed is taken: %i is %s', async (status, found, detail, fix) => {
    const origin = await somethingAt(401, status)
    const env = { ...oneBy(slack), SLACK_SIGNING_SECRET: 'emulated', BASE_URL: origin }
    const { of } = await examine(env)
    expect(of('Signing secret')).toMatchObject({ status: found, detail })
    if (fix !== undefined) expect(of('Signing secret')?.fix).toMatch(fix)
  })

  it('says so when nothing answers at BASE_URL, and takes an https: address', async () => {
    const origin = `https://localhost:${await freePort()}`
    const env = { ...oneBy(slack), SLACK_SIGNING_SECRET: 'emulated', BASE_URL: origin }
    const { of } = await examine(env)
    expect(of('BASE_URL')).toEqual({ name: 'BASE_URL', status: 'ok', detail: origin })
    expect(of('Events address')).toMatchObject({
      status: 'fail',
      detail: `nothing answers at ${origin}/slack/events`,
      fix: 'Start the service, and make sure that BASE_URL leads to it, also from the internet.',
    })
  })

  it('tells people line by line', async () => {
    const { env } = await useDataDir()
    const run = await cli(['doctor', 'slack'], { env: { ...env, ...oneBy(slack), ...socket } })
    expect(run.stdout).toContain(`ok    Bot token       valid for Acme (${slack.teamId})\n`)
    expect(run.stdout).toMatch(/\n\d of 5 checks failed\.\n$/)
  })
})
