import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import express from 'express'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { errorResponse, unknownPath } from '../../../src/http/error-response.ts'
import { pageRoutes } from '../../../src/http/routes/pages.ts'
import { closeServer, listenLocally } from '../../support/local-server.ts'
import { BUILT_DASHBOARD } from '../../support/page-server.ts'
import { rawRequest } from '../../support/raw-http.ts'
import { startService, type TestService, useService } from '../../support/service.ts'

const BROWSER = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

let service: TestService
let port: string
beforeAll(async () => {
  service = await startService()
  port = new URL(service.url).port
})
afterAll(() => service.close())

describe('an address that leads nowhere', () => {
  it.each(['/nowhere', '/accounts', '/a', '/setup/x', '/requests/x/y', '/index.html', '/apiary'])(
    '%s is told in words to a browser, with the rules of a page',
    async (path) => {
      const answer = await rawRequest(service.url, path, { headers: BROWSER })
      const page = await rawRequest(service.url, '/account')
      expect(answer.status).toBe(404)
      expect(answer.body.equals(await readFile(join(BUILT_DASHBOARD, 'index.html')))).toBe(true)
      for (const header of ['content-type', 'content-security-policy', 'x-frame-options', 'cache-control'])
        expect(answer.headers[header]).toBe(page.headers[header])
      expect(answer.headers.vary).toBe('Accept')
    },
  )

  it('is a 404 whatever part or version of it is asked for', async () => {
    for (const asked of [{ Range: 'bytes=0-3' }, { 'If-Match': '"x"' }, { 'If-None-Match': '*' }]) {
      const answer = await rawRequest(service.url, '/nowhere', { headers: { ...BROWSER, ...asked } })
      expect(answer.status).toBe(404)
      expect(answer.body.toString('utf8')).toContain('<html')
    }
    const head = await rawRequest(service.url, '/nowhere', { method: 'HEAD', headers: BROWSER })
    expect([head.status, head.headers['content-type'], head.body.length]).toEqual([
      404,
      'text/html; charset=utf-8',
      0,
    ])
  })

  it.each([
    '/api',
    '/api/v1/nowhere',
    '/API/v1/nowhere',
    '//api/v1/nowhere',
    '/assets/nowhere.js',
    '/.well-known/nowhere',
    '/slack/nowhere',
  ])('%s is JSON also in a browser: there programs ask', async (path) => {
    const answer = await rawRequest(service.url, path, { headers: BROWSER })
    expect(answer.status).toBe(404)
    expect(JSON.parse(answer.body.toString('utf8'))).toEqual({
      error: 'not_found',
      message: expect.any(String),
    })
  })

  it.each([
    { method: 'POST', headers: BROWSER },
    { headers: { Accept: '*/*' } },
    { headers: { Accept: 'application/json, text/html;q=0.1' } },
    { headers: { Accept: 'text/html;q=0, application/json' } },
    {},
  ])('is JSON for whoever opens no page: %o', async (options) => {
    const answer = await rawRequest(service.url, '/nowhere', options)
    expect(answer.status).toBe(404)
    expect(JSON.parse(answer.body.toString('utf8'))).toMatchObject({ error: 'not_found' })
    if (options.method === undefined) expect(answer.headers.vary).toBe('Accept')
  })
})

describe('a page opened by a loopback address', () => {
  it.each(['127.0.0.1', '[::1]'])('%s is led to the same page at localhost', async (name) => {
    for (const path of [
      '/setup',
      '/a/req_1?d=approve',
      '/signin?next=/account',
      '/',
      '/keys?account=acc_1',
    ]) {
      const answer = await rawRequest(service.url, path, { headers: { Host: `${name}:${port}` } })
      expect(answer.status).toBe(307)
      expect(answer.headers.location).toBe(`${service.url}${path}`)
      expect(answer.headers['cache-control']).toBe('no-store')
    }
  })

  it('is led nowhere else, whatever the request line says', async () => {
    const headers = { Host: `127.0.0.1:${port}` }
    for (const path of ['//evil.example/account', 'http://evil.example/account']) {
      const answer = await rawRequest(service.url, path, { headers })
      expect(answer.headers.location).toBeUndefined()
    }
  })

  it.each(['127.0.0.1', '127.0.0.1:1', 'localhost.evil.example', '127.0.0.1.evil.example', '192.0.2.1', ''])(
    'Host "%s" is left alone: another port is a proxy, another name is not ours to judge',
    async (host) => {
      const answer = await rawRequest(service.url, '/account', { headers: { Host: host } })
      expect([answer.status, answer.headers.location]).toEqual([200, undefined])
    },
  )

  it('is left alone behind a proxy, which may call the service by its address', async () => {
    const headers = { Host: `127.0.0.1:${port}`, 'X-Forwarded-For': '192.0.2.1' }
    expect((await rawRequest(service.url, '/account', { headers })).status).toBe(200)
  })

  it('is only about pages: the interface answers under any name', async () => {
    const headers = { Host: `127.0.0.1:${port}` }
    expect((await rawRequest(service.url, '/healthz', { headers })).status).toBe(200)
    expect((await rawRequest(service.url, '/.well-known/jwks.json', { headers })).status).toBe(200)
    expect((await rawRequest(service.url, '/api/v1/approvals', { headers })).status).toBe(401)
  })
})

it.each([
  ['with a name of its own', { BASE_URL: 'https://approvals.example.com' }],
  ['behind a proxy', { TRUST_PROXY: '1' }],
])('a service %s leads nobody anywhere', async (_which, env) => {
  const { url } = await useService({ env })
  const headers = { Host: `127.0.0.1:${new URL(url).port}` }
  expect((await rawRequest(url, '/account', { headers })).status).toBe(200)
})

it('a service whose pages were not built answers as for any unknown path', async () => {
  const { composition, url } = service
  const nowhere = join(BUILT_DASHBOARD, 'not-built')
  const app = express()
  app.use(
    pageRoutes({
      pagesDir: nowhere,
      dashboardDir: nowhere,
      settings: { ...composition.deps.settings, baseUrl: url },
      trustProxy: 0,
    }),
  )
  app.use(unknownPath)
  app.use(errorResponse({ ...composition.deps, storeIsDown: () => false }))
  const server = createServer(app)
  const origin = await listenLocally(server)
  onTestFinished(() => closeServer(server))
  for (const path of ['/nowhere', '/account']) {
    const answer = await rawRequest(origin, path, { headers: BROWSER })
    expect(answer.status).toBe(404)
    expect(JSON.parse(answer.body.toString('utf8'))).toMatchObject({ error: 'not_found' })
  }
})
