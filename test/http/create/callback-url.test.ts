import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { packagePath } from '../../../src/config/package-path.ts'
import { newCaller, stored, type TestCaller } from '../../support/caller.ts'
import { startService, type TestService, useService } from '../../support/service.ts'

const { self, cases } = z
  .object({
    self: z.string(),
    cases: z.array(z.object({ url: z.string(), allow: z.boolean(), why: z.string() })),
  })
  .parse(JSON.parse(readFileSync(packagePath('test/vectors/ssrf/url_cases.json'), 'utf8')))

function productionEnv(): Record<string, string> {
  const secrets = ['API_KEY_PEPPER', 'TOKEN_SECRET', 'SEALING_KEY', 'WEBHOOK_MASTER_SECRET'].map((name) => [
    name,
    randomBytes(32).toString('base64'),
  ])
  return {
    ...Object.fromEntries(secrets),
    NODE_ENV: 'production',
    BASE_URL: `https://${self}`,
    TRUST_PROXY: '0',
  }
}

const refusal = (detail: string) => ({
  error: 'invalid_field',
  message: expect.any(String),
  field: 'callback_url',
  detail,
})

async function storedUrl(service: TestService, id: unknown): Promise<unknown> {
  return (await stored(service, 'requests').findOne({ _id: String(id) }))?.callback_url
}

describe('callback_url in production', () => {
  let production: TestService
  let caller: TestCaller
  beforeAll(async () => {
    production = await startService({ env: productionEnv() })
  })
  afterAll(() => production.close())

  it.each(cases)('T1, T6: $url → $allow ($why)', async ({ url, allow }) => {
    caller = await newCaller(production)
    const answer = await caller.create({ action: 'Deploy', callback_url: url })
    expect(answer.status).toBe(allow ? 201 : 400)
    if (!allow) expect(answer.body).toEqual(refusal(expect.any(String)))
    else expect(await storedUrl(production, answer.body.id)).toBe(new URL(url).href)
  })

  it.each([`https://${self}/x`, `HTTPS://${self.toUpperCase()}`, `https://${self}./`])(
    'T11: refuses the service itself as %s',
    async (callback_url) => {
      caller = await newCaller(production)
      const answer = await caller.create({ action: 'Deploy', callback_url })
      expect(answer.status).toBe(400)
      expect(answer.body).toEqual(refusal('must not point to this service'))
    },
  )

  it.each([
    ['http://receiver.example/hook', 'must be an https: URL'],
    ['https://receiver.example:8443/hook', 'must use port 443'],
    ['https://10.0.0.1/hook', 'must name a host, not an IP address'],
    ['https://intranet/hook', 'must name a host of the public internet'],
  ])('refuses %s and says why', async (callback_url, detail) => {
    caller = await newCaller(production)
    const answer = await caller.create({ action: 'Deploy', callback_url })
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual(refusal(detail))
  })

  it('stores the parsed form alone', async () => {
    caller = await newCaller(production)
    const callback_url = 'HTTPS://Receiver.Example:443/a/../b c?d'.replace(' ', '%20')
    const answer = await caller.create({ action: 'Deploy', callback_url })
    expect(answer.status).toBe(201)
    expect(await storedUrl(production, answer.body.id)).toBe('https://receiver.example/b%20c?d')
  })

  it('takes the ports of CALLBACK_PORTS', async () => {
    const other = await useService({ env: { ...productionEnv(), CALLBACK_PORTS: '8443' } })
    const someone = await newCaller(other)
    const on = (port: number) =>
      someone.create({ action: 'Deploy', callback_url: `https://receiver.example:${port}/` })
    expect((await on(8443)).status).toBe(201)
    expect((await on(443)).body).toEqual(refusal('must use port 8443'))
  })
})

describe('callback_url outside production', () => {
  it('may use any port of a public host, and says how to call private ones', async () => {
    const service = await useService()
    const caller = await newCaller(service)
    const create = (callback_url: string) => caller.create({ action: 'Deploy', callback_url })
    expect((await create('https://receiver.example:8443/hook')).status).toBe(201)
    const hint = '; for development CALLBACK_ALLOW_PRIVATE=1 allows http: and private receivers'
    for (const [url, problem] of [
      ['http://receiver.example/hook', 'must be an https: URL'],
      ['https://127.0.0.1:8443/hook', 'must not be a private or reserved address'],
      ['https://localhost:8443/hook', 'must name a host of the public internet'],
    ] as const) {
      const answer = await create(url)
      expect([url, answer.status, answer.body]).toEqual([url, 400, refusal(`${problem}${hint}`)])
    }
    expect((await create(`${service.url}/healthz`)).body).toEqual(refusal('must not point to this service'))
  })

  it('may be anything but the service itself with CALLBACK_ALLOW_PRIVATE=1', async () => {
    const service = await useService({ env: { CALLBACK_ALLOW_PRIVATE: '1' } })
    const caller = await newCaller(service)
    const create = (callback_url: string) => caller.create({ action: 'Deploy', callback_url })
    for (const url of ['http://127.0.0.1:9/hook', 'http://localhost:9/', 'https://receiver.example/'])
      expect([url, (await create(url)).status]).toEqual([url, 201])
    expect((await create(`http://127.0.0.1:${service.port}/`)).body).toEqual(
      refusal('must not point to this service'),
    )
  })
})
