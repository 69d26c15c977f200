import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newCaller, send, signIn, type TestCaller } from '../../support/caller.ts'
import { documentedOperations } from '../../support/documented.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let caller: TestCaller
let id: string
beforeAll(async () => {
  service = await startService()
  caller = await newCaller(service)
  id = await caller.createdId()
})
afterAll(() => service.close())

describe('methods', () => {
  it.each([
    ['PUT', '/api/v1/approvals/request'],
    ['PATCH', '/api/v1/approvals/request'],
    ['DELETE', '/api/v1/approvals/request'],
    ['POST', '/api/v1/approvals'],
    ['POST', '/api/v1/approvals/:id'],
    ['PUT', '/api/v1/approvals/:id'],
    ['DELETE', '/api/v1/approvals/:id'],
    ['POST', '/api/v1/approvals/:id/verify'],
    ['POST', '/api/v1/approvals/:id/receipt'],
    ['GET', '/api/v1/approvals/:id/remind'],
    ['POST', '/api/v1/approvals/:id/wait'],
    ['PUT', '/api/v1/account/webhook-secret'],
    ['POST', '/healthz'],
    ['POST', '/.well-known/jwks.json'],
    ['GET', '/api/v1/approvals/:id/unknown'],
    ['GET', '/api/v1/approvals/:id/verify/more'],
    ['GET', '/api/v2/approvals'],
    ['GET', '/api'],
    ['GET', '/nowhere'],
    ['GET', '/.env'],
    ['GET', '/assets/..%2f..%2fpackage.json'],
    ['GET', '/assets/%2e%2e/%2e%2e/package.json'],
    ['GET', '/%E0%A4%A'],
  ])('404 as JSON for %s %s', async (method, path) => {
    const answer = await caller.send(path.replace(':id', id), { method })
    expect(answer.status).toBe(404)
    expect(answer.body).toEqual({ error: 'not_found', message: expect.any(String) })
  })

  it('reading the path of creation is a malformed id', async () => {
    const answer = await caller.send('/api/v1/approvals/request')
    expect([answer.status, answer.body.error]).toEqual([404, 'not_found'])
  })

  it('HEAD answers as GET without a body', async () => {
    const head = await caller.send(`/api/v1/approvals/${id}`, { method: 'HEAD' })
    expect([head.status, head.text]).toEqual([200, ''])
    expect(head.headers.get('x-ratelimit-limit')).toBe('120')
    const refused = await send(service, `/api/v1/approvals/${id}`, { method: 'HEAD' })
    expect(refused.status).toBe(401)
  })

  it('OPTIONS tells nothing to another origin: no CORS header at all', async () => {
    const answer = await send(service, '/api/v1/approvals/request', {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    })
    expect(answer.status).toBeLessThan(500)
    const cors = [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))
    expect(cors).toEqual([])
  })
})

describe('query parameters', () => {
  it('T58: unknown ones are refused by name at every operation of the API, after the 401 of a stranger', async () => {
    const session = await signIn(service, caller.user)
    const operations = documentedOperations().filter(({ path }) => path.startsWith('/api/'))
    expect(operations.length).toBeGreaterThan(80)
    for (const { method, path } of operations) {
      const by = async (token?: string) => {
        const options = { method: method.toUpperCase(), ...(token !== undefined && { token }) }
        const { status, body } = await send(service, `${path.replace(/\{\w+\}/, id)}?nonsense=1`, options)
        return [status, body.error, body.field]
      }
      const answers = [await by()]
      if (answers[0]?.[0] === 401) answers.push(await by(caller.token), await by(session))
      const refused = answers.filter(([status]) => status !== 401)
      expect([method, path, refused[0]]).toEqual([method, path, [400, 'invalid_field', 'nonsense']])
      expect(new Set(refused.map(String)).size, path).toBe(1)
    }
  })

  it.each([
    ['/API/v1/Approvals/?state=pending', 'state', 'is not known; send `status`'],
    ['/api/v1/approvals?limit=5&page=2', 'page', 'is not known; send `cursor`'],
    ['/api/v1/approvals/:id/wait?Timeout=1', 'Timeout', 'is not known; send `timeout`'],
    ['/api/v1/approvals/:id/?expand=context', 'expand', 'is not known; this call has no parameters'],
    ['/api/v1/approvals/:id?%3Cb%3E=1', 'query', 'holds an unknown parameter; this call has no parameters'],
  ])('%s: %s %s', async (path, field, detail) => {
    const answer = await caller.send(path.replace(':id', id))
    expect(answer.status).toBe(400)
    const message = `${field} ${detail}.`
    expect(answer.body).toEqual({ error: 'invalid_field', message, field, detail })
  })

  it.each([
    '/healthz',
    '/readyz',
    '/openapi.json',
    '/.well-known/jwks.json',
    '/docs',
    '/verify',
    '/a/x',
    '/',
  ])('of %s are left alone: monitors, proxies and links add some', async (path) => {
    expect((await send(service, `${path}?utm_source=mail`)).status).toBe(200)
  })
})

