import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newCaller, send, stored } from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/approvals/request'
const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/
const REQUEST_ID = /^req_[0-9a-hjkmnp-tv-z]{26}$/

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

describe('201 of a live key', () => {
  it('answers with exactly the fields of the interface', async () => {
    const caller = await newCaller(service)
    const context = { agent_name: 'Bot', tool_arguments: { nested: [1, 2.5, null, true] } }
    const answer = await caller.create({ action: 'Deploy', context, ttl_seconds: 90 })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expect(Object.keys(answer.body).sort()).toEqual([
      'action',
      'created_at',
      'expires_at',
      'id',
      'metadata',
      'review_url',
      'status',
    ])
    expect(answer.body).toMatchObject({ status: 'pending', action: 'Deploy', metadata: context })
    expect(answer.body.id).toMatch(REQUEST_ID)
    expect(answer.body.review_url).toBe(`${service.url}/a/${answer.body.id}`)
    expect(answer.body.created_at).toMatch(ISO)
    expect(answer.body.expires_at).toMatch(ISO)
    const life = Date.parse(String(answer.body.expires_at)) - Date.parse(String(answer.body.created_at))
    expect(life).toBe(90_000)
  })

  it.each([60, 604_800])('takes a ttl_seconds of %i', async (ttl_seconds) => {
    const caller = await newCaller(service)
    const { body } = await caller.create({ action: 'Deploy', ttl_seconds })
    const life = Date.parse(String(body.expires_at)) - Date.parse(String(body.created_at))
    expect(life).toBe(ttl_seconds * 1000)
  })

  it("uses the account owner's default TTL when ttl_seconds is omitted", async () => {
    const caller = await newCaller(service)
    await stored(service, 'users').updateOne(
      { _id: caller.user.id },
      { $set: { default_ttl_seconds: 7_777 } },
    )
    const { body } = await caller.create({ action: 'Deploy' })
    expect(Date.parse(String(body.expires_at)) - Date.parse(String(body.created_at))).toBe(7_777_000)
  })

  it('counts 500 code points, not UTF-16 units: 500 astral characters pass and come back unchanged', async () => {
    const caller = await newCaller(service)
    const action = '🚀'.repeat(500)
    const { status, body } = await caller.create({ action })
    expect(status).toBe(201)
    expect(body.action).toBe(action)
  })

  it('keeps context keys of every kind: empty, numeric, dotted, $-prefixed, toJSON, constructor, _bsontype', async () => {
    const caller = await newCaller(service)
    const context = {
      '': 'empty',
      2: 'two',
      1: 'one',
      'a.b': { $ne: null, $where: 'sleep(1)' },
      $set: { status: 'approved' },
      toJSON: 'data',
      constructor: { prototype: { polluted: true } },
      hasOwnProperty: 1,
      _bsontype: 'ObjectId',
      _id: 'x',
      nothing: {},
      none: null,
    }
    const created = await caller.create({ action: 'Deploy', context })
    expect(created.status).toBe(201)
    expect(created.body.metadata).toEqual(context)
    expect((await caller.read(String(created.body.id))).body.context).toEqual(context)
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })

  it('answers {} as metadata when no context was sent', async () => {
    const caller = await newCaller(service)
    expect((await caller.create({ action: 'Deploy' })).body.metadata).toEqual({})
  })

  it('takes a context of exactly 16 KiB of JSON', async () => {
    const caller = await newCaller(service)
    const context = { text: 'x'.repeat(16 * 1024 - '{"text":""}'.length) }
    expect((await caller.create({ action: 'Deploy', context })).status).toBe(201)
  })

  it('takes a context of exactly 16 levels', async () => {
    const caller = await newCaller(service)
    const context = nested(16)
    const { status, body } = await caller.create({ action: 'Deploy', context })
    expect(status).toBe(201)
    expect(body.metadata).toEqual(context)
  })

  it('takes control characters in tool arguments, which every view shows by name', async () => {
    const caller = await newCaller(service)
    const context = { tool_arguments: { script: 'a\u0007b\r\n\tc\u001b[31m' } }
    const { status, body } = await caller.create({ action: 'Deploy', context })
    expect(status).toBe(201)
    expect(body.metadata).toEqual(context)
  })

  it('ignores unknown fields and stores none of them', async () => {
    const caller = await newCaller(service)
    const { status, body } = await caller.create({ action: 'Deploy', surprise: { deep: [1] }, priority: 5 })
    expect(status).toBe(201)
    expect(body.ignored_fields).toEqual(['priority', 'surprise'])
    const document = await stored(service, 'requests').findOne({ _id: String(body.id) })
    expect(JSON.stringify(document)).not.toContain('surprise')
  })

  it('marks source-control requests as high impact by themselves', async () => {
    const caller = await newCaller(service)
    const marks = []
    for (const fields of [
      { context: { source: 'github' } },
      { context: { source: 'azure-devops' } },
      { requires_individual_decision: true },
      { context: { source: 'GitHub ' } },
      {},
    ]) {
      const id = await caller.createdId(fields)
      marks.push((await stored(service, 'requests').findOne({ _id: id }))?.high_impact)
    }
    expect(marks).toEqual([true, true, true, true, false])
  })

  it('counts the remaining creations exactly and tells the reset in Unix seconds', async () => {
    const caller = await newCaller(service)
    const answers = [await caller.create({ action: 'a' }), await caller.create({ action: 'b' })]
    expect(answers.map((answer) => answer.headers.get('x-ratelimit-limit'))).toEqual(['60', '60'])
    expect(answers.map((answer) => answer.headers.get('x-ratelimit-remaining'))).toEqual(['59', '58'])
    const reset = Number(answers[0]?.headers.get('x-ratelimit-reset'))
    const now = Date.now() / 1000
    expect(reset).toBeGreaterThan(now)
    expect(reset).toBeLessThanOrEqual(now + 62)
    expect(Number.isInteger(reset)).toBe(true)
  })

  it('puts the event and the audit entry into the same document', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const document = await stored(service, 'requests').findOne({ _id: id })
    expect(document?.outbox).toMatchObject([{ type: 'approval.created' }])
    expect(document?.audit).toMatchObject([
      { type: 'approval.created', subject: id, actor: { kind: 'api_key', id: caller.keyId } },
    ])
  })

  it('gives 20 concurrent creations 20 different ids', async () => {
    const caller = await newCaller(service)
    const ids = await Promise.all(Array.from({ length: 20 }, () => caller.createdId()))
    expect(new Set(ids).size).toBe(20)
  })

  it('accepts `bearer` in any case, as RFC 6750 and 7235 have it', async () => {
    const caller = await newCaller(service)
    const headers = { authorization: `bEARER ${caller.token}` }
    const answer = await send(service, PATH, { method: 'POST', json: { action: 'x' }, headers })
    expect(answer.status).toBe(201)
  })

  it('T58: ignores every field of the stored record that a caller might post', async () => {
    const caller = await newCaller(service)
    const forged = {
      id: 'req_00000000000000000000000000',
      _id: 'req_00000000000000000000000000',
      version: 99,
      status: 'approved',
      account_id: 'acc_x',
      api_key_id: 'key_x',
      requested_by: { key_name: 'Root', account_name: 'Root' },
      sandbox: true,
      context_json: '{}',
      context_sha256: 'f'.repeat(64),
      requirement: { approvers: [], quorum: 0, passkey_only: false },
      created_at: '2000-01-01T00:00:00.000Z',
      expires_at: '2099-01-01T00:00:00.000Z',
      sandbox_plan: { decision: 'approved' },
      votes: [{ decision: 'approved' }],
      decision: { id: 'dec_x', decision: 'approved' },
      cancelled: true,
      reminded_at: '2000-01-01T00:00:00.000Z',
      callback: { state: 'due' },
      outbox: [{}],
      audit: [{}],
    }
    const { status, body } = await caller.create({ ...forged, action: 'Deploy' })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      status: 'pending',
      metadata: {},
      ignored_fields: Object.keys(forged).sort(),
    })
    const document = await stored(service, 'requests').findOne({ _id: String(body.id) })
    expect(document).toMatchObject({
      version: 1,
      status: 'pending',
      account_id: caller.user.account_id,
      api_key_id: caller.keyId,
      sandbox: false,
      context_json: '{}',
      context_sha256: createHash('sha256').update('{}').digest('hex'),
      requirement: { quorum: 1, approvers: [{ user_id: caller.user.id }] },
      votes: [],
    })
    for (const field of ['decision', 'cancelled', 'callback', 'sandbox_plan', 'reminded_at'])
      expect(document).not.toHaveProperty(field)
    expect(Math.abs(Date.parse(String(body.created_at)) - Date.now())).toBeLessThan(60_000)
  })
})

