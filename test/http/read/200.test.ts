import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseJwks } from '../../../src/signing/keys.ts'
import { parseReceiptInput } from '../../../src/signing/receipt-input.ts'
import { verifyReceipt } from '../../../src/signing/verify-node.ts'
import { alter, decidedId, lapse, makeDue, newCaller, send, signIn, stored } from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'

const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/
const keys = (value: unknown) => Object.keys(Object(value)).sort()
const DECISION_FIELDS = ['id', 'decision', 'method', 'signed_payload', 'signature', 'decided_at']
const jwks = async () => parseJwks((await send(service, '/.well-known/jwks.json')).body)

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

describe('pending', () => {
  it('shows exactly id, status, action, context, created_at, expires_at and review_url', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId({ context: { tool: 'shell' } })
    const { status, body, headers } = await caller.read(id)
    expect(status).toBe(200)
    expect(keys(body)).toEqual([
      ...['action', 'context', 'created_at', 'expires_at', 'id', 'review_url', 'status'],
    ])
    expect(body.review_url).toBe(`${service.url}/a/${id}`)
    expect(body).toMatchObject({ id, status: 'pending', context: { tool: 'shell' } })
    expect(body.created_at).toMatch(ISO)
    expect(body.expires_at).toMatch(ISO)
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it('says sandbox: true on a sandbox request that is not due, and leaves it pending', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await caller.createdId({ sandbox_auto_decide_seconds: 300 })
    const { body } = await caller.read(id)
    expect(body).toMatchObject({ id, status: 'pending', sandbox: true })
    expect(body).not.toHaveProperty('decision')
  })

  it('counts down from 120 reads a minute', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const first = await caller.read(id)
    const second = await caller.read(id)
    expect(first.headers.get('x-ratelimit-limit')).toBe('120')
    expect(first.headers.get('x-ratelimit-remaining')).toBe('119')
    expect(second.headers.get('x-ratelimit-remaining')).toBe('118')
    expect(Number(first.headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now() / 1000 - 1)
  })

  it('shows times that cannot be moved by reading', async () => {
    const caller = await newCaller(service)
    const created = await caller.create({ action: 'x' })
    const { body } = await caller.read(String(created.body.id))
    expect(body.created_at).toBe(created.body.created_at)
    expect(body.expires_at).toBe(created.body.expires_at)
  })
})

