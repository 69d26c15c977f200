import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { canonicalize } from '../../../src/signing/canonical.ts'
import { decidedId, newCaller, type SendOptions, stored, type TestCaller } from '../../support/caller.ts'
import { decideByPasskey, setUpOwner } from '../../support/live.ts'
import { rawRequest } from '../../support/raw-http.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let caller: TestCaller
beforeAll(async () => {
  service = await startService()
  caller = await newCaller(service, { sandbox: true })
})
afterAll(() => service.close())

const time = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/
const action = 'Pay $120.00 to ACME Corp'
const context = { tool: 'payments.create', tool_arguments: { amount: 120, 'naïve key': [1.5, null, '€'] } }

const consume = (id: string, options: SendOptions = {}) =>
  caller.send(`/api/v1/approvals/${id}/consume`, { method: 'POST', ...options })

describe('an approval', () => {
  it('is used up once a person approved it; the answer names the decision', async () => {
    const setting = await setUpOwner(service)
    const user = await service.composition.deps.users.find(setting.owner.userId)
    const live = await newCaller(service, { user: user ?? expect.unreachable() })
    const id = await live.createdId({ action, context })
    await decideByPasskey(setting, id, 'approved')
    const { decision } = (await live.read(id)).body
    const answer = await live.send(`/api/v1/approvals/${id}/consume`, {
      method: 'POST',
      json: { action, context },
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      request_id: id,
      status: 'approved',
      decision_id: Object(decision).id,
      consumed_at: expect.stringMatching(time),
    })
  })

  it('says sandbox: true when nobody was asked', async () => {
    const id = await decidedId(service, caller)
    expect((await consume(id)).body).toMatchObject({ request_id: id, status: 'approved', sandbox: true })
  })

  it('answers again whoever has the Idempotency-Key of the call that used it up, and nobody else', async () => {
    const id = await decidedId(service, caller, { action })
    const use = (key?: string, json = { action }) =>
      consume(id, { json, headers: key === undefined ? {} : { 'idempotency-key': key } })
    const answers = await Promise.all(['a', 'a', 'a'].map((key) => use(key)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    const again = await use('a')
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
    for (const other of [await use('b'), await use(), await use('a', { action: 'Pay $1' })])
      expect([other.status, other.body.error]).toEqual([
        409,
        other.body.field === undefined ? 'already_consumed' : 'mismatch',
      ])
    const { audit } = (await stored(service, 'requests').findOne({ _id: id })) ?? expect.unreachable()
    expect(JSON.stringify(audit).match(/approval\.consumed/g)).toHaveLength(1)
  })

  it('shows consumed_at in every later read, and did not before', async () => {
    const id = await decidedId(service, caller)
    expect((await caller.read(id)).body).not.toHaveProperty('consumed_at')
    const { consumed_at } = (await consume(id)).body
    expect((await caller.read(id)).body).toMatchObject({ status: 'approved', consumed_at })
    const { data } = (await caller.send('/api/v1/approvals?limit=1')).body
    expect(data).toMatchObject([{ id, consumed_at }])
  })

  it('leaves an audit entry with the actor and no event', async () => {
    const id = await decidedId(service, caller)
    const events = (await service.composition.deps.requests.find(id))?.outbox
    await consume(id)
    const document = await stored(service, 'requests').findOne({ _id: id })
    expect(document?.audit).toMatchObject([
      { type: 'approval.created' },
      { type: 'approval.voted' },
      { type: 'approval.approved' },
      {
        type: 'approval.consumed',
        subject: id,
        actor: { kind: 'api_key', id: caller.keyId, address: '127.0.0.1' },
      },
    ])
    expect(document).toMatchObject({ version: 3, outbox_token: Object(document?.audit).at(3).eid })
    expect((await service.composition.deps.requests.find(id))?.outbox).toEqual(events)
  })

  it('can be used after its time: what expires is the request, not the approval', async () => {
    const id = await decidedId(service, caller)
    await stored(service, 'requests').updateOne(
      { _id: id },
      { $set: { expires_at: new Date(Date.now() - 1_000) } },
    )
    expect((await consume(id)).status).toBe(200)
  })
})

describe('the body', () => {
  it.each<[string, Record<string, unknown>]>([
    ['nothing', {}],
    ['the action', { action }],
    ['the context', { context }],
    ['the context in another order', { context: reversed(context) }],
    ['the hash of the context', { context_sha256: sha256(canonicalize(context)) }],
    ['all of it', { action, context, context_sha256: sha256(canonicalize(context)) }],
    ['unknown fields', { action, purpose: 'ignored' }],
  ])('may hold %s', async (_what, json) => {
    const id = await decidedId(service, caller, { action, context })
    expect((await consume(id, { json })).status).toBe(200)
  })

  it('may hold an empty context when there was none', async () => {
    const id = await decidedId(service, caller)
    expect((await consume(id, { json: { context: {} } })).status).toBe(200)
  })

  it('may be missing, with and without a Content-Type and a length', async () => {
    for (const headers of [
      {},
      { 'content-type': 'application/json' },
      { 'content-length': '0' },
      { 'content-type': 'text/plain', 'content-length': '0' },
      { 'transfer-encoding': 'chunked' },
      { 'transfer-encoding': 'chunked', 'content-type': 'application/json' },
      { 'transfer-encoding': 'chunked', 'content-type': 'text/plain' },
    ]) {
      const id = await decidedId(service, caller)
      const path = `/api/v1/approvals/${id}/consume`
      const authorization = `Bearer ${caller.token}`
      const answer = await rawRequest(service.url, path, {
        method: 'POST',
        headers: { authorization, ...headers },
      })
      expect([answer.status, String(answer.body)]).toEqual([200, expect.stringContaining('consumed_at')])
    }
  })
})

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The same members, last first, at every level. */
function reversed(value: object): Record<string, unknown> {
  const turn = (inner: unknown): unknown =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner) ? reversed(inner) : inner
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, turn(inner)]),
  )
}
