import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  alter,
  decidedId,
  lapse,
  makeDue,
  newCaller,
  send,
  signIn,
  stored,
  type TestCaller,
} from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let caller: TestCaller
beforeAll(async () => {
  service = await startService()
  caller = await newCaller(service, { sandbox: true })
})
afterAll(() => service.close())

const action = 'Pay $120.00 to ACME Corp'
const context = { amount: 120, to: { name: 'ACME', iban: 'DE02 1203' }, tags: ['a', 'b'] }

const consume = (id: string, json?: unknown, by = caller) =>
  by.send(`/api/v1/approvals/${id}/consume`, { method: 'POST', ...(json !== undefined && { json }) })

async function expectUntouched(id: string, version: number): Promise<void> {
  const document = await stored(service, 'requests').findOne({ _id: id })
  expect(document).toMatchObject({ version })
  expect(document).not.toHaveProperty('consumed_at')
  expect(JSON.stringify(document?.audit)).not.toContain('approval.consumed')
}

describe('409 mismatch', () => {
  it.each<[string, string, unknown]>([
    ['another action', 'action', { action: 'Pay $1200.00 to ACME Corp' }],
    ['the action with a space more', 'action', { action: `${action} ` }],
    ['the action with a look-alike letter', 'action', { action: action.replace('C', '\u0421') }],
    ['an empty action', 'action', { action: '' }],
    ['another value in the context', 'context', { context: { ...context, amount: 121 } }],
    ['another type in the context', 'context', { context: { ...context, amount: '120' } }],
    ['a deep difference', 'context', { context: { ...context, to: { ...context.to, iban: 'DE02 1204' } } }],
    ['a list in another order', 'context', { context: { ...context, tags: ['b', 'a'] } }],
    ['a member more', 'context', { context: { ...context, more: null } }],
    ['a member less', 'context', { context: { amount: 120 } }],
    ['an empty context', 'context', { context: {} }],
    ['another hash', 'context_sha256', { context_sha256: createHash('sha256').update('x').digest('hex') }],
    ['a right action and a wrong context', 'context', { action, context: {} }],
  ])('refuses %s and uses nothing up', async (_what, field, json) => {
    const id = await decidedId(service, caller, { action, context })
    const answer = await consume(id, json)
    expect(answer.status).toBe(409)
    expect(answer.body).toEqual({
      error: 'mismatch',
      message: `The ${field} of your action differs from the approved one. Do not proceed; make a new request.`,
      field,
    })
    await expectUntouched(id, 2)
    expect((await consume(id, { action, context })).status).toBe(200)
  })
})

describe('409 already_consumed', () => {
  it('refuses the second time, whatever it says', async () => {
    const id = await decidedId(service, caller, { action })
    const { consumed_at } = (await consume(id)).body
    for (const json of [undefined, { action }, { action: 'another' }]) {
      const answer = await consume(id, json)
      expect(answer.status).toBe(409)
      expect(answer.body).toEqual({
        error: 'already_consumed',
        message: 'This approval was used before; check what that use did before you request a new approval.',
      })
    }
    expect((await caller.read(id)).body.consumed_at).toBe(consumed_at)
    expect(await stored(service, 'requests').findOne({ _id: id })).toMatchObject({ version: 3 })
  })
})

describe('409 approval_lapsed', () => {
  it('refuses an approval after `use_within_seconds`, and uses nothing up', async () => {
    const id = await decidedId(service, caller, { action, use_within_seconds: 60 })
    const before = (await caller.read(id)).body
    expect(before.use_within_seconds).toBe(60)
    const moved = (ms: number) =>
      alter(service, 'requests', id, { 'decision.decided_at': new Date(Date.now() - ms) })
    await moved(60_500)
    const answer = await consume(id, { action })
    const detail = expect.stringMatching(/^It could be used until \d{4}-\d\d-\d\dT[\d:.]+Z\.$/)
    expect([answer.status, answer.body]).toEqual([
      409,
      {
        error: 'approval_lapsed',
        message: `This approval was not used in time. Do not proceed; make a new request. ${answer.body.detail}`,
        detail,
      },
    ])
    await expectUntouched(id, 2)
    await moved(30_000)
    expect((await consume(id, { action })).status).toBe(200)
    await moved(90_000)
    expect((await consume(id, { action })).body.error).toBe('already_consumed')
  })
})