describe('approved', () => {
  it('shows the pending fields and a decision whose receipt verifies offline', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await decidedId(service, caller, { context: { reason: 'why' } })
    const { body } = await caller.read(id)
    expect(keys(body)).toEqual(
      ['action', 'context', 'created_at', 'decision', 'expires_at', 'id', 'sandbox', 'status'].sort(),
    )
    expect(body).toMatchObject({
      status: 'approved',
      sandbox: true,
      context: { reason: 'why' },
      decision: {
        id: expect.stringMatching(/^dec_[0-9a-hjkmnp-tv-z]{26}$/),
        decision: 'approved',
        method: 'sandbox',
        decided_at: expect.stringMatching(ISO),
        comment: null,
      },
    })
    for (const field of DECISION_FIELDS) expect(body.decision).toHaveProperty(field)
    const result = verifyReceipt(parseReceiptInput(body), await jwks(), { allowSandbox: true })
    expect(result).toMatchObject({ valid: true, sandbox: true, payload: { rid: id, sandbox: true } })
  })

  it('T72: a sandbox receipt is refused unless allowed, carries another kid than live ones, and cannot be stripped', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await decidedId(service, caller)
    const { body } = await caller.read(id)
    const pinned = await jwks()
    expect(verifyReceipt(parseReceiptInput(body), pinned)).toMatchObject({
      valid: false,
      code: 'receipt_sandbox_refused',
    })
    const decision = Object(body.decision)
    const purposes = pinned.map((key) => [key.purpose, key.kid])
    expect(purposes.find(([, kid]) => kid === decision.public_key_id)?.[0]).toBe('decision-sandbox')
    expect(purposes.map(([purpose]) => purpose)).toContain('decision')
    const payload = JSON.parse(Buffer.from(decision.signed_payload, 'base64url').toString('utf8'))
    const { sandbox, ...rest } = payload
    expect(sandbox).toBe(true)
    const stripped = Buffer.from(JSON.stringify({ ...rest, method: 'passkey' })).toString('base64url')
    const forged = { ...decision, method: 'passkey', signed_payload: stripped }
    expect(verifyReceipt(parseReceiptInput(forged), pinned, { allowSandbox: true })).toMatchObject({
      valid: false,
      code: 'receipt_signature_invalid',
    })
  })

  it('signs the fields of the interface and no other', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await decidedId(service, caller, { action: 'Zahle 10 € an Jürgen' })
    const { body } = await caller.read(id)
    const decision = Object(body.decision)
    const payload = JSON.parse(Buffer.from(decision.signed_payload, 'base64url').toString('utf8'))
    expect(payload).toEqual({
      v: 1,
      rid: id,
      did: decision.id,
      approver: caller.user.approver,
      action: createHash('sha256').update('Zahle 10 € an Jürgen', 'utf8').digest('hex').slice(0, 16),
      decision: 'approved',
      method: 'sandbox',
      ts: Math.floor(Date.parse(decision.decided_at) / 1000),
      exp: Math.floor(Date.parse(String(body.expires_at)) / 1000),
      nonce: expect.stringMatching(/^[0-9a-f]{32}$/),
      sandbox: true,
    })
    expect(payload.ts).toBeLessThanOrEqual(payload.exp)
  })

  it('T84: 50 reads at once of a due request make one decision, one signature and one event', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await caller.createdId({ callback_url: 'https://receiver.example/hook' })
    await makeDue(service, id)
    const answers = await Promise.all(Array.from({ length: 50 }, () => caller.read(id)))
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([200]))
    const decisions = new Set(answers.map((answer) => JSON.stringify(answer.body.decision)))
    expect(decisions.size).toBe(1)
    expect([...decisions][0]).toContain('signature')
    const document = await stored(service, 'requests').findOne({ _id: id })
    expect(document).toMatchObject({ version: 2, votes: [{ decision: 'approved' }] })
    const types = (list: unknown) => Array.from(Object(list), (one) => Object(one).type)
    expect(types(document?.outbox)).toEqual(['approval.created', 'approval.approved'])
    expect(types(document?.audit)).toEqual(['approval.created', 'approval.voted', 'approval.approved'])
    expect(document?.callback).toMatchObject({ url: 'https://receiver.example/hook' })
  })

  it('is final: neither expiry nor another plan changes it', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await decidedId(service, caller)
    const before = (await caller.read(id)).body.decision
    await alter(service, 'requests', id, { 'sandbox_plan.decision': 'rejected' })
    await lapse(service, id)
    const after = (await caller.read(id)).body
    expect(after.status).toBe('approved')
    expect(after.decision).toEqual(before)
  })

  it("is made by the dashboard's read too", async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await caller.createdId()
    await makeDue(service, id)
    const token = await signIn(service, caller.user)
    const review = await send(service, `/api/v1/approvals/${id}/review`, { token })
    expect(review.body).toMatchObject({ status: 'approved', sandbox: true })
  })
})

describe('rejected', () => {
  it('shows no context, created_at or expires_at', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await decidedId(service, caller, { sandbox_decision: 'rejected', context: { a: 1 } })
    const { status, body } = await caller.read(id)
    expect(status).toBe(200)
    expect(keys(body)).toEqual(['action', 'decision', 'id', 'sandbox', 'status'])
    expect(body).toMatchObject({ status: 'rejected', decision: { decision: 'rejected', method: 'sandbox' } })
  })
})

describe('expired', () => {
  it('shows id, status, action, created_at and expires_at, and nothing was signed', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId({ context: { a: 1 }, callback_url: 'https://receiver.example/' })
    await lapse(service, id)
    const { status, body } = await caller.read(id)
    expect(status).toBe(200)
    expect(keys(body)).toEqual(['action', 'created_at', 'expires_at', 'id', 'status'])
    expect(body.status).toBe('expired')
    const document = await stored(service, 'requests').findOne({ _id: id })
    expect(JSON.stringify(document)).not.toContain('signature')
    for (const field of ['decision', 'callback']) expect(document).not.toHaveProperty(field)
  })

  it('wins over a sandbox decision that was due but never read', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const id = await caller.createdId()
    await makeDue(service, id)
    await lapse(service, id)
    const { body } = await caller.read(id)
    expect(body).toMatchObject({ status: 'expired', sandbox: true })
    expect(body).not.toHaveProperty('decision')
  })

  it('is recorded once, however many read at once', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    await lapse(service, id)
    const answers = await Promise.all(Array.from({ length: 30 }, () => caller.read(id)))
    expect(new Set(answers.map((answer) => answer.body.status))).toEqual(new Set(['expired']))
    const document = await stored(service, 'requests').findOne({ _id: id })
    expect(document?.outbox).toMatchObject([{ type: 'approval.created' }, { type: 'approval.expired' }])
    expect(document?.audit).toHaveLength(2)
  })
})
