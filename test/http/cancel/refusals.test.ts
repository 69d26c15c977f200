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

const cancel = (caller: TestCaller, id: string) =>
  caller.send(`/api/v1/approvals/${id}/cancel`, { method: 'POST' })

async function expectNotPending(caller: TestCaller, id: string, status: string): Promise<void> {
  const answer = await cancel(caller, id)
  expect(answer.status).toBe(409)
  const message = `The request is no longer pending; its status is ${status}. Nothing was changed.`
  expect(answer.body).toEqual({ error: 'not_pending', message, status })
}

describe('409 not_pending', () => {
  it('refuses a second time and writes nothing', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    expect((await cancel(caller, id)).status).toBe(200)
    await expectNotPending(caller, id, 'expired')
    const document = await stored(service, 'requests').findOne({ _id: id })
    expect(document).toMatchObject({ version: 2 })
    expect(document?.outbox).toHaveLength(2)
  })

  it.each(['approved', 'rejected'])('refuses what was %s, and leaves the decision alone', async (outcome) => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await decidedId(service, caller, { sandbox_decision: outcome })
    await expectNotPending(caller, id, outcome)
    const after = (await caller.read(id)).body
    expect(after).toMatchObject({ status: outcome, decision: { decision: outcome } })
    expect(after).not.toHaveProperty('cancelled')
  })

  it('refuses what lapsed before, which then is not marked cancelled', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await lapse(service, id)
    await expectNotPending(caller, id, 'expired')
    expect((await caller.read(id)).body).not.toHaveProperty('cancelled')
    const document = await stored(service, 'requests').findOne({ _id: id })
    expect(document?.audit).toMatchObject([{}, { type: 'approval.expired', actor: { kind: 'service' } }])
  })

  it('holds for reminders of a withdrawn request too', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await cancel(caller, id)
    const answer = await caller.send(`/api/v1/approvals/${id}/remind`, { method: 'POST' })
    expect([answer.status, answer.body.error]).toEqual([409, 'not_pending'])
  })
})

describe('who may', () => {
  it('401: nobody without a key, nor a person who is signed in', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    for (const token of [undefined, await signIn(service, caller.user)]) {
      const options = { method: 'POST', ...(token && { token }) }
      const answer = await send(service, `/api/v1/approvals/${id}/cancel`, options)
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid or missing API key'])
    }
    expect((await caller.read(id)).body.status).toBe('pending')
  })

  it('403: no key that may only read or verify', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await alter(service, 'api_keys', caller.keyId, { scopes: ['approval:read', 'approval:verify'] })
    const answer = await cancel(caller, id)
    expect(answer.status).toBe(403)
    expect(answer.body).toMatchObject({ error: 'insufficient_scope', scope: 'approval:create' })
    expect((await caller.read(id)).body.status).toBe('pending')
  })

  it('T55, 404: unknown, malformed and foreign requests alike', async () => {
    const owner = await newCaller(service)
    const id = await owner.createdId()
    const stranger = await newCaller(service, { user: owner.user })
    for (const asked of [id, 'req_00000000000000000000000000', 'x', '%00', '%E0%A4%A']) {
      const answer = await cancel(stranger, asked)
      expect([answer.status, answer.body.error]).toEqual([404, 'not_found'])
    }
    expect(await stored(service, 'requests').findOne({ _id: id })).toMatchObject({ version: 1 })
  })

  it('429: counts with the reminders of a key, 120 a minute', async () => {
    const caller = await newCaller(service)
    const answer = await cancel(caller, await caller.createdId())
    expect(answer.headers.get('x-ratelimit-limit')).toBe('120')
    const unknown = () => cancel(caller, 'req_00000000000000000000000000')
    await Promise.all(Array.from({ length: 119 }, unknown))
    const refused = await unknown()
    expect([refused.status, refused.body.error]).toEqual([429, 'rate limit exceeded'])
  })
})