describe('201 of a sandbox key', () => {
  it('answers id and request_id, status, sandbox, verify_url and review_url', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const { status, body } = await caller.create({ action: 'Deploy' })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(REQUEST_ID),
      request_id: body.id,
      status: 'pending',
      sandbox: true,
      verify_url: `${service.url}/api/v1/approvals/${String(body.request_id)}/verify`,
      review_url: `${service.url}/a/${body.id}`,
    })
    expect((await fetch(String(body.verify_url))).status).toBe(200)
  })

  it('decides after 5 seconds with `approved` unless told otherwise', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await caller.createdId()
    const document = await stored(service, 'requests').findOne({ _id: id })
    const created = document?.created_at
    if (!(created instanceof Date)) throw new Error('no created_at')
    expect(document?.sandbox_plan).toMatchObject({
      decision: 'approved',
      due_at: new Date(created.getTime() + 5_000),
    })
  })

  it.each([0, 300])('takes sandbox_auto_decide_seconds of %i', async (seconds) => {
    const caller = await newCaller(service, { sandbox: true })
    const fields = { sandbox_decision: 'rejected', sandbox_auto_decide_seconds: seconds }
    expect((await caller.create({ action: 'Deploy', ...fields })).status).toBe(201)
  })
})

function nested(levels: number): Record<string, unknown> {
  return levels === 1 ? {} : { deeper: nested(levels - 1) }
}
