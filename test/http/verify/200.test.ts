import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { parseJwks } from '../../../src/signing/keys.ts'
import { parseReceiptInput } from '../../../src/signing/receipt-input.ts'
import { verifyReceipt } from '../../../src/signing/verify-node.ts'
import { auditOf } from '../../support/audit.ts'
import {
  alter,
  decidedId,
  lapse,
  makeDue,
  newCaller,
  send,
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

const verify = (id: string) => send(service, `/api/v1/approvals/${id}/verify`)

describe('a decided request', () => {
  it('is valid, with every field of the interface, to anybody', async () => {
    const id = await decidedId(service, caller)
    const decision = Object((await caller.read(id)).body.decision)
    const { status, body } = await verify(id)
    expect(status).toBe(200)
    expect(body).toEqual({
      valid: true,
      decision: 'approved',
      method: 'sandbox',
      verified_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
      public_key: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
      public_key_id: decision.public_key_id,
      signature: decision.signature,
      payload: JSON.parse(Buffer.from(decision.signed_payload, 'base64url').toString('utf8')),
      sandbox: true,
    })
  })

  it('answers with something that verifies offline against the published keys', async () => {
    const id = await decidedId(service, caller, { sandbox_decision: 'rejected' })
    const { body } = await verify(id)
    const keys = parseJwks((await send(service, '/.well-known/jwks.json')).body)
    expect(verifyReceipt(parseReceiptInput(body), keys, { allowSandbox: true })).toMatchObject({
      valid: true,
    })
    expect(verifyReceipt(parseReceiptInput(body), keys)).toMatchObject({ code: 'receipt_sandbox_refused' })
  })

  it('is found by the id of its decision, too, and logged as the request', async () => {
    const id = await decidedId(service, caller)
    const { id: decision } = Object((await caller.read(id)).body.decision)
    const { status, body } = await verify(decision)
    expect(status).toBe(200)
    expect(body).toMatchObject({ valid: true, payload: { rid: id, did: decision } })
    const logged = await auditOf(service, { type: 'approval.verified', subject: id })
    expect(logged.map(({ detail }) => detail)).toEqual([{ result: 'valid' }])
    const unknown = await verify('dec_00000000000000000000000000')
    expect(unknown.status).toBe(404)
    expect(unknown.body).toMatchObject({ valid: false, error: 'request not found' })
  })

  it('stays valid after its expiry', async () => {
    const id = await decidedId(service, caller)
    await lapse(service, id)
    expect((await verify(id)).body).toMatchObject({ valid: true })
  })
})

describe('an undecided request', () => {
  it('is not valid while pending; status and error say why', async () => {
    const id = await caller.createdId()
    const { status, body } = await verify(id)
    expect(status).toBe(200)
    expect(body).toEqual({
      valid: false,
      error: 'request not decided yet',
      message: expect.stringContaining('decided when its status is read'),
      status: 'pending',
    })
    const live = await newCaller(service, { sandbox: false })
    const asked = await verify(await live.createdId())
    expect(asked.body.message).toBe('Nothing is signed yet; verify again after the decision.')
  })

  it('is not decided by verifying, even when a sandbox decision is due', async () => {
    const id = await caller.createdId()
    await makeDue(service, id)
    expect((await verify(id)).body).toMatchObject({ valid: false, status: 'pending' })
    expect(await stored(service, 'requests').findOne({ _id: id })).toMatchObject({
      status: 'pending',
      version: 1,
    })
  })

  it('is not valid once expired, noticed or not', async () => {
    const id = await caller.createdId()
    await lapse(service, id)
    for (let time = 0; time < 2; time += 1) {
      const { status, body } = await verify(id)
      expect(status).toBe(200)
      expect(body).toMatchObject({ valid: false, status: 'expired', error: expect.any(String) })
    }
  })
})

describe('a tampered store', () => {
  const flip = (text: unknown) => {
    const bytes = Buffer.from(String(text), 'base64')
    bytes.writeUInt8(bytes.readUInt8(0) ^ 1, 0)
    return bytes.toString('base64')
  }
  const cases: [string, (now: Record<string, unknown>) => Record<string, unknown>][] = [
    [
      'another payload',
      (now) => ({
        'receipt.canonical_payload': String(now.canonical_payload).replace('"approved"', '"rejected"'),
      }),
    ],
    ['a payload with a blank', (now) => ({ 'receipt.canonical_payload': `${now.canonical_payload} ` })],
    ['no JSON as payload', () => ({ 'receipt.canonical_payload': '{' })],
    ['an empty signature of zeros', () => ({ 'receipt.signature': Buffer.alloc(64).toString('base64') })],
    ['one bit of the signature', (now) => ({ 'receipt.signature': flip(now.signature) })],
    ['a signature that is no base64', () => ({ 'receipt.signature': '*' })],
    ['a short signature', () => ({ 'receipt.signature': 'AAAA' })],
    ['an unknown kid', () => ({ 'receipt.public_key_id': 'x'.repeat(43) })],
    ['the kid of the live key', () => ({ 'receipt.public_key_id': liveKid() })],
    ['another action', () => ({ action: 'Delete production' })],
    ['another context', () => ({ context_json: '{"amount":1}' })],
    ['another context with its hash', () => ({ context_json: '{}', context_sha256: 'f'.repeat(64) })],
    ['the decision turned round', () => ({ status: 'rejected', 'decision.decision': 'rejected' })],
    ['another decision id', () => ({ 'decision.id': 'dec_00000000000000000000000000' })],
    [
      'another intent',
      (now) => ({ 'votes.0.intent_json': String(now.intent).replace('approved', 'rejected') }),
    ],
    ['an intent that is no JSON', () => ({ 'votes.0.intent_json': '{' })],
    ['no votes', () => ({ votes: [] })],
  ]
  const liveKid = () =>
    service.composition.deps.keys
      .ring()
      .publicRecords()
      .find((key) => key.purpose === 'decision')?.kid

  const places = [
    ['of the vote', 'votes.0.receipt'],
    ['that a decision had before schema version 14', 'decision.receipt'],
  ] as const
  it.each(
    cases.flatMap(([what, change]) => places.map(([whose, path]) => [what, whose, path, change] as const)),
  )('says valid: false to %s; the receipt is the one %s', async (_what, _whose, path, change) => {
    const id = await decidedId(service, caller, { context: { amount: 2 } })
    const [vote] = Object(await stored(service, 'requests').findOne({ _id: id })).votes
    if (path === 'decision.receipt') await alter(service, 'requests', id, { [path]: vote.receipt })
    const changes = Object.entries(change({ ...vote.receipt, intent: vote.intent_json }))
    const placed = changes.map(([field, value]) => [field.replace(/^receipt/, path), value])
    await alter(service, 'requests', id, Object.fromEntries(placed))
    const { status, body } = await verify(id)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      valid: false,
      error: expect.stringMatching(/^receipt_[a-z_]+$/),
      message: expect.stringMatching(/^[A-Z].+\. Do not act on this request: its receipt is not valid\.$/),
    })
    for (const field of ['payload', 'signature', 'decision']) expect(body).not.toHaveProperty(field)
  })

  it("says valid: false to another request's receipt", async () => {
    const id = await decidedId(service, caller, { action: 'a' })
    const other = await decidedId(service, caller, { action: 'a' })
    const { decision, votes } = Object(await stored(service, 'requests').findOne({ _id: other }))
    await alter(service, 'requests', id, { decision, votes })
    expect((await verify(id)).body.valid).toBe(false)
  })

  it('T69: notices an action exchanged for one with the same 16-character hash', async () => {
    const vector = JSON.parse(
      await readFile(new URL('../../vectors/action-hash/collision16.json', import.meta.url), 'utf8'),
    )
    const id = await decidedId(service, caller, { action: vector.a })
    const sound = await verify(id)
    expect(sound.body).toMatchObject({ valid: true, payload: { action: vector.prefix16 } })
    await alter(service, 'requests', id, { action: vector.b })
    const { body } = await verify(id)
    expect(body).toMatchObject({ valid: false, error: expect.any(String) })
  })
})

