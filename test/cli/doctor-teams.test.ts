import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { beginTrouble } from '../../src/flow/tell/trouble.ts'
import { type Certificate, makeCertificate } from '../outbound/receiver.ts'
import { cli, cliProcess, useDataDir } from '../support/cli.ts'
import { bodyOf, closeServer, listenLocally } from '../support/local-server.ts'
import { addPerson } from '../support/people.ts'
import { databaseUri, freePort, TEST_SECRETS } from '../support/service.ts'
import { startTeamsIdentity, type TeamsIdentity } from '../support/teams-identity.ts'
import { personNumber, TEAMS_PASSWORD, useTeams } from '../support/teams-service.ts'

interface Check {
  name: string
  status: string
  detail: string
  fix?: string
}

const [APP, TENANT] = [randomUUID(), randomUUID()]
const PASSWORD = 'hunter2-of-the-bot'

let microsoft: TeamsIdentity
let bot: Record<string, string>

beforeAll(async () => {
  microsoft = await startTeamsIdentity({ appId: APP, appPassword: PASSWORD, tenantId: TENANT })
  bot = {
    TEAMS_APP_ID: APP,
    TEAMS_APP_PASSWORD: PASSWORD,
    TEAMS_TENANT_ID: TENANT,
    TEAMS_OPENID_URL: microsoft.openIdUrl,
    TEAMS_LOGIN_URL: microsoft.loginUrl,
  }
})
afterAll(() => microsoft.close())
beforeEach(() => {
  microsoft.mood = 'grant'
  microsoft.keysAnswer = Number.POSITIVE_INFINITY
})

async function examine(env: Record<string, string>, command = cli) {
  const { env: data } = await useDataDir()
  const run = await command(['doctor', 'teams', '--json'], { env: { ...data, ...env } })
  const checks: Check[] = run.json().checks
  return { run, checks, of: (name: string) => checks.find((check) => check.name === name) }
}

/** Stands where BASE_URL leads, and answers /api/messages with that status. @returns its origin, and what came */
async function somethingAt(status: number, tls?: Certificate) {
  const came: string[] = []
  const answer: RequestListener = async (request, response) => {
    const asked = request.method === 'POST' && request.url === '/api/messages'
    came.push(`${request.headers['content-type']} ${request.headers.authorization} ${await bodyOf(request)}`)
    response.writeHead(asked ? status : 500).end()
  }
  const server = tls === undefined ? createHttpServer(answer) : createHttpsServer(tls, answer)
  const address = await listenLocally(server)
  onTestFinished(() => closeServer(server))
  const origin = address.replace(
    'http://127.0.0.1',
    tls === undefined ? 'http://localhost' : 'https://localhost',
  )
  return { origin, came }
}

