import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MOST_PENDING } from '../../../src/domain/attention.ts'
import { alter, newCaller, send, stored, type TestCaller } from '../../support/caller.ts'
import { startService, type TestService, useService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const PATH = '/api/v1/approvals/requests'
const headers = { 'Idempotency-Key': 'k' }
const REPLAYED = 'idempotency-replayed'

const actions = (count: number) => Array.from({ length: count }, (_, n) => ({ action: `Pay ${n}` }))

const createMany = (caller: TestCaller, requests: unknown, more: object = {}) =>
  caller.send(PATH, { method: 'POST', json: { requests }, headers, ...more })

const count = ({ keyId }: TestCaller) => stored(service, 'requests').countDocuments({ api_key_id: keyId })

const limitTo = ({ user }: TestCaller, monthly_quota: number) =>
  stored(service, 'accounts').updateOne({ _id: user.account_id }, { $set: { monthly_quota } })

function idsIn({ body }: { body: Record<string, unknown> }): string[] {
  return (Array.isArray(body.data) ? body.data : []).map(({ id }) => String(id))
}

/** What the caller's account has taken: of its quota, and of its owner's attention. */
async function taken({ user }: TestCaller): Promise<unknown[]> {
  const counters = await stored(service, 'quotas').find({}).toArray()
  const own = counters.filter(({ _id }) => _id.startsWith(user.account_id))
  return [own.find((one) => 'used' in one)?.used ?? 0, own.flatMap(({ held = [] }) => held).length]
}

describe('several requests at once', () => {
  it('are made in the order asked, each like one that was asked for alone', async () => {
    const caller = await newCaller(service)
    const asked = actions(50).map((one, n) => ({ ...one, context: { n }, ttl_seconds: 60 + n, extra: n }))
    const answer = await createMany(caller, asked)
    expect([answer.status, answer.headers.get(REPLAYED)]).toEqual([201, null])
    const alone = (await caller.create(asked[49])).body
    const { data } = answer.body
    expect(data).toMatchObject(asked.map(({ action, context }) => ({ action, metadata: context })))
    const last = Array.isArray(data) ? data.at(-1) : undefined
    expect(Object.keys(last)).toEqual(Object.keys(alone))
    expect(last).toMatchObject({ status: 'pending', ignored_fields: ['extra'] })
    expect(await taken(caller)).toEqual([51, 51])
    for (const id of idsIn(answer).slice(48)) expect((await caller.read(id)).body).toMatchObject({ id })
  })

  it('decide themselves for a sandbox key', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const due = { sandbox_auto_decide_seconds: 0 }
    const ids = idsIn(
      await createMany(caller, [
        { action: 'A', ...due },
        { action: 'B', ...due, sandbox_decision: 'rejected' },
      ]),
    )
    const waited = await caller.send(`/api/v1/approvals/wait?ids=${ids}`)
    expect(waited.body.data).toMatchObject([{ status: 'approved' }, { status: 'rejected' }])
  })

  it('are found by a repeat, byte for byte; the key is then for no other call', async () => {
    const caller = await newCaller(service)
    const first = await createMany(caller, actions(3))
    const second = await createMany(caller, actions(3))
    expect([second.status, second.text, second.headers.get(REPLAYED)]).toEqual([201, first.text, 'true'])
    for (const requests of [actions(2), actions(4), [...actions(2), { action: 'Other' }]])
      expect(await createMany(caller, requests)).toMatchObject({
        status: 422,
        body: { error: 'idempotency_mismatch' },
      })
    expect((await caller.create({ action: 'Pay 0' }, headers)).status).toBe(422)
    await caller.create({ action: 'Alone' }, { 'Idempotency-Key': 'alone' })
    const other = await createMany(caller, actions(1), { headers: { 'Idempotency-Key': 'alone' } })
    expect(other.status).toBe(422)
    expect(await count(caller)).toBe(4)
  })

  it('are forgotten together, a day after the last of them has expired', async () => {
    const caller = await newCaller(service)
    const [one = '', two = ''] = idsIn(await createMany(caller, actions(2)))
    const longAgo = { expires_at: new Date(Date.now() - 25 * 3_600_000) }
    await alter(service, 'requests', one, longAgo)
    expect(idsIn(await createMany(caller, actions(2)))).toEqual([one, two])
    await alter(service, 'requests', two, longAgo)
    expect(idsIn(await createMany(caller, actions(2)))).not.toContain(one)
    expect(await count(caller)).toBe(4)
  })

  it.each([
    ['before a write', false],
    ['after a write', true],
  ])('a call that died %s is completed by its repeat, and by no other call', async (_what, written) => {
    const caller = await newCaller(service)
    await limitTo(caller, 6)
    const { requests } = service.composition.deps
    const { insert } = requests
    let left = 3
    requests.insert = async (...what) => {
      left -= 1
      if (left >= 0) return insert(...what)
      if (written) await insert(...what)
      throw new Error('the process died')
    }
    const broken = await createMany(caller, actions(6))
    requests.insert = insert
    expect(broken.status).toBe(500)
    const kept = await stored(service, 'requests').find({ api_key_id: caller.keyId }).toArray()
    expect(kept).toHaveLength(written ? 6 : 3)
    expect((await createMany(caller, actions(2))).status).toBe(422)
    const repeated = await createMany(caller, actions(6))
    expect([repeated.status, repeated.headers.get(REPLAYED)]).toEqual([201, written ? 'true' : null])
    expect(idsIn(repeated)).toEqual(expect.arrayContaining(kept.map(({ _id }) => _id)))
    expect([await count(caller), await taken(caller)]).toEqual([6, [6, 6]])
  })

  it('8 equal calls at once in two processes make them once, also with the last of a quota', async () => {
    const { name: database } = service.composition.connection
    const other = await useService({ database, env: { BASE_URL: service.url } })
    const caller = await newCaller(service)
    await limitTo(caller, 7)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => {
        const init = { method: 'POST', json: { requests: actions(7) }, headers, token: caller.token }
        return send(n % 2 === 0 ? service : other, PATH, init)
      }),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201))
    expect(new Set(answers.map((answer) => idsIn(answer).join())).size).toBe(1)
    expect([await count(caller), await taken(caller)]).toEqual([7, [7, 7]])
  })
})

