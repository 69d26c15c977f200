import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eraseRequest } from '../../src/flow/erase/erase-requests.ts'
import { cleanUp } from '../../src/jobs/clean-up.ts'
import { parseJwks } from '../../src/signing/keys.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { alter, stored } from '../support/caller.ts'
import { clockOf } from '../support/clock.ts'
import { expectStatus } from '../support/enrolled.ts'
import { holding } from '../support/holding.ts'
import { ask, callWithKey, decideByPasskey, type LiveSetting, setUpOwner } from '../support/live.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
let setting: LiveSetting
beforeAll(async () => {
  service = await startService({ work: true })
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

/** 2 × 1 pixels, without any. */
const PNG = Buffer.from('89504e470d0a1a0a0000000d494844520000000200000001', 'hex')
/** 60,000 × 60,000. */
const BOMB = Buffer.from('89504e470d0a1a0a0000000d494844520000ea600000ea60', 'hex')
const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex')
const base64 = (content: Buffer) => content.toString('base64')

const BEFORE = { name: 'a.txt', text: 'one\ntwo' }
const AFTER = { name: 'b.txt', text: 'one\nTWO', base: 'a.txt' }
const IMAGE = { name: 'plan.png', base64: base64(PNG) }
const FILE = { name: 'x.svg', base64: base64(Buffer.from('<svg onload="x()"/>')) }
const ALL = [BEFORE, AFTER, IMAGE, FILE]

// biome-ignore lint/suspicious/noExplicitAny: a wrong path fails the assertion
type Any = any

async function create(body: object): Promise<{ status: number; body: Any }> {
  const answer = await callWithKey(service, setting.key, '/request', { action: 'Write b.txt', ...body })
  return { status: answer.status, body: await answer.json() }
}
const review = async (id: string): Promise<Any> =>
  (await setting.owner.browser.get(`/api/v1/approvals/${id}/review`)).body
const bytesOf = (id: string, index: number | string, headers: Record<string, string> = {}) =>
  setting.owner.browser.get(`/api/v1/approvals/${id}/attachments/${index}`, { headers })
const read = async (id: string): Promise<Any> => (await callWithKey(service, setting.key, `/${id}`)).json()

describe('attachments of a request', () => {
  it.each<[string, unknown, string, string]>([
    ['no list', {}, 'attachments', 'must be a list'],
    [
      'eleven',
      Array.from({ length: 11 }, (_, at) => ({ name: `${at}`, text: '' })),
      'attachments',
      'more than 10',
    ],
    ['a text for one', ['x'], 'attachments.0', 'must be an object'],
    [
      'an unknown field',
      [{ name: 'x', text: '', bse: 'y' }],
      'attachments.0',
      'with name, and text or base64',
    ],
    ['no name', [{ text: 'x' }], 'attachments.0.name', 'is missing'],
    ['an empty name', [{ name: '', text: 'x' }], 'attachments.0.name', 'empty'],
    ['a name of two lines', [{ name: 'a\nb', text: 'x' }], 'attachments.0.name', 'one line'],
    ['a name with a control character', [{ name: 'a\u0007', text: 'x' }], 'attachments.0.name', 'control'],
    ['a long name', [{ name: 'x'.repeat(201), text: 'x' }], 'attachments.0.name', '200'],
    ['one name twice', [BEFORE, BEFORE], 'attachments.1.name', 'differ'],
    ['no content', [{ name: 'x' }], 'attachments.0', 'either text or base64'],
    ['two contents', [{ name: 'x', text: '', base64: '' }], 'attachments.0', 'either text or base64'],
    ['base64 without padding', [{ name: 'x', base64: 'QQ' }], 'attachments.0.base64', 'with padding'],
    ['base64url', [{ name: 'x', base64: '-_-_' }], 'attachments.0.base64', 'with padding'],
    ['an unknown type', [{ name: 'x', text: '', type: 'html' }], 'attachments.0.type', 'must be one of'],
    ['SVG as an image', [{ ...FILE, type: 'image' }], 'attachments.0.type', 'PNG'],
    [
      'an image of too many pixels',
      [{ name: 'x', base64: base64(BOMB), type: 'image' }],
      'attachments.0.type',
      '20 million',
    ],
    ['a diff without base', [{ ...BEFORE, type: 'diff' }], 'attachments.0.type', 'with base'],
    ['bytes as text', [{ ...IMAGE, type: 'text' }], 'attachments.0.type', 'text'],
    ['itself as base', [{ ...AFTER, name: 'a.txt' }], 'attachments.0.base', 'name of an attachment'],
    ['an unknown base', [AFTER], 'attachments.0.base', 'name of an attachment'],
    [
      'an image as base',
      [{ ...AFTER, base: 'plan.png' }, IMAGE],
      'attachments.0.base',
      'name of an attachment',
    ],
    ['a base for bytes', [BEFORE, { ...IMAGE, base: 'a.txt' }], 'attachments.1.base', 'a text that is shown'],
    ['too large a text', [{ name: 'x', text: 'é'.repeat(128 * 1024 + 1) }], 'attachments.0', '256 KiB'],
    [
      'too much in all',
      Array.from({ length: 5 }, (_, at) => ({ name: `${at}`, text: 'x'.repeat(210 * 1024) })),
      'attachments',
      '1 MiB',
    ],
  ])('400: %s', async (_, attachments, field, detail) => {
    const before = await stored(service, 'attachments').countDocuments()
    const { status, body } = await create({ attachments })
    expect([status, body.error, body.field]).toEqual([400, 'invalid_field', field])
    expect(body.detail).toContain(detail)
    expect(await stored(service, 'attachments').countDocuments()).toBe(before)
  })

  it('201: of every kind, as large as they may be; the review has what they are', async () => {
    const large = { name: 'large', text: '\u0000'.repeat(100 * 1024) }
    const { status, body } = await create({
      attachments: [...ALL, large, { name: 'no', text: '', type: 'file' }],
    })
    expect(status).toBe(201)
    expect((await review(body.id)).attachments).toEqual([
      { name: 'a.txt', kind: 'text', sha256: sha256(BEFORE.text), bytes: 7, opened: false },
      { name: 'b.txt', kind: 'diff', sha256: sha256(AFTER.text), bytes: 7, base: 'a.txt', opened: false },
      { name: 'plan.png', kind: 'image', sha256: sha256(PNG), bytes: 24, opened: false },
      { name: 'x.svg', kind: 'file', sha256: sha256('<svg onload="x()"/>'), bytes: 19, opened: false },
      { name: 'large', kind: 'text', sha256: sha256(large.text), bytes: 100 * 1024, opened: false },
      { name: 'no', kind: 'file', sha256: sha256(''), bytes: 0, opened: false },
    ])
    const four = Array.from({ length: 4 }, (_, at) => ({
      name: `${at}`,
      base64: base64(randomBytes(256 * 1024)),
    }))
    expect((await create({ attachments: four })).status).toBe(201)
    expect(await review((await create({})).body.id)).not.toHaveProperty('attachments')
  })

  it('that would freeze a page are files (T44), also of a request that was made before that was looked at', async () => {
    const id = await ask(setting, { attachments: [{ name: 'bomb.png', base64: base64(BOMB) }] })
    expect((await review(id)).attachments).toMatchObject([{ kind: 'file' }])
    await alter(service, 'requests', id, { 'attachments.0.kind': 'image' })
    const { status, headers } = await bytesOf(id, 0)
    expect([status, headers.get('content-type')]).toEqual([200, 'application/octet-stream'])
  })

  it('are listed at the request, and counted in the inbox', async () => {
    const listed = [
      { name: 'a.txt', kind: 'text', sha256: sha256(BEFORE.text), bytes: 7 },
      { name: 'b.txt', kind: 'diff', sha256: sha256(AFTER.text), bytes: 7, base: 'a.txt' },
    ]
    const id = await ask(setting, { attachments: [BEFORE, AFTER] })
    const none = await ask(setting)
    const { data } = (await setting.owner.browser.get('/api/v1/me/pending?limit=100')).body
    const counted = (one: string) => data.find((row: Any) => row.id === one)?.attachments
    expect([counted(id), counted(none)]).toEqual([2, undefined])
    expect([(await read(id)).attachments, await read(none)]).toEqual([
      listed,
      expect.not.objectContaining({ attachments: expect.anything() }),
    ])
    expectStatus(await bytesOf(id, 0), 200)
    expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
    expect((await read(id)).attachments).toEqual(listed)
    const all: Any = await (await callWithKey(service, setting.key, '?limit=100')).json()
    expect(all.data.find((row: Any) => row.id === id).attachments).toEqual(listed)
  })

  it('count for Idempotency-Key and reuse', async () => {
    const made = async (attachments: object[]) => (await create({ reuse: 'open', attachments })).body
    const first = await made([BEFORE])
    expect(await made([BEFORE])).toMatchObject({ id: first.id, reused: true })
    for (const other of [
      { ...BEFORE, text: 'one' },
      { ...BEFORE, name: 'A.txt' },
    ])
      expect((await made([other])).id).not.toBe(first.id)
  })

  it('are sent as what they are, and never as a page of the service (T44)', async () => {
    const id = await ask(setting, { attachments: [...ALL, { name: `ü'"\u202e.html`, text: '<script>' }] })
    const types = [
      'text/plain; charset=utf-8',
      'text/plain; charset=utf-8',
      'image/png',
      'application/octet-stream',
    ]
    for (const [index, type] of [...types, 'text/plain; charset=utf-8'].entries()) {
      const { status, headers } = await bytesOf(id, index)
      expect([status, headers.get('content-type')]).toEqual([200, type])
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('content-disposition')).toMatch(/^attachment; filename\*=UTF-8''[\w.%-]+$/)
    }
    for (const index of ['5', '-1', '00', 'x']) expect((await bytesOf(id, index)).status).toBe(404)
    const stranger = await setUpOwner(service, 'stranger@example.com')
    const foreign = await stranger.owner.browser.get(`/api/v1/approvals/${id}/attachments/0`)
    expect([foreign.status, foreign.body.error]).toEqual([404, 'not_found'])
    expect((await callWithKey(service, setting.key, `/${id}/attachments/0`)).status).toBe(401)
  })

  it('are signed with what this approver fetched before', async () => {
    const id = await ask(setting, { attachments: ALL })
    expect((await bytesOf(id, 1)).status).toBe(200)
    // A link of the caller, opened by the approver, shows them a download and no page of ours.
    expect((await bytesOf(id, 2, { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(200)
    expect((await review(id)).attachments.map(({ opened }: Any) => opened)).toEqual([
      false,
      true,
      false,
      false,
    ])
    expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
    expect((await bytesOf(id, 0)).status, 'after the decision').toBe(200)
    const answer = await read(id)
    const intent = JSON.parse(answer.decision.intent)
    expect(intent.typ).toBe('human-approval/intent/v4')
    expect(intent.attachments).toEqual((await review(id)).attachments)
    expect(intent.attachments[1]).toEqual({
      ...{ name: 'b.txt', kind: 'diff', sha256: sha256(AFTER.text), bytes: 7, base: 'a.txt', opened: true },
    })
    const keys = parseJwks(await (await fetch(`${service.url}/.well-known/jwks.json`)).json())
    const verdict = verifyReceiptJson(answer, keys)
    expect(verdict).toMatchObject({ valid: true, stated: { attachments: intent.attachments } })
    for (const [from, to] of [
      ['"opened":false', '"opened":true'],
      [sha256(PNG), sha256('')],
      ['/v4', '/v3'],
    ] as const) {
      const changed = { ...answer.decision, intent: answer.decision.intent.replace(from, to) }
      expect(verifyReceiptJson({ ...answer, decision: changed }, keys)).toMatchObject({ valid: false })
    }
  })

  it('are compared when the approval is used', async () => {
    const id = await ask(setting, { attachments: [BEFORE, IMAGE], use_within_seconds: 600 })
    expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
    const hashes = [sha256(BEFORE.text), sha256(PNG)]
    const consume = async (attachments_sha256: unknown) =>
      (await callWithKey(service, setting.key, `/${id}/consume`, { attachments_sha256 })).json()
    for (const wrong of [[], hashes.slice(1), hashes.toReversed(), [...hashes, hashes[0]]])
      expect(await consume(wrong)).toMatchObject({ error: 'mismatch', field: 'attachments_sha256' })
    expect(await consume(hashes[0])).toMatchObject({ error: 'invalid_field', field: 'attachments_sha256' })
    expect(await consume([hashes.join()])).toMatchObject({ field: 'attachments_sha256.0' })
    expect(await consume(hashes)).toMatchObject({ status: 'approved', request_id: id })
    const none = await ask(setting)
    expectStatus(await decideByPasskey(setting, none, 'approved'), 200)
    const answer = await callWithKey(service, setting.key, `/${none}/consume`, { attachments_sha256: hashes })
    expect(answer.status).toBe(409)
  })

  it('are erased with the texts of their request', async () => {
    const { deps } = service.composition
    const id = await ask(setting, { attachments: [{ name: 'SECRET-NAME', text: 'SECRET-TEXT' }] })
    const other = await ask(setting, { attachments: [BEFORE] })
    expectStatus(await bytesOf(id, 0), 200)
    expectStatus(await decideByPasskey(setting, id, 'rejected'), 200)
    const content = { _id: `${id}:0` } as object
    expect(await stored(service, 'attachments').findOne(content)).not.toBeNull()
    await expect.poll(async () => (await eraseRequest(deps, id, { kind: 'cli' })).refused).toBe(undefined)
    expect(await stored(service, 'attachments').findOne(content)).toBeNull()
    await expect.poll(() => holding(service, 'SECRET-NAME')).toEqual([])
    expect((await bytesOf(id, 0)).status).toBe(404)
    expectStatus(await bytesOf(other, 0), 200)
  })

  it('whose request was never made are swept; others stay', async () => {
    const { deps } = service.composition
    const id = await ask(setting, { attachments: [BEFORE] })
    await stored(service, 'attachments').updateOne({ _id: `${id}:0` } as object, {
      $set: { unclaimed_at: new Date() },
    })
    const orphan = 'req_0000000000000000000000000x'
    await deps.attachments.insert(orphan, [Buffer.from('x')], new Date())
    const later = (ms: number) => ({ ...deps, clock: clockOf(() => Date.now() + ms) })
    const left = async () =>
      (
        await stored(service, 'attachments')
          .find({ unclaimed_at: { $exists: true } })
          .toArray()
      ).map(({ _id }) => _id)
    await cleanUp(later(3_500_000))
    expect((await left()).map(String).sort()).toEqual([`${id}:0`, `${orphan}:0`].sort())
    await cleanUp(later(3_700_000))
    expect(await left()).toEqual([])
    expect(await stored(service, 'attachments').findOne({ _id: `${orphan}:0` } as object)).toBeNull()
    expectStatus(await bytesOf(id, 0), 200)
  })

  it('429: more than 256 MiB of a key within a day', async () => {
    const day = new Date().toISOString().slice(0, 10)
    const counters = stored(service, 'quotas')
    const mine = (await counters.find({}).toArray()).find(({ _id }) => String(_id).endsWith(`:${day}`))
    expect(mine?.used).toBeGreaterThan(1024 * 1024)
    await counters.updateOne({ _id: mine?._id } as object, { $set: { used: 256 * 1024 * 1024 - 6 } })
    const { status, body } = await create({ attachments: [BEFORE] })
    expect([status, body.error]).toEqual([429, 'attachment_quota_exceeded'])
    expect(body.retry_after).toBeLessThanOrEqual(86_400)
    expect((await create({ attachments: [{ name: 'x', text: 'sixsix' }] })).status).toBe(201)
    expect((await create({})).status).toBe(201)
  })
})