describe('409 sandbox_approval', () => {
  it.each([
    ['an approval', decidedId],
    ['a request that is due', (_service: TestService, by: TestCaller) => by.createdId()],
  ])(
    'refuses %s of a sandbox key where the caller wants a person, and uses nothing up',
    async (_what, make) => {
      const id = await make(service, caller)
      const before = await stored(service, 'requests').findOne({ _id: id })
      const answer = await consume(id, { refuse_sandbox: true })
      expect([answer.status, answer.body]).toEqual([
        409,
        {
          error: 'sandbox_approval',
          message: 'No person gave this sandbox approval. Do not proceed; use a live key.',
        },
      ])
      await expectUntouched(id, Number(before?.version))
    },
  )

  it('compares nothing by itself: unknown fields beside it are refused as beside nothing', async () => {
    const id = await decidedId(service, caller)
    const answer = await consume(id, { refuse_sandbox: false, amount: 1 })
    expect([answer.status, answer.body.error, answer.body.field]).toEqual([400, 'invalid_field', 'amount'])
    expect((await consume(id, { refuse_sandbox: false })).status).toBe(200)
  })
})

describe('409 not_approved', () => {
  const message = (status: string) => `The request is not approved: its status is ${status}. Do not proceed.`

  it('refuses a pending request, also one that is due: using it up is no read that decides', async () => {
    const id = await caller.createdId()
    await makeDue(service, id)
    const answer = await consume(id)
    const detail = 'A dry run is decided when its status is read.'
    expect([answer.status, answer.body]).toEqual([
      409,
      { error: 'not_approved', message: `${message('pending')} ${detail}`, status: 'pending', detail },
    ])
    await expectUntouched(id, 1)
  })

  it('refuses what was rejected', async () => {
    const id = await decidedId(service, caller, { sandbox_decision: 'rejected' })
    expect((await consume(id)).body).toEqual({
      error: 'not_approved',
      message: message('rejected'),
      status: 'rejected',
    })
    await expectUntouched(id, 2)
  })

  it('refuses what lapsed, noticed or not, and what was withdrawn', async () => {
    const lapsed = await caller.createdId()
    await lapse(service, lapsed)
    expect((await consume(lapsed)).body).toEqual({
      error: 'not_approved',
      message: message('expired'),
      status: 'expired',
    })
    const withdrawn = await caller.createdId()
    await caller.send(`/api/v1/approvals/${withdrawn}/cancel`, { method: 'POST' })
    expect((await consume(withdrawn)).body).toEqual({
      error: 'not_approved',
      message: message('expired'),
      status: 'expired',
    })
  })
})

describe('400 and 415', () => {
  it.each<[string, unknown]>([
    ['action', { action: null }],
    ['action', { action: 1 }],
    ['context', { context: 'text' }],
    ['context', { context: [] }],
    ['context', { context: null }],
    ['context_sha256', { context_sha256: 'abc' }],
    ['context_sha256', { context_sha256: 'A'.repeat(64) }],
    ['context_sha256', { context_sha256: { $ne: '' } }],
    ['parameters', { parameters: { amount: '900' } }],
  ])('refuses an odd %s rather than leaving it out of the comparison: %j', async (field, json) => {
    const id = await decidedId(service, caller)
    const answer = await consume(id, json)
    expect([answer.status, answer.body.error, answer.body.field]).toEqual([400, 'invalid_field', field])
    await expectUntouched(id, 2)
  })

  it('refuses a body of another type, and one that is no JSON object', async () => {
    const id = await decidedId(service, caller)
    const path = `/api/v1/approvals/${id}/consume`
    const text = {
      method: 'POST',
      raw: 'action=x',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    }
    const other = await caller.send(path, text)
    expect([other.status, other.body.error]).toEqual([415, 'unsupported_media_type'])
    for (const raw of ['{', '[]', '"x"', '{"action":"x","__proto__":{}}']) {
      const answer = await caller.send(path, { method: 'POST', raw })
      expect(answer.status).toBe(400)
    }
    await expectUntouched(id, 2)
  })
})

describe('who may', () => {
  it('401: nobody without a key, nor a person who is signed in', async () => {
    const id = await decidedId(service, caller)
    for (const token of [undefined, await signIn(service, caller.user)]) {
      const options = { method: 'POST', ...(token && { token }) }
      const answer = await send(service, `/api/v1/approvals/${id}/consume`, options)
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid or missing API key'])
    }
    await expectUntouched(id, 2)
  })

  it('403: no key that may only read: it must not be able to use an approval up', async () => {
    const reader = await newCaller(service, { sandbox: true })
    const id = await decidedId(service, reader)
    await alter(service, 'api_keys', reader.keyId, { scopes: ['approval:read', 'approval:verify'] })
    const answer = await consume(id, undefined, reader)
    expect(answer.status).toBe(403)
    expect(answer.body).toMatchObject({ error: 'insufficient_scope', scope: 'approval:create' })
    await expectUntouched(id, 2)
  })

  it('T55, 404: unknown, malformed and foreign requests alike', async () => {
    const id = await decidedId(service, caller)
    const stranger = await newCaller(service, { user: caller.user, sandbox: true })
    for (const asked of [id, 'req_00000000000000000000000000', 'x', '%00']) {
      const answer = await consume(asked, undefined, stranger)
      expect([answer.status, answer.body.error]).toEqual([404, 'not_found'])
    }
    await expectUntouched(id, 2)
  })
})