describe('refusals', () => {
  const bad = 'must be a text'
  it.each<[string, unknown, object]>([
    ['no list', undefined, { error: 'requests required', field: 'requests' }],
    ['no list', 'x', { error: 'invalid_field', field: 'requests' }],
    ['none', [], { field: 'requests' }],
    ['51', actions(51), { field: 'requests' }],
    ['no object', [{ action: 'A' }, 'x'], { error: 'invalid_field', field: 'requests.1' }],
    ['no action', [{ action: 'A' }, {}], { error: 'invalid_field', field: 'requests.1.action' }],
    ['a wrong one', [{ action: 5 }], { field: 'requests.0.action', message: `requests.0.action ${bad}.` }],
    ['a blank one', [{ action: 'A' }, { action: ' ' }], { field: 'requests.1.action' }],
    ['a wrong context', [...actions(3), { action: 'A', context: [] }], { field: 'requests.3.context' }],
    ['a misspelt name', [{ action: 'A', ttl_second: 60 }], { field: 'requests.0.ttl_second' }],
    ['a policy', [{ action: 'A' }, { action: 'A', quorum: 2 }], { field: 'requests.1.quorum' }],
    ['reuse', [{ action: 'A', reuse: 'open' }], { field: 'requests.0.reuse' }],
    [
      'a sandbox field',
      [{ action: 'A' }, { action: 'A', sandbox_decision: 'approved' }],
      { error: 'sandbox_fields_require_sandbox_key', field: 'requests.1' },
    ],
    [
      'a wrong callback',
      [{ action: 'A' }, { action: 'A', callback_url: 'ftp://x' }],
      { error: 'invalid_field', field: 'requests.1.callback_url' },
    ],
    [
      'too large a context',
      [{ action: 'A', context: { a: 'x'.repeat(9_000), b: 'x'.repeat(9_000) } }],
      { error: 'invalid_field', field: 'requests.0.context' },
    ],
    [
      'nobody to tell',
      [{ action: 'A' }, { action: 'A', notify: { channel: '#x' } }],
      { error: 'notify_not_linked', field: 'requests.1.notify.channel' },
    ],
  ])('%s: names the one at fault, and none is made', async (what, requests, body) => {
    const caller = await newCaller(service)
    const answer = await createMany(caller, requests)
    expect(answer.status).toBe(what === 'nobody to tell' ? 422 : 400)
    expect(answer.body).toMatchObject(body)
    expect([await count(caller), await taken(caller)]).toEqual([0, [0, 0]])
  })

  it('400: no Idempotency-Key, without which a call that was cut off could not be repeated', async () => {
    const caller = await newCaller(service)
    expect(await createMany(caller, actions(2), { headers: {} })).toMatchObject({
      status: 400,
      body: { error: 'invalid_field', field: 'Idempotency-Key' },
    })
    expect(await count(caller)).toBe(0)
  })

  it('429: one more than the quota, or than an approver has room for, makes none and takes nothing', async () => {
    const caller = await newCaller(service)
    await limitTo(caller, 4)
    expect(await createMany(caller, actions(5))).toMatchObject({
      status: 429,
      body: { error: 'quota_exceeded' },
    })
    expect([await count(caller), await taken(caller)]).toEqual([0, [0, 0]])
    expect((await createMany(caller, actions(4))).status).toBe(201)
    const busy = await newCaller(service)
    const { id, account_id } = busy.user
    const held = Array.from({ length: MOST_PENDING - 4 }, (_, n) => ({ id: `req_${n}`, at: new Date() }))
    await stored(service, 'quotas').insertOne({ _id: `${account_id}:${id}`, held })
    expect(await createMany(busy, actions(5))).toMatchObject({
      status: 429,
      body: { error: 'too_many_pending' },
    })
    expect([await count(busy), await taken(busy)]).toEqual([0, [0, MOST_PENDING - 4]])
  })

  it('429: each counts against the requests a minute', async () => {
    const caller = await newCaller(service)
    const first = await createMany(caller, actions(50))
    expect([first.status, first.headers.get('x-ratelimit-remaining')]).toEqual([201, '10'])
    const second = await createMany(caller, actions(11), { headers: { 'Idempotency-Key': 'second' } })
    expect(second).toMatchObject({ status: 429, body: { error: 'rate limit exceeded' } })
    expect(await count(caller)).toBe(50)
  })

  it('403: no key without approval:create', async () => {
    const caller = await newCaller(service, { scopes: ['approval:read'] })
    expect(await createMany(caller, actions(1))).toMatchObject({
      status: 403,
      body: { error: 'insufficient_scope' },
    })
  })
})
