import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, newCaller, type SendOptions, send, signIn } from '../../support/caller.ts'
import { addPerson } from '../../support/people.ts'
import { startService, type TestService } from '../../support/service.ts'

const LIMIT = 120
const UNKNOWN = `req_${'0'.repeat(26)}`
const SECRET = '/api/v1/account/webhook-secret'

let service: TestService
let people = 0
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

async function person() {
  people += 1
  const user = await addPerson(service, `limited-${people}@example.com`)
  const token = await signIn(service, user)
  const call = (method: string, path: string) => {
    const body: SendOptions = method === 'POST' ? { json: {} } : {}
    return send(service, path, { method, token, ...body })
  }
  return { user, call }
}

/** Sends it as often as a minute allows, all at once. @returns what was left, each time, in ascending order */
async function useUp(request: () => Promise<Answer>, times = LIMIT): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: times }, request))
  expect(answers.filter((answer) => answer.status === 429)).toEqual([])
  return answers.map((answer) => remaining(answer)).sort((a, b) => a - b)
}

const remaining = (answer: Answer): number =>
  Number(answer.headers.get('x-ratelimit-remaining') ?? Number.NaN)
const countdown = Array.from({ length: LIMIT }, (_, index) => index)

function expectRefused(answer: Answer): void {
  expect(answer.status).toBe(429)
  expect(answer.body).toEqual({
    error: 'rate limit exceeded',
    message: expect.stringMatching(/^Too many requests; wait \d+ seconds?\.$/),
    retry_after: expect.any(Number),
  })
  expect(answer.headers.get('retry-after')).toBe(String(answer.body.retry_after))
  expect(answer.headers.get('x-ratelimit-limit')).toBe(String(LIMIT))
  expect(answer.headers.get('x-ratelimit-remaining')).toBe('0')
  const wait = Number(answer.headers.get('x-ratelimit-reset')) - Date.now() / 1000
  expect(Math.abs(wait - Number(answer.body.retry_after))).toBeLessThan(3)
}

/** Everything that is counted by the person. */
const COUNTED: [string, string][] = [
  ['POST', `/api/v1/approvals/${UNKNOWN}/decision/options`],
  ['POST', `/api/v1/approvals/${UNKNOWN}/decision`],
  ['GET', '/api/v1/me/factors'],
  ['POST', '/api/v1/me/step-up/options'],
  ['POST', '/api/v1/me/passkeys/options'],
  ['POST', '/api/v1/me/passkeys'],
  ['POST', '/api/v1/me/passkeys/pky_x/remove'],
  ['POST', '/api/v1/me/totp/options'],
  ['POST', '/api/v1/me/totp'],
  ['POST', '/api/v1/me/totp/remove'],
  ['POST', '/api/v1/me/backup-codes'],
  ['POST', '/api/v1/account/api-keys'],
  ['DELETE', `/api/v1/account/api-keys/key_${'0'.repeat(26)}`],
  ['GET', '/api/v1/account/audit'],
  ['GET', '/api/v1/account/webhooks'],
  ['GET', `/api/v1/account/webhooks/whk_${'0'.repeat(26)}/deliveries`],
  ['GET', `/api/v1/approvals/${UNKNOWN}/deliveries`],
]

describe('a signed-in person', () => {
  it('gets 120 a minute over decisions, factors and changes of keys together, then 429 on each', async () => {
    const { call } = await person()
    for (const [index, [method, path]] of COUNTED.entries())
      expect(remaining(await call(method, path)), path).toBe(LIMIT - 1 - index)
    await useUp(() => call('GET', '/api/v1/me/factors'), LIMIT - COUNTED.length)
    for (const [method, path] of COUNTED) expectRefused(await call(method, path))
  })

  it('is counted over all their sessions, and nobody else is', async () => {
    const one = await person()
    const other = await person()
    const left = await useUp(() => one.call('GET', '/api/v1/me/factors'))
    expect(left).toEqual(countdown)
    const token = await signIn(service, one.user)
    expectRefused(await send(service, '/api/v1/me/factors', { token }))
    expect(remaining(await other.call('GET', '/api/v1/me/factors'))).toBe(LIMIT - 1)
  })

  it('may still look at what waits and list keys: pages poll these', async () => {
    const { call } = await person()
    await useUp(() => call('GET', '/api/v1/me/factors'))
    for (const path of ['/api/v1/me/pending', '/api/v1/account/api-keys', '/api/v1/session']) {
      const answer = await call('GET', path)
      expect(answer.status, path).toBe(200)
      expect(answer.headers.has('x-ratelimit-limit')).toBe(false)
    }
  })

  it('is not counted by what somebody without a session sends', async () => {
    const answer = await send(service, '/api/v1/me/factors')
    expect([answer.status, answer.body.error]).toEqual([401, 'not_signed_in'])
    expect(answer.headers.has('x-ratelimit-limit')).toBe(false)
  })
})

describe('an API key', () => {
  it('gets 120 reminders and looks at its secret a minute together, apart from creations and reads', async () => {
    const caller = await newCaller(service)
    const remind = () => caller.send(`/api/v1/approvals/${UNKNOWN}/remind`, { method: 'POST' })
    expect(remaining(await remind())).toBe(LIMIT - 1)
    expect(remaining(await caller.send(SECRET))).toBe(LIMIT - 2)
    await useUp(remind, LIMIT - 2)
    expectRefused(await remind())
    expectRefused(await caller.send(SECRET))
    expect(remaining(await caller.read(UNKNOWN))).toBe(119)
    expect(remaining(await caller.create({ action: 'x' }))).toBe(59)
    const other = await newCaller(service, { user: caller.user })
    expect((await other.send(SECRET)).status).toBe(200)
  })
})
