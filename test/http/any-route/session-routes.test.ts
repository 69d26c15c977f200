import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { send } from '../../support/caller.ts'
import { type EnrolledPerson, enrolWithPasskey } from '../../support/enrolled.ts'
import { keyOf } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

/** What the service itself says that only a signed-in person may call: a new route is tried here by being documented. */
interface Operation {
  method: string
  path: string
  /** Nothing but a session opens it. */
  sessionOnly: boolean
}

const SECRET = 'i'.repeat(40)
let service: TestService
let person: EnrolledPerson
let operations: Operation[]

beforeAll(async () => {
  service = await startService({ env: { INTERNAL_SERVICE_TOKEN: SECRET } })
  person = await enrolWithPasskey(service, 'owner@example.com')
  operations = await sessionOperations()
})
afterAll(() => service.close())

async function sessionOperations(): Promise<Operation[]> {
  const { paths } = Object(await (await fetch(`${service.url}/openapi.json`)).json())
  return Object.entries<Record<string, { security?: Record<string, unknown>[] }>>(paths).flatMap(
    ([path, methods]) =>
      Object.entries(methods).flatMap(([method, { security = [] }]) => {
        const ways = security.flatMap((way) => Object.keys(way))
        if (!ways.includes('sessionCookie')) return []
        const filled = path.replaceAll(/\{[^}]+\}/g, 'req_00000000000000000000000000')
        const sessionOnly = ways.every((way) => way.startsWith('session'))
        return [{ method: method.toUpperCase(), path: filled, sessionOnly }]
      }),
  )
}

const changing = () => operations.filter(({ method }) => method !== 'GET')

/** Tries all of them, and says which did not answer as they should. */
async function others(
  asked: readonly Operation[],
  expected: string,
  request: (operation: Operation) => { headers: Record<string, string>; json?: unknown; raw?: string },
): Promise<string[]> {
  const odd: string[] = []
  for (const operation of asked) {
    const { method, path } = operation
    const answer = await send(service, path, { method, ...request(operation) })
    const said = `${answer.status} ${String(answer.body.error)}`
    if (said !== expected) odd.push(`${method} ${path}: ${said}`)
  }
  return odd
}

const cookie = () => [...person.browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')

describe('T22: what another site makes a signed-in browser send', () => {
  it('there are routes to try', () => {
    expect(changing().length).toBeGreaterThan(25)
    expect(operations.length).toBeGreaterThan(changing().length + 10)
  })

  it.each([
    ['from another origin', { Origin: 'https://evil.example' }],
    ['from a sandboxed frame', { Origin: 'null' }],
    ['without saying from where', {}],
    ['from a subdomain of ours', { Origin: 'http://evil.localhost' }],
  ] as const)('%s changes nothing: 403 on every route', async (_what, headers) => {
    const odd = await others(changing(), '403 csrf_refused', () => ({
      headers: { Cookie: cookie(), ...headers },
      json: {},
    }))
    expect(odd).toEqual([])
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    'as a form could send it (%s) changes nothing: 403 on every route',
    async (type) => {
      const odd = await others(changing(), '403 csrf_refused', () => ({
        headers: { Cookie: cookie(), Origin: service.url, 'Content-Type': type },
        raw: '{}',
      }))
      expect(odd).toEqual([])
    },
  )

  it('with the header browsers add to it changes nothing, even under our own name: 403 on every route', async () => {
    const odd = await others(changing(), '403 csrf_refused', () => ({
      headers: { Cookie: cookie(), Origin: service.url, 'Sec-Fetch-Site': 'cross-site' },
      json: {},
    }))
    expect(odd).toEqual([])
  })
})

describe('T18, T47: routes of people', () => {
  it('are closed to whoever is not signed in: 401', async () => {
    const odd = await others(
      operations.filter(({ sessionOnly }) => sessionOnly),
      '401 not_signed_in',
      ({ method }) => ({ headers: {}, ...(method === 'GET' ? {} : { json: {} }) }),
    )
    expect(odd).toEqual([])
  })

  it('are closed to API keys, the internal token and made-up sessions, also beside a good cookie: 401', async () => {
    const key = await keyOf(service, person.userId)
    for (const token of [key, `internal-${SECRET}`, `${person.token.slice(0, -4)}AAAA`, 'a.b.c']) {
      const odd = await others(
        operations.filter(({ sessionOnly }) => sessionOnly),
        '401 not_signed_in',
        ({ method }) => ({
          headers: {
            Authorization: `Bearer ${token}`,
            'X-Approver-Email': person.email,
            Cookie: cookie(),
            Origin: service.url,
          },
          ...(method === 'GET' ? {} : { json: {} }),
        }),
      )
      expect(odd, token.slice(0, 8)).toEqual([])
    }
  })
})

describe('T21: pages in a frame', () => {
  it.each([
    '/',
    '/overview',
    '/requests',
    '/keys',
    '/integrations',
    '/members',
    '/settings',
    '/account',
    '/audit',
    '/verify',
    '/signin',
    '/setup',
    '/enroll',
    '/link',
    '/a/req_00000000000000000000000000',
    '/b/bst_00000000000000000000000000',
  ])('%s may be in none', async (path) => {
    const { status, headers } = await send(service, path)
    expect(status).toBe(200)
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('permissions-policy')).toContain('publickey-credentials-get=(self)')
  })
})
