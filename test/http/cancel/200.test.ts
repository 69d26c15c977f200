import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Answer,
  makeDue,
  newCaller,
  send,
  signIn,
  stored,
  type TestCaller,
} from '../../support/caller.ts'
import { addPerson } from '../../support/people.ts'
import { startService, type TestService } from '../../support/service.ts'
import { startWaits } from '../../support/waiting.ts'

const SECRET = 'a-token-of-more-than-32-characters'

let service: TestService
beforeAll(async () => {
  service = await startService({ env: { INTERNAL_SERVICE_TOKEN: SECRET } })
})
afterAll(() => service.close())

const cancel = (caller: TestCaller, id: string): Promise<Answer> =>
  caller.send(`/api/v1/approvals/${id}/cancel`, { method: 'POST' })

describe('a pending request that is withdrawn', () => {
  it('is expired at once and marked cancelled, in the answer and in every read', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId({ context: { a: 1 } })
    const before = (await caller.read(id)).body
    const answer = await cancel(caller, id)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      id,
      status: 'expired',
      action: before.action,
      created_at: before.created_at,
      expires_at: before.expires_at,
      cancelled: true,
    })
    expect((await caller.read(id)).body).toEqual(answer.body)
    const listed = await caller.send('/api/v1/approvals?status=expired')
    expect(listed.body.data).toEqual([answer.body])
    expect((await caller.send('/api/v1/approvals?status=pending')).body.data).toEqual([])
    expect((await caller.send(`/api/v1/approvals/${id}/wait`)).body).toEqual(answer.body)
  })

  it('leaves one event that says so, one audit entry with the actor, no receipt and no callback', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId({ callback_url: 'https://receiver.example/hook' })
    await cancel(caller, id)
    const document = await stored(service, 'requests').findOne({ _id: id })
    const events = await service.composition.deps.requests.find(id)
    expect(events?.outbox.map((event) => event.type)).toEqual(['approval.created', 'approval.expired'])
    const { expires_at } = (await caller.read(id)).body
    expect(JSON.parse(events?.outbox[1]?.body ?? '')).toMatchObject({
      type: 'approval.expired',
      data: { request_id: id, expires_at, cancelled: true },
    })
    expect(document?.audit).toMatchObject([
      { type: 'approval.created' },
      {
        type: 'approval.cancelled',
        subject: id,
        actor: { kind: 'api_key', id: caller.keyId, address: '127.0.0.1' },
      },
    ])
    expect(document).toMatchObject({ version: 2, votes: [] })
    expect(document).not.toHaveProperty('callback')
    expect(JSON.stringify(document)).not.toContain('"signature"')
  })

  it('marks event and answer of a dry-run as sandbox, and wins over a decision that was due but never read', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await caller.createdId()
    await makeDue(service, id)
    expect((await cancel(caller, id)).body).toMatchObject({ id, cancelled: true, sandbox: true })
    const [, event] = (await service.composition.deps.requests.find(id))?.outbox ?? []
    expect(JSON.parse(event?.body ?? '')).toMatchObject({ data: { cancelled: true, sandbox: true } })
    expect((await caller.read(id)).body).toMatchObject({ status: 'expired', cancelled: true })
  })

  it('is told to everybody who verifies, and logged as that', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await cancel(caller, id)
    const { status, body } = await send(service, `/api/v1/approvals/${id}/verify`)
    expect(status).toBe(200)
    expect(body).toEqual({
      valid: false,
      status: 'expired',
      error: 'request withdrawn by its caller',
      message: 'The caller withdrew the request; there is nothing to verify.',
    })
  })

  it('is shown as withdrawn on the page, waits for nobody and cannot be decided', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await cancel(caller, id)
    const token = await signIn(service, caller.user)
    const review = await send(service, `/api/v1/approvals/${id}/review`, { token })
    expect(review.body).toMatchObject({ status: 'expired', cancelled: true, may_decide: false })
    expect((await send(service, '/api/v1/me/pending', { token })).body.data).toEqual([])
    const path = `/api/v1/approvals/${id}/decision/options`
    const refused = await send(service, path, { method: 'POST', token, json: { decision: 'approved' } })
    expect([refused.status, refused.body.error, refused.body.status]).toEqual([409, 'not_pending', 'expired'])
  })

  it('wakes those who wait for it at once', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const waiting = Array.from(
      { length: 3 },
      () => () => caller.send(`/api/v1/approvals/${id}/wait?timeout=60`),
    )
    const answers = await startWaits(service, waiting)
    const cancelled = await cancel(caller, id)
    for (const answer of await Promise.all(answers)) expect(answer.body).toEqual(cancelled.body)
  })

  it('can be withdrawn by the internal token that made it', async () => {
    const user = await addPerson(service, 'named@example.com')
    const headers = { 'X-Approver-Email': user.email }
    const as = (path: string, json?: object) =>
      send(service, path, { method: 'POST', token: `internal-${SECRET}`, headers, ...(json && { json }) })
    const { id } = (await as('/api/v1/approvals/request', { action: 'Deploy' })).body
    const answer = await as(`/api/v1/approvals/${id}/cancel`)
    expect(answer.body).toMatchObject({ id, status: 'expired', cancelled: true })
    const document = await stored(service, 'requests').findOne({ _id: String(id) })
    expect(document?.audit).toMatchObject([{}, { type: 'approval.cancelled', actor: { kind: 'internal' } }])
  })

  it('takes no body, and does not mind one', async () => {
    const caller = await newCaller(service)
    const path = `/api/v1/approvals/${await caller.createdId()}/cancel`
    expect((await caller.send(path, { method: 'POST', raw: '<xml/>' })).status).toBe(200)
  })
})
