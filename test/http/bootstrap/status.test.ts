import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  begin,
  codeChallenge,
  consent,
  pollOnce,
  pollRested,
  setStored,
  stored,
} from '../../support/bootstraps.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let owner: EnrolledPerson
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
  owner = await enrolWithPasskey(service, 'owner@example.com')
})
afterAll(() => service.close())

describe('GET /api/v1/bootstrap/:id/status', () => {
  it('T49: unknown, malformed and internal ids are all 404, word for word', async () => {
    const begun = await begin(service, owner.email)
    const { id } = await stored(service, begun.secret)
    const other = `${begun.secret.slice(0, -1)}${begun.secret.endsWith('A') ? 'B' : 'A'}`
    const answers = []
    for (const wrong of [other, id, 'boot_x', 'boot_', `${begun.secret}A`, '%zz', '__proto__'])
      answers.push(await pollOnce(service, wrong))
    for (const answer of answers) {
      expect(answer.status).toBe(404)
      expect(answer.body).toEqual({
        error: 'not_found',
        message: 'There is no such resource, or it is not yours; check the address and its ids.',
      })
      expect(answer.headers.get('Cache-Control')).toBe('no-store')
    }
    expect((await pollOnce(service, begun.secret)).body).toEqual({ status: 'pending' })
  })

  it('asks callers who poll faster than every 3 seconds to slow down, and counts each bootstrap by itself', async () => {
    const begun = await begin(service, 'slow@example.com')
    const other = await begin(service, 'slow@example.com')
    expect((await pollOnce(service, begun.secret)).status).toBe(200)
    const fast = await pollOnce(service, begun.secret)
    expect(fast.status).toBe(429)
    expect(fast.body).toEqual({
      error: 'slow_down',
      message: 'Poll every 3 seconds; wait 3 seconds.',
      retry_after: 3,
    })
    expect(fast.headers.get('Retry-After')).toBe('3')
    expect((await pollOnce(service, other.secret)).status).toBe(200)
    expect((await pollRested(service, begun.secret)).body).toEqual({ status: 'pending' })
    // The clock was set back since.
    await setStored(service, begun.secret, { polled_at: new Date(Date.now() + 3_600_000) })
    expect((await pollOnce(service, begun.secret)).status).toBe(200)
    expect((await pollOnce(service, begun.secret)).status).toBe(429)
  })

  it('T49: with a challenge it tells nothing without the verifier, whatever was decided', async () => {
    const { verifier, code_challenge } = codeChallenge()
    const begun = await begin(service, owner.email, { code_challenge })
    const told = async () => {
      const answers = [
        await pollOnce(service, begun.secret),
        await pollOnce(service, begun.secret, ''),
        await pollOnce(service, begun.secret, codeChallenge().verifier),
        await pollOnce(service, begun.secret, code_challenge),
      ]
      return answers.map(({ status, body }) => [status, body.error])
    }
    const refused = Array(4).fill([403, 'code_verifier_refused'])
    expect(await told()).toEqual(refused)
    expectStatus(await consent(service, owner, begun), 200)
    expect(await told()).toEqual(refused)
    // None of them took the real caller's turn.
    expect((await pollOnce(service, begun.secret, verifier)).body.api_key).toMatch(/^sa_live_/)
    expect(await told()).toEqual(refused)
  })

  it('takes the verifier of RFC 7636, appendix B', async () => {
    const begun = await begin(service, owner.email, {
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    })
    const answer = await pollOnce(service, begun.secret, 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')
    expect(answer.body).toEqual({ status: 'pending' })
  })

  it('says rejected and expired, never with a key', async () => {
    const rejected = await begin(service, 'owner@example.com')
    expectStatus(await consent(service, owner, rejected, 'rejected'), 200)
    expect((await pollOnce(service, rejected.secret)).body).toEqual({ status: 'rejected' })
    const lapsed = await begin(service, 'late@example.com')
    await setStored(service, lapsed.secret, { expires_at: new Date(Date.now() - 1_000) })
    expect((await pollOnce(service, lapsed.secret)).body).toEqual({
      status: 'expired',
      reason: 'not_answered',
      message: expect.stringContaining('Start again'),
    })
    expect((await stored(service, lapsed.secret)).status).toBe('expired')
  })

  it('allows 300 polls a minute from an address', async () => {
    const headers = { 'X-Forwarded-For': '198.51.100.201' }
    const client = createHttpClient(service.url)
    const answer = await client.get('/api/v1/bootstrap/boot_x/status', { headers })
    expect(answer.headers.get('X-RateLimit-Limit')).toBe('300')
    expect(answer.headers.get('X-RateLimit-Remaining')).toBe('299')
  })
})
