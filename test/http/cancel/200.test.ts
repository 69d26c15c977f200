import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Answer,
  alter,
  lapse,
  makeDue,
  newCaller,
  send,
  signIn,
  stored,
  type TestCaller,
} from '../../support/caller.ts'
import { setPolicy } from '../../support/deciders.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { joinAccount } from '../../support/joined.ts'
import { ask, decideByPasskey, proofFor, setUpOwner } from '../../support/live.ts'
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
      error: 'request withdrawn',
      message: 'The request was withdrawn; there is nothing to verify.',
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

describe('an owner withdraws what waits', () => {
  const PATH = '/api/v1/account/requests'
  const withdraw = ({ browser }: EnrolledPerson, ids: readonly string[]) =>
    browser.post(`${PATH}/withdraw`, { ids })
  const listed = async ({ browser }: EnrolledPerson, query: string): Promise<string[]> =>
    (await browser.get(`${PATH}?${query}`)).body.data.map(({ id }: { id: string }) => id)
  const owner = () => setUpOwner(service, `owner-${randomUUID()}@example.com`)
  const accountOf = async ({ userId }: EnrolledPerson) =>
    String((await service.composition.deps.users.find(userId))?.account_id)

  it('T79: of a person who was removed: found by the person, and from then on not theirs to decide', async () => {
    const setting = await owner()
    const named = await enrolWithPasskey(service, 'leaves@example.com')
    const account = await accountOf(setting.owner)
    await joinAccount(service, account, named.userId, 'approver')
    const own = await ask(setting)
    await setPolicy(service, account, { approvers: [setting.owner.userId, named.userId], quorum: 1 })
    const [first, second] = [await ask(setting), await ask(setting)]
    expectStatus(await decideByPasskey({ service, owner: named }, second, 'rejected'), 200)
    await alter(service, 'accounts', account, { members: [] })
    expect(await listed(setting.owner, `person=${named.userId}`)).toEqual([second, first])
    expect(await listed(setting.owner, `person=${named.userId}&status=pending`)).toEqual([first])
    // They have confirmed already; only the last step comes too late.
    const passkey = await proofFor({ service, owner: named }, first, 'approved')
    const answer = expectStatus(await withdraw(setting.owner, [first, first, second]), 200)
    expect(answer).toEqual({ withdrawn: [first] })
    const refused = await named.browser.post(`/api/v1/approvals/${first}/decision`, {
      decision: 'approved',
      passkey,
    })
    expect([refused.status, refused.body.error]).toEqual([409, 'not_pending'])
    expect(await listed(setting.owner, 'status=pending')).toEqual([own])
    const { status, cancelled, audit, outbox } = Object(
      await stored(service, 'requests').findOne({ _id: first }),
    )
    expect({ status, cancelled }).toEqual({ status: 'expired', cancelled: true })
    const actor = { kind: 'user', id: setting.owner.userId, address: '127.0.0.1' }
    expect(audit.at(-1)).toMatchObject({ type: 'approval.cancelled', subject: first, actor })
    expect(JSON.parse(outbox.at(-1).body)).toMatchObject({
      type: 'approval.expired',
      data: { cancelled: true },
    })
  })

  it('and the caller who asked learns it at once, also one who waits', async () => {
    const setting = await owner()
    const id = await ask(setting)
    const token = setting.key
    const [waiting] = await startWaits(service, [
      () => send(service, `/api/v1/approvals/${id}/wait?timeout=60`, { token }),
    ])
    expectStatus(await withdraw(setting.owner, [id]), 200)
    expect((await waiting)?.body).toMatchObject({ id, status: 'expired', cancelled: true })
  })

  it('nothing that lapsed, nothing of another account, nothing as an approver or auditor', async () => {
    const [setting, other] = [await owner(), await owner()]
    const [lapsed, foreign, open] = [await ask(setting), await ask(other), await ask(setting)]
    await lapse(service, lapsed)
    const account = await accountOf(setting.owner)
    await joinAccount(service, account, other.owner.userId, 'auditor')
    const unknown = `req_${'0'.repeat(26)}`
    expect((await withdraw(setting.owner, [lapsed, foreign, unknown])).body).toEqual({ withdrawn: [] })
    expect((await withdraw(other.owner, [open])).body).toEqual({ withdrawn: [] })
    expect(await listed(setting.owner, 'status=pending')).toEqual([open])
    expect(await listed(other.owner, 'status=pending')).toEqual([foreign])
  })
})