describe('countersign doctor teams', () => {
  it('says how to begin when nothing is set', async () => {
    const { run, checks } = await examine({})
    expect(run.code).toBe(1)
    expect(run.error()).toEqual({ error: 'doctor_failed', message: '1 of 1 checks failed.' })
    expect(checks).toEqual([
      {
        name: 'Teams',
        status: 'fail',
        detail: 'not set up: no TEAMS_ variable is set',
        fix: 'Register the bot (docs/teams.md). Then set TEAMS_APP_ID, TEAMS_APP_PASSWORD and TEAMS_TENANT_ID.',
      },
    ])
  })

  it('names what is wrong with the configuration', async () => {
    const { run, checks } = await examine({ TEAMS_APP_ID: APP })
    expect(run.code).toBe(1)
    expect(checks.map(({ status, detail }) => [status, detail])).toEqual([
      ['fail', 'TEAMS_APP_PASSWORD: must be set, a client secret of the app'],
      ['fail', 'TEAMS_TENANT_ID: must be set, the tenant that is served'],
    ])
  })

  it('finds a connection in order over https:, uses no token, and prints no secret', async () => {
    const certificate = await makeCertificate('localhost')
    const { origin, came } = await somethingAt(401, certificate)
    const { folder } = await useDataDir()
    const authority = join(folder, 'authority.pem')
    await writeFile(authority, certificate.cert)
    const env = { ...bot, BASE_URL: origin, NODE_EXTRA_CA_CERTS: authority }
    // Node reads the authorities of NODE_EXTRA_CA_CERTS when a process starts.
    const { run, checks } = await examine(env, cliProcess)
    expect(checks).toEqual([
      { name: 'Teams', status: 'ok', detail: `bot ${APP} in tenant ${TENANT}` },
      { name: 'Client secret', status: 'ok', detail: 'the tenant gives the bot tokens' },
      { name: 'Keys of Teams', status: 'ok', detail: '1 of 3 are endorsed for Teams' },
      { name: 'BASE_URL', status: 'ok', detail: origin },
      { name: 'Messages', status: 'ok', detail: `${origin}/api/messages refuses unsigned requests` },
      {
        name: 'Conversations',
        status: 'warn',
        detail: 'no one has the app yet, as far as Teams has reported',
        fix: expect.stringMatching(
          /countersign teams package[\s\S]*Single Tenant[\s\S]*BASE_URL\/api\/messages/,
        ),
      },
    ])
    expect([run.code, run.stderr, run.json().ok]).toEqual([0, '', true])
    expect(came).toEqual([expect.stringMatching(/^application\/json undefined \{"type":"message"/)])
    expect(run.stdout).not.toContain(PASSWORD)
  })

  it.each([
    [
      { error: 'invalid_client', error_codes: [7000215] },
      'AADSTS7000215',
      /value, shown once, not the secret’s id/,
    ],
    [{ error: 'invalid_client', error_codes: [7000222] }, 'AADSTS7000222', /has expired/],
    [
      { error: 'unauthorized_client', error_description: 'AADSTS700016: Application not found' },
      'AADSTS700016',
      /type must be Single Tenant/,
    ],
    [{ error: 'invalid_request', error_codes: [90002] }, 'AADSTS90002', /type must be Single Tenant/],
    [{ error: 'unauthorized_client', error_codes: [7000112] }, 'AADSTS7000112', /disabled/],
    [{ error: 'invalid_client' }, 'invalid_client', /TEAMS_APP_PASSWORD to its value/],
    [{ error: 'invalid_grant', error_codes: [65001] }, 'AADSTS65001', /login\.microsoftonline\.com\/error/],
    [{ error: '\u001b[2J' }, 'an unknown error', /Compare all three/],
    [{ error: 7, error_codes: 'x', error_description: 'AADSTSx' }, 'an unknown error', /Compare all three/],
  ])('tells what to do about a secret that is refused: %j', async (body, code, fix) => {
    microsoft.mood = { status: 401, body }
    const { run, of } = await examine(bot)
    expect(run.code).toBe(1)
    expect(of('Client secret')).toMatchObject({
      status: 'fail',
      detail: `Microsoft refuses it: ${code}`,
      fix: expect.stringMatching(fix),
    })
    expect(run.stdout).not.toContain('[2J')
  })

  it('asks as the bot itself: a wrong secret is refused', async () => {
    const { of } = await examine({ ...bot, TEAMS_APP_PASSWORD: 'another' })
    expect(of('Client secret')?.detail).toBe('Microsoft refuses it: AADSTS7000215')
  })

  it('says so when Microsoft does not answer', async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}`
    const there = { TEAMS_LOGIN_URL: nowhere, TEAMS_OPENID_URL: `${nowhere}/openid` }
    const { run, of } = await examine({ ...bot, ...there })
    expect(run.code).toBe(1)
    expect(of('Client secret')).toMatchObject({ status: 'fail', detail: `nothing answers at ${nowhere}` })
    expect(of('Keys of Teams')).toMatchObject({
      status: 'fail',
      detail: 'cannot be reached (ECONNREFUSED)',
      fix: `Allow this machine to reach ${nowhere}/openid directly.`,
    })
  })

  it('says so when something that is not Microsoft’s sign-in answers in its place', async () => {
    const server = createHttpServer((_request, response) => response.end('<html>Welcome to the proxy'))
    const url = await listenLocally(server)
    onTestFinished(() => closeServer(server))
    const { run, of } = await examine({ ...bot, TEAMS_LOGIN_URL: url })
    expect(run.code).toBe(1)
    expect(of('Client secret')).toMatchObject({
      status: 'fail',
      detail: `the server at ${url} is not Microsoft’s sign-in`,
      fix: 'Something else answers there: a proxy, or a wrong TEAMS_LOGIN_URL.',
    })
  })

  it('is not satisfied with keys of other channels, or with none', async () => {
    const keys = [{ kty: 'RSA', kid: 'a', n: 'AQAB'.repeat(90), e: 'AQAB', endorsements: ['webchat'] }]
    const server = createHttpServer((request, response) => {
      const { port } = Object(server.address())
      const body = request.url === '/openid' ? { jwks_uri: `http://127.0.0.1:${port}/keys` } : { keys }
      response.end(JSON.stringify(body))
    })
    const openId = `${await listenLocally(server)}/openid`
    onTestFinished(() => closeServer(server))
    const { of } = await examine({ ...bot, TEAMS_OPENID_URL: openId })
    expect(of('Keys of Teams')).toMatchObject({
      status: 'fail',
      detail: 'none of 1 is endorsed for Teams',
      fix: expect.stringContaining(openId),
    })
    microsoft.keysAnswer = 0
    const down = await examine(bot)
    expect(down.of('Keys of Teams')).toMatchObject({
      status: 'fail',
      detail: 'cannot be read: status 500 (down)',
    })
  })

  it.each([
    [401, 'ok', /refuses unsigned requests$/, undefined],
    [404, 'fail', /answers 404$/, /^Restart the service .* has no Teams/],
    [200, 'fail', /answers 200 instead of 401$/, /a proxy must pass requests on/],
    [502, 'fail', /answers 502 instead of 401$/, /a proxy must pass requests on/],
  ])('looks where Teams sends to: %i is %s', async (status, found, detail, fix) => {
    const { origin } = await somethingAt(status)
    const { run, of } = await examine({ ...bot, BASE_URL: origin })
    expect(of('Messages')).toMatchObject({ status: found, detail: expect.stringMatching(detail) })
    if (fix !== undefined) expect(of('Messages')?.fix).toMatch(fix)
    expect(of('BASE_URL')).toMatchObject({
      status: 'fail',
      detail: `Teams sends only to https: addresses, not to ${origin}`,
      fix: 'Set BASE_URL to the public https: address.',
    })
    expect(run.code).toBe(1)
  })

  it('warns of a door that stands open for test clients, and asks nobody', async () => {
    const { TEAMS_APP_ID: _, TEAMS_APP_PASSWORD: __, ...rest } = bot
    const before = { ...microsoft.asked }
    const { run, checks } = await examine({ ...rest, TEAMS_ALLOW_UNAUTHENTICATED: '1' })
    expect(checks.map(({ name, status }) => [name, status])).toEqual([
      ['Teams', 'warn'],
      ['Conversations', 'warn'],
    ])
    expect(checks[0]?.detail).toContain('anyone who reaches the service can speak as any person')
    expect([run.code, microsoft.asked]).toEqual([0, before])
  })

  it('counts whom the running service can write to, in this tenant alone', async () => {
    const setting = await useTeams()
    const { url, composition } = setting.service
    const examined = (tenant: string) =>
      examine({
        ...TEST_SECRETS,
        TEAMS_APP_ID: setting.appId,
        TEAMS_APP_PASSWORD: TEAMS_PASSWORD,
        TEAMS_TENANT_ID: tenant,
        TEAMS_OPENID_URL: setting.identity.openIdUrl,
        TEAMS_LOGIN_URL: setting.identity.loginUrl,
        MONGODB_URI: databaseUri(inject('storeUri'), composition.connection.name),
        BASE_URL: url,
      })
    await setting.driver.installation(personNumber(setting, 1), 'add')
    const one = await examined(setting.tenantId)
    expect(one.of('Conversations')).toEqual({
      name: 'Conversations',
      status: 'ok',
      detail: '1 person, 0 channels',
    })
    expect(one.of('Messages')).toMatchObject({
      status: 'ok',
      detail: `${url}/api/messages refuses unsigned requests`,
    })
    await setting.driver.installation(personNumber(setting, 2), 'add')
    await setting.driver.message(personNumber(setting, 2), 'help', { channel: setting.channel })
    const more = await examined(setting.tenantId)
    expect(more.of('Conversations')?.detail).toBe('2 people, 1 channel')
    expect((await examined(randomUUID())).of('Conversations')?.status).toBe('warn')

    // What takes no cards, and since when.
    expect(more.of('Cards')).toBeUndefined()
    const { accounts } = composition.deps
    const { account_id } = await addPerson(setting.service, 'owner@example.com')
    const { tenantId: tenant, channel } = setting
    const connected = { platform: 'teams', tenant, channel, name: 'Platform / ‮Releases' }
    const stored = composition.connection.collection<{ _id: string }>('accounts')
    await stored.updateOne({ _id: account_id }, { $set: { channels: [connected] } })
    await setting.driver.installation(personNumber(setting, 2), 'remove', { channel })
    const since = async () =>
      (await accounts.find(account_id))?.chat_troubles?.map((one) => one.since.toISOString()) ?? []
    const [removed] = await since()
    expect((await examined(tenant)).of('Cards')).toEqual({
      name: 'Cards',
      status: 'warn',
      detail: `none are accepted in “Platform / [U+202E]Releases” since ${removed} (app_removed)`,
      fix: expect.stringMatching(/^Add the app to the team or group chat again; .*remove the channel/),
    })
    const disabled = { platform: 'teams', tenant, reason: 'Unauthorized' } as const
    await beginTrouble(composition.deps, account_id, disabled)
    const [, later] = await since()
    expect((await examined(tenant)).of('Cards')).toMatchObject({
      detail: `none are accepted since ${later} (Unauthorized), and 1 more`,
      fix: expect.stringContaining('the client secret has expired'),
    })
  })

  it('says so when the store cannot be opened', async () => {
    const { folder } = await useDataDir()
    await writeFile(join(folder, 'store.db'), 'this is no database '.repeat(500))
    const { of } = await examine({ ...bot, DATA_DIR: folder })
    expect(of('Conversations')).toMatchObject({
      status: 'fail',
      detail: expect.stringContaining('not a database'),
      fix: 'Run: npx countersign doctor',
    })
  })

  it('tells people line by line', async () => {
    const { env } = await useDataDir()
    const run = await cli(['doctor', 'teams'], { env: { ...env, ...bot } })
    expect(run.code).toBe(1)
    expect(run.stdout).toMatch(/^ok {4}Client secret {3}the tenant gives the bot tokens$/m)
    expect(run.stdout).toMatch(/^FAIL {2}BASE_URL/m)
    expect(run.stdout).toMatch(/\n2 of 6 checks failed\.\n$/)
  })
})
