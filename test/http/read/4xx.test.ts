import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { revokeApiKey } from '../../../src/flow/keys/manage-api-keys.ts'
import { newCaller, send } from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

describe('401', () => {
  it('refuses without a key, and with a key revoked since', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const none = await send(service, `/api/v1/approvals/${id}`)
    expect([none.status, none.body.error]).toEqual([401, 'invalid or missing API key'])
    await revokeApiKey(service.composition.deps, caller.keyId, caller.user.account_id, { kind: 'cli' })
    const revoked = await caller.read(id)
    expect([revoked.status, revoked.body.error]).toEqual([401, 'invalid or missing API key'])
  })
})

describe('403', () => {
  it('T57: a key that may only create cannot read, list or wait', async () => {
    const caller = await newCaller(service, { scopes: ['approval:create'] })
    const id = await caller.createdId()
    for (const path of [id, `${id}/wait`, '']) {
      const answer = await caller.send(`/api/v1/approvals/${path}`)
      expect(answer.status).toBe(403)
      expect(answer.body).toMatchObject({ error: 'insufficient_scope', scope: 'approval:read' })
    }
  })
})

describe('404', () => {
  const malformed = [
    'x',
    'req_',
    'req_0123456789abcdefghjkmnpqr',
    'req_0123456789abcdefghjkmnpqrst',
    'REQ_0123456789ABCDEFGHJKMNPQRS',
    'dec_0123456789abcdefghjkmnpqrs',
    'req_0123456789abcdefghijklmnop',
    '%00',
    'req_%000123456789abcdefghjkmnpqr',
    '%E0%A4%A',
    '..%2F..%2Fhealthz',
    '%2e%2e',
    '{"$ne":null}',
    '[object Object]',
    '$where',
    `req_${'0'.repeat(4_000)}`,
    '%F0%9F%9A%80',
    'req_0123456789abcdefghjkmnpqr%0a',
  ]
  it.each(malformed)('T61: answers the malformed id %s as an unknown one', async (id) => {
    const caller = await newCaller(service)
    const answer = await caller.read(encodeURI(id).replaceAll('%25', '%'))
    expect(answer.status).toBe(404)
    expect(answer.body).toEqual({ error: 'not_found', message: expect.any(String) })
  })

  it("T55: answers another key's request as an unknown one, also within one account", async () => {
    const owner = await newCaller(service)
    const id = await owner.createdId()
    const strangers = [
      await newCaller(service),
      await newCaller(service, { user: owner.user }),
      await newCaller(service, { user: owner.user, sandbox: true }),
    ]
    for (const stranger of strangers) {
      const foreign = await stranger.read(id)
      const unknown = await stranger.read('req_00000000000000000000000000')
      expect(foreign.status).toBe(404)
      expect(foreign.text).toBe(unknown.text)
    }
  })

  it('a very long path is refused before it is looked at', async () => {
    const caller = await newCaller(service)
    const answer = await caller.read('x'.repeat(20_000))
    expect([414, 431]).toContain(answer.status)
  })
})

describe('429', () => {
  it('refuses the 121st read within a minute; lists and waits count too', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const reads = await Promise.all(Array.from({ length: 118 }, () => caller.read(id)))
    expect(reads.every((answer) => answer.status === 200)).toBe(true)
    const list = await caller.send('/api/v1/approvals')
    expect(list.headers.get('x-ratelimit-remaining')).toBe('1')
    const wait = await caller.send(`/api/v1/approvals/${id}/wait?timeout=1`)
    expect(wait.headers.get('x-ratelimit-remaining')).toBe('0')
    for (const path of [id, '', `${id}/wait`]) {
      const refused = await caller.send(`/api/v1/approvals/${path}`)
      expect(refused.status).toBe(429)
      expect(refused.body).toMatchObject({ error: 'rate limit exceeded', retry_after: expect.any(Number) })
      expect(refused.headers.get('retry-after')).toBe(String(refused.body.retry_after))
      expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
    }
    expect((await caller.create({ action: 'x' })).status).toBe(201)
  })
})
