import { afterAll, beforeAll, expect, it } from 'vitest'
import { auditOf } from '../../support/audit.ts'
import { send } from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const verify = (id: string, headers: Record<string, string> = {}) =>
  send(service, `/api/v1/approvals/${id}/verify`, { headers })

it.each([
  'x',
  'req_',
  '%00',
  '%E0%A4%A',
  'req_%ff',
  '%24ne',
  '..%2Fx',
  `req_${'1'.repeat(3_000)}`,
  '%F0%9F%9A%80',
])('T68, 404: answers the malformed id %s as an unknown one, without a status', async (id) => {
  const unknown = await verify('req_00000000000000000000000000')
  expect(unknown.status).toBe(404)
  expect(unknown.body).toEqual({ valid: false, error: expect.any(String), message: expect.any(String) })
  const malformed = await verify(id)
  expect(malformed.status).toBe(404)
  expect(malformed.text).toBe(unknown.text)
  expect([...malformed.headers.keys()].sort()).toEqual([...unknown.headers.keys()].sort())
})

it('400: refuses a comparison that the check does not make, and logs the attempt', async () => {
  const id = 'req_00000000000000000000000009'
  const answer = await send(service, `/api/v1/approvals/${id}/verify?action=Pay`)
  expect(answer.status).toBe(400)
  expect(answer.body).toMatchObject({ error: 'invalid_field', field: 'action' })
  await service.composition.deps.verifications.flush()
  const logged = await auditOf(service, { type: 'approval.verified', subject: id })
  expect(logged.map(({ detail }) => detail)).toEqual([{ result: 'invalid_field' }])
})

it('T68, 429: refuses the 301st verification of an address within a minute, and logs them all: the refused ones in bulk', async () => {
  const fresh = await startService()
  try {
    const once = () => send(fresh, '/api/v1/approvals/req_00000000000000000000000000/verify')
    const first = await once()
    expect(first.headers.get('x-ratelimit-limit')).toBe('300')
    expect(first.headers.get('x-ratelimit-remaining')).toBe('299')
    for (let batch = 0; batch < 13; batch += 1) {
      const answers = await Promise.all(Array.from({ length: 23 }, once))
      expect(answers.every((answer) => answer.status === 404)).toBe(true)
    }
    const refused = await once()
    expect(refused.status).toBe(429)
    expect(refused.body).toMatchObject({ error: 'rate limit exceeded', retry_after: expect.any(Number) })
    expect(refused.headers.get('retry-after')).toBe(String(refused.body.retry_after))
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
    for (let more = 0; more < 4; more += 1) expect((await once()).status).toBe(429)
    await fresh.composition.deps.verifications.flush()
    const logged = await auditOf(fresh, { type: 'approval.verified' })
    expect(logged).toHaveLength(301)
    const results = logged.map(({ detail }) => detail?.result)
    expect(results.filter((result) => result === 'not_found')).toHaveLength(300)
    expect(logged.find(({ detail }) => detail?.result === 'rate_limited')).toMatchObject({
      actor: { kind: 'public', address: '127.0.0.1' },
      subject: 'req_00000000000000000000000000',
      detail: { attempts: 5, last_at: expect.stringMatching(/^20\d\d-/) },
    })
  } finally {
    await fresh.close()
  }
})
