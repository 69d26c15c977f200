import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  alter,
  decidedId,
  lapse,
  newCaller,
  send,
  signIn,
  stored,
  type TestCaller,
} from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const remind = (caller: TestCaller, id: string) =>
  caller.send(`/api/v1/approvals/${id}/remind`, { method: 'POST' })

describe('200', () => {
  it('answers ok, request_id, push_sent, push_accepted and reminded_at, and changes neither request nor TTL', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const before = (await caller.read(id)).body
    const { status, body } = await remind(caller, id)
    expect(status).toBe(200)
    expect(body).toEqual({
      ok: true,
      request_id: id,
      push_sent: false,
      push_accepted: false,
      reminded_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
    })
    expect((await caller.read(id)).body).toEqual(before)
  })

  it('writes approval.reminded to the audit trail and the outbox, in the same write', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await remind(caller, id)
    const document = await stored(service, 'requests').findOne({ _id: id })
    expect(document?.audit).toMatchObject([
      { type: 'approval.created' },
      {
        type: 'approval.reminded',
        subject: id,
        actor: { kind: 'api_key', id: caller.keyId, address: '127.0.0.1' },
      },
    ])
    expect(document?.outbox).toMatchObject([{ type: 'approval.created' }, { type: 'approval.reminded' }])
  })

  it('needs the creating key but no scope', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await stored(service, 'api_keys').updateOne({ _id: caller.keyId }, { $set: { scopes: [] } })
    expect((await remind(caller, id)).status).toBe(200)
  })

  it('is a no-op on sandbox requests, as often as one likes', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await caller.createdId()
    for (let time = 0; time < 3; time += 1) {
      const { status, body } = await remind(caller, id)
      expect(status).toBe(200)
      expect(body).toMatchObject({ ok: true, request_id: id, push_sent: false, sandbox: true })
    }
    expect(await stored(service, 'requests').findOne({ _id: id })).toMatchObject({ version: 1 })
  })

  it('takes no body, and does not mind one', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const path = `/api/v1/approvals/${id}/remind`
    expect((await caller.send(path, { method: 'POST', raw: '<xml/>' })).status).toBe(200)
  })
})

describe('429 remind_rate_limited', () => {
  it('refuses the second reminder within a minute, with Retry-After, and not another request', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await remind(caller, id)
    const refused = await remind(caller, id)
    expect(refused.status).toBe(429)
    expect(refused.body).toEqual({
      error: 'remind_rate_limited',
      message: expect.any(String),
      retry_after: expect.any(Number),
    })
    expect(Number(refused.body.retry_after)).toBeGreaterThan(50)
    expect(Number(refused.body.retry_after)).toBeLessThanOrEqual(60)
    expect(refused.headers.get('retry-after')).toBe(String(refused.body.retry_after))
    expect(refused.headers.get('x-ratelimit-limit')).toBe('1')
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
    const wait = Number(refused.headers.get('x-ratelimit-reset')) - Date.now() / 1000
    expect(Math.abs(wait - Number(refused.body.retry_after))).toBeLessThan(3)
    expect((await remind(caller, await caller.createdId())).status).toBe(200)
  })

  it('tells exactly how many seconds are left', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await remind(caller, id)
    // Half a second beside the whole one: the service's clock may be a few milliseconds off this process's.
    await alter(service, 'requests', id, { caller_reminded_at: new Date(Date.now() - 45_500) })
    const left = Number((await remind(caller, id)).body.retry_after)
    expect(left).toBeGreaterThanOrEqual(13)
    expect(left).toBeLessThanOrEqual(15)
  })

  it('lets the next one through after a minute', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await remind(caller, id)
    await alter(service, 'requests', id, { caller_reminded_at: new Date(Date.now() - 61_000) })
    expect((await remind(caller, id)).status).toBe(200)
  })

  it('lets one of 20 at once through', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const answers = await Promise.all(Array.from({ length: 20 }, () => remind(caller, id)))
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
    expect(answers.filter((answer) => answer.body.error === 'remind_rate_limited')).toHaveLength(19)
    const document = await stored(service, 'requests').findOne({ _id: id })
    expect(document?.outbox).toHaveLength(2)
  })
})

describe('409 not_pending', () => {
  it('refuses an expired request, also one whose time is up but nobody noticed', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await lapse(service, id)
    const refused = await remind(caller, id)
    expect(refused.status).toBe(409)
    expect(refused.body).toEqual({ error: 'not_pending', message: expect.any(String), status: 'expired' })
    expect((await remind(caller, id)).body.error).toBe('not_pending')
  })

  it('refuses a sandbox request that is over as it does a live one', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const decided = await remind(caller, await decidedId(service, caller))
    const error = { error: 'not_pending', message: expect.any(String) }
    expect([decided.status, decided.body]).toEqual([409, { ...error, status: 'approved' }])
    const id = await caller.createdId()
    await lapse(service, id)
    const lapsed = await remind(caller, id)
    expect([lapsed.status, lapsed.body]).toEqual([409, { ...error, status: 'expired' }])
  })

  it.each(['approved', 'rejected'])(
    'refuses a request that was %s, also right after a reminder',
    async (status) => {
      const caller = await newCaller(service)
      const id = await caller.createdId()
      await remind(caller, id)
      await alter(service, 'requests', id, { status })
      const refused = await remind(caller, id)
      expect([refused.status, refused.body.error, refused.body.status]).toEqual([409, 'not_pending', status])
    },
  )
})

describe('404 and 401', () => {
  it('T55: answers unknown, malformed and foreign requests alike', async () => {
    const owner = await newCaller(service)
    const id = await owner.createdId()
    const stranger = await newCaller(service, { user: owner.user })
    const answers = [
      await remind(stranger, id),
      await remind(stranger, 'req_00000000000000000000000000'),
      await remind(stranger, 'x'),
      await remind(stranger, '%00'),
      await remind(stranger, '%E0%A4%A'),
    ]
    for (const answer of answers) {
      expect(answer.status).toBe(404)
      expect(answer.body).toEqual({ error: 'not_found', message: expect.any(String) })
    }
    expect(await stored(service, 'requests').findOne({ _id: id })).toMatchObject({ version: 1 })
  })

  it('refuses without a key, and a session', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    for (const token of [undefined, await signIn(service, caller.user)]) {
      const path = `/api/v1/approvals/${id}/remind`
      const answer = await send(service, path, { method: 'POST', ...(token && { token }) })
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid or missing API key'])
    }
  })
})