describe('headers', () => {
  it('every answer has the security headers, and none names the software', async () => {
    for (const path of [
      `/api/v1/approvals/${id}`,
      '/nowhere',
      '/healthz',
      `/api/v1/approvals/${id}/verify`,
    ]) {
      const { headers } = await caller.send(path)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('x-powered-by')).toBeNull()
      expect(headers.get('server')).toBeNull()
    }
  })

  it('the API is never cached', async () => {
    for (const path of [`/api/v1/approvals/${id}`, '/api/v1/approvals', '/api/nowhere']) {
      expect((await caller.send(path)).headers.get('cache-control')).toBe('no-store')
    }
  })

  it('the request id is ours: what the caller sends is not repeated', async () => {
    const headers = { 'x-request-id': 'chosen-by-the-caller' }
    const answer = await caller.send('/api/v1/approvals', { headers })
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('nothing a caller sends lands in a header: line breaks in ids, keys and e-mails', async () => {
    const evil = '%0d%0aSet-Cookie:%20stolen=1'
    for (const path of [
      `/api/v1/approvals/${evil}`,
      `/a/${evil}`,
      `/${evil}`,
      `/api/v1/approvals?cursor=${evil}`,
    ]) {
      const answer = await caller.send(path)
      expect(answer.status).toBeLessThan(500)
      expect(answer.headers.get('set-cookie')).toBeNull()
    }
  })

  it('a second Authorization header does not add a second identity', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const outgoing = request(`${service.url}/api/v1/approvals`, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      outgoing.on('error', reject)
      outgoing.setHeader('Authorization', ['Bearer nonsense', `Bearer ${caller.token}`])
      outgoing.end()
    })
    expect(status).toBe(401)
  })

  it('two X-Approver-Email headers with an API key are refused as one is', async () => {
    const headers = { 'X-Approver-Email': 'a@example.com, b@example.com' }
    const answer = await caller.send('/api/v1/approvals', { headers })
    expect([answer.status, answer.body.error]).toEqual([400, 'approver_email_not_allowed'])
  })

  it('headers above 16 KiB are refused by the parser', async () => {
    const answer = await caller.send('/api/v1/approvals', { headers: { 'x-long': 'x'.repeat(20_000) } })
    expect(answer.status).toBe(431)
  })
})

describe('errors of our own making', () => {
  it('500 is bland, carries request_id, and the log has the rest under it', async () => {
    const { requests } = service.composition.deps
    const { find } = requests
    requests.find = () => Promise.reject(new Error('the disk is on fire at /var/lib/secret'))
    try {
      const answer = await caller.read(id)
      expect(answer.status).toBe(500)
      expect(answer.body).toEqual({
        error: 'internal_error',
        message: expect.any(String),
        request_id: answer.headers.get('x-request-id'),
      })
      expect(answer.text).not.toContain('disk')
      const line = service.logged.find((entry) => entry.fields.request_id === answer.body.request_id)
      expect(line).toMatchObject({ level: 'error', message: 'request failed' })
    } finally {
      requests.find = find
    }
  })
})
