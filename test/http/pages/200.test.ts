import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { BUILT_DASHBOARD, BUILT_PAGE } from '../../support/page-server.ts'
import { rawRequest } from '../../support/raw-http.ts'
import { startService, type TestService } from '../../support/service.ts'

const ID = 'req_00000000000000000000000000'
const HOSTED = [
  '/setup',
  '/enroll',
  '/signin',
  '/signin?next=/account',
  '/link',
  `/a/${ID}`,
  `/a/${ID}?d=approve`,
  '/b/bst_00000000000000000000000000',
]
const DASHBOARD = [
  '/',
  '/overview',
  '/account',
  '/account?account=acc_1',
  '/requests',
  '/keys',
  '/integrations',
  '/integrations/webhooks/whk_1',
  '/members',
  '/settings',
  '/audit',
  '/verify',
]
const PAGES = [
  ...HOSTED.map((path) => [path, BUILT_PAGE, 'none'] as const),
  ...DASHBOARD.map((path) => [path, BUILT_DASHBOARD, 'service-worker'] as const),
]
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join(';')
/** The dashboard may register the service worker and be installed; nothing else is let through. */
const DASHBOARD_POLICY = `${POLICY.replace("trusted-types 'none'", 'trusted-types service-worker')};manifest-src 'self'`
const BOTS = [
  'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
  'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com',
  'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
  'Mozilla/5.0 (compatible; Microsoft Safe Links)',
  'Google-Safety; Googlebot/2.1',
]

let service: TestService
let setting: LiveSetting
beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