describe('the verification log', () => {
  const attempts = (subject: string) => auditOf(service, { type: 'approval.verified', subject })

  it('T68: has every attempt with address, time and result, written in batches', async () => {
    const pending = await caller.createdId()
    const decided = await decidedId(service, caller)
    const unknown = 'req_11111111111111111111111111'
    const odd = 'odd id$\u0000'
    const started = Date.now()
    for (const id of [pending, decided, unknown, encodeURIComponent(odd)]) await verify(id)
    const entries = (await Promise.all([pending, decided, unknown, odd].map(attempts))).flat()
    expect(entries.map(({ eid: _eid, at: _at, ...entry }) => entry)).toEqual(
      [
        { subject: pending, account_id: caller.user.account_id, detail: { result: 'pending' } },
        { subject: decided, account_id: caller.user.account_id, detail: { result: 'valid' } },
        { subject: unknown, detail: { result: 'not_found' } },
        { subject: odd, detail: { result: 'not_found' } },
      ].map((told) => ({
        type: 'approval.verified',
        actor: { kind: 'public', address: '127.0.0.1' },
        ...told,
      })),
    )
    for (const { at } of entries) expect(at.getTime()).toBeGreaterThanOrEqual(started - 1_000)
  })

  it('T68: writes 100 attempts in a few batches, and loses none when a batch fails', async () => {
    const unknown = 'req_22222222222222222222222222'
    const { verifications } = service.composition.deps
    await verifications.flush()
    const { collection } = service.composition.connection.models.AuditInbox ?? {}
    if (collection === undefined) throw new Error('no collection')
    const insertMany = collection.insertMany.bind(collection)
    let batches = 0
    collection.insertMany = ((...batch: Parameters<typeof insertMany>) => {
      batches += 1
      return batches === 1 ? Promise.reject(new Error('the store was away')) : insertMany(...batch)
    }) as typeof insertMany
    onTestFinished(() => {
      collection.insertMany = insertMany
    })
    const began = performance.now()
    await Promise.all(Array.from({ length: 100 }, () => verify(unknown)))
    await verifications.flush().catch(() => undefined)
    const halfSeconds = (performance.now() - began) / 500
    expect(await attempts(unknown)).toHaveLength(100)
    expect(batches).toBeGreaterThan(1)
    // One in half a second, however long the machine takes over the answers, and the one that failed.
    expect(batches).toBeLessThan(4 + halfSeconds)
  })

  it('T68: writes down 64 characters of an id, and no half of one', async () => {
    const long = `${'x'.repeat(63)}🚀🚀`
    await verify(encodeURIComponent(long))
    const logged = `${'x'.repeat(63)}\ufffd`
    expect((await attempts(logged)).map(({ subject }) => subject)).toEqual([logged])
  })
})