describe('the shell of the pages', () => {
  it.each(PAGES)('GET %s is the same HTML for everybody', async (path, folder) => {
    const shell = await readFile(join(folder, 'index.html'))
    const cookie = [...setting.owner.browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    for (const headers of [{}, { Cookie: cookie }, { 'Accept-Encoding': 'br, gzip' }]) {
      const answer = await rawRequest(service.url, path, { headers })
      expect(answer.status).toBe(200)
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(answer.body.equals(shell)).toBe(true)
      expect(answer.headers['set-cookie']).toBeUndefined()
    }
  })

  it.each(PAGES)(
    'GET %s is always fresh, runs only our files, cannot be framed (T21), tells no referrer (T14)',
    async (path, _folder, trusted) => {
      for (const method of ['GET', 'HEAD']) {
        const { headers } = await rawRequest(service.url, path, { method })
        expect(headers['cache-control']).toBe('no-cache')
        expect(headers['content-security-policy']).toBe(trusted === 'none' ? POLICY : DASHBOARD_POLICY)
        expect(headers['x-frame-options']).toBe('DENY')
        expect(headers['referrer-policy']).toBe('no-referrer')
        expect(headers['permissions-policy']).toBe(
          'publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), microphone=(), geolocation=()',
        )
        expect(headers['x-content-type-options']).toBe('nosniff')
        expect(headers['cross-origin-opener-policy']).toBe('same-origin')
      }
    },
  )

  it.each(['/signin', '/account'])(
    '%s says by itself that it is not to be indexed and tells no referrer, whoever serves it',
    async (path) => {
      const html = (await rawRequest(service.url, path)).body.toString('utf8')
      expect(html).toContain('<meta name="referrer" content="no-referrer"')
      expect(html).toContain('<meta name="robots" content="noindex, nofollow"')
    },
  )

  it('leads from where a request had a second page to its only one, with what the link said', async () => {
    for (const end of [ID, `${ID}?account=acc_1&d=approve`, '%2F%2Fevil.example%0D%0Ax?y?']) {
      const answer = await rawRequest(service.url, `/requests/${end}`)
      expect([answer.status, answer.headers.location]).toEqual([308, `/a/${end}`])
      expect(answer.headers['content-security-policy']).toBe(POLICY)
    }
  })

  it.each([
    '/setup/x',
    '/a',
    '/a/x/y',
    '/accounts',
    '/requests/x/y',
    '/integrations/x',
    '/dashboard.html',
    '/index.html',
    '/favicon.ico',
  ])('%s is no page', async (path) => {
    const answer = await rawRequest(service.url, path)
    expect(answer.status).toBe(404)
    expect(JSON.parse(answer.body.toString('utf8'))).toMatchObject({ error: 'not_found' })
  })

  it('answers a precondition and a range that cannot be met without failing', async () => {
    const late = { 'If-Unmodified-Since': 'Thu, 01 Jan 1970 00:00:00 GMT' }
    expect((await rawRequest(service.url, '/account', { headers: late })).status).toBe(412)
    const beyond = await rawRequest(service.url, '/account', { headers: { Range: 'bytes=999999-' } })
    expect(beyond.status).toBe(416)
    expect(beyond.headers['content-type']).toBeUndefined()
    expect(service.logged.filter(({ message }) => message === 'request failed')).toEqual([])
  })

  it.each(['/keys', '/sw.js'])(
    'clients that leave before they have %s are no failure, least of all of the store',
    async (path) => {
      const cut = () => service.logged.filter(({ fields }) => fields.cut_off === true && fields.path === path)
      const leave = () => {
        const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () => {
          socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`, () => socket.resetAndDestroy())
        })
      }
      const leaving = () => {
        for (let n = 0; n < 5; n += 1) leave()
        return cut().length
      }
      await expect.poll(leaving).toBeGreaterThan(9)
      expect(service.logged.filter(({ level }) => level === 'error')).toEqual([])
    },
  )
})

describe('T13: whoever follows the link of a card', () => {
  it('100 GET and HEAD by bots change nothing in the store and see nothing of the request', async () => {
    const action = 'Pay 1 200 EUR to Example Ltd'
    const context = { reason: 'invoice 4711', agent_name: 'payer' }
    const id = await ask(setting, { action, context })
    // When a key was last used is noted beside its first answer.
    const keyUsed = { last_used_at: { $ne: null } }
    const keys = service.composition.connection.collection('api_keys')
    await expect.poll(() => keys.countDocuments(keyUsed)).toBe(1)
    const before = await everything()
    for (let visit = 0; visit < 100; visit += 1) {
      const method = visit % 2 === 0 ? 'GET' : 'HEAD'
      const outcome = visit % 4 < 2 ? 'approve' : 'reject'
      const headers = { 'User-Agent': BOTS[visit % BOTS.length] ?? '', Accept: '*/*' }
      const answer = await rawRequest(service.url, `/a/${id}?d=${outcome}`, { method, headers })
      expect(answer.status).toBe(200)
      const html = answer.body.toString('utf8')
      for (const secret of [action, id, 'invoice 4711', 'payer', 'owner@example.com', outcome])
        expect(html).not.toContain(secret)
      expect(JSON.stringify(answer.headers)).not.toContain(id)
    }
    expect(await everything()).toEqual(before)
    const read = await fetch(`${service.url}/api/v1/approvals/${id}`, {
      headers: { Authorization: `Bearer ${setting.key}` },
    })
    expect(await read.json()).toMatchObject({ id, status: 'pending' })
  })

  it('cannot tell a request that exists from one that does not', async () => {
    const id = await ask(setting)
    const [real, none] = await Promise.all(
      [id, ID].map((wanted) => rawRequest(service.url, `/a/${wanted}?d=approve`)),
    )
    const { date: _, 'x-request-id': __, ...seen } = real?.headers ?? {}
    expect(none?.headers).toMatchObject(seen)
    expect(none?.body.equals(real?.body ?? Buffer.alloc(0))).toBe(true)
  })

  /** Every document there is; without the outboxes, which are emptied in the background whoever comes. */
  async function everything(): Promise<Record<string, unknown[]>> {
    const { db } = service.composition.connection
    if (db === undefined) throw new Error('no database')
    const found: Record<string, unknown[]> = {}
    for (const { name } of await db.listCollections().toArray())
      found[name] = await db
        .collection(name)
        .find({}, { projection: { outbox: 0 } })
        .sort({ _id: 1 })
        .toArray()
    return found
  }
})
