import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { MOST_PENDING } from '../../../src/domain/attention.ts'
import { alter, newCaller, send, stored, type TestCaller } from '../../support/caller.ts'
import { startService, type TestService, useService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const count = (caller: TestCaller) => stored(service, 'requests').countDocuments({ api_key_id: caller.keyId })
const headers = { 'Idempotency-Key': 'k' }
const REPLAYED = 'idempotency-replayed'

/** Moves the time at which the request expired. */
const expiredBefore = (id: unknown, ms: number) =>
  alter(service, 'requests', String(id), { expires_at: new Date(Date.now() - ms) })
const limitTo = ({ user }: TestCaller, monthly_quota: number) =>
  stored(service, 'accounts').updateOne({ _id: user.account_id }, { $set: { monthly_quota } })

/** What the caller's account has taken: of its quota, and of its owner's attention. */
async function taken({ user }: TestCaller): Promise<unknown[]> {
  const counters = await stored(service, 'quotas').find({}).toArray()
  const own = counters.filter(({ _id }) => _id.startsWith(user.account_id))
  return [own.find((one) => 'used' in one)?.used, own.flatMap(({ held = [] }) => held).length]
}

/**
 * Sends the same call to two processes where only one more request is allowed. The faster one has taken that, and writes its request,
 * or fails, only once the slower one has found nothing left.
 */
async function sentTwice(
  scarce: string,
  then: 'makes its request' | 'fails',
  call: { json: object; headers?: Record<string, string> } = { json: { action: 'Pay' }, headers },
) {
  const { name: database } = service.composition.connection
  const other = await useService({ database, env: { BASE_URL: service.url } })
  const caller = await newCaller(service)
  const { id, account_id } = caller.user
  if (scarce === 'quota') await limitTo(caller, 1)
  else {
    const held = Array.from({ length: MOST_PENDING - 1 }, (_, n) => ({ id: `req_${n}`, at: new Date() }))
    await stored(service, 'quotas').insertOne({ _id: `${account_id}:${id}`, held })
  }
  const { requests } = service.composition.deps
  const { insert } = requests
  onTestFinished(() => {
    requests.insert = insert
  })
  const { quotas } = other.composition.deps
  const { take } = quotas
  const refused = new Promise<void>((resolve) => {
    quotas.take = async (wanted) => {
      const outcome = await take(wanted)
      if (outcome.usedUp || (outcome.full.length > 0 && wanted.people.length > 0)) resolve()
      return outcome
    }
  })
  let slower: ReturnType<typeof send> | undefined
  requests.insert = async (...what) => {
    const init = { method: 'POST', token: caller.token, ...call }
    slower = send(other, '/api/v1/approvals/request', init)
    await refused
    if (then === 'fails') throw new Error('the store refused')
    return insert(...what)
  }
  const faster = await caller.create(call.json, call.headers)
  return { slower: await slower, faster, caller }
}

describe('Idempotency-Key', () => {
  it('answers the same body again byte for byte, and makes one request', async () => {
    const caller = await newCaller(service)
    const headers = { 'Idempotency-Key': 'order-1' }
    const first = await caller.create({ action: 'Pay', context: { a: 1, b: 2 } }, headers)
    const second = await caller.create({ action: 'Pay', context: { a: 1, b: 2 } }, headers)
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.text).toBe(first.text)
    expect(first.headers.get('idempotency-replayed')).toBeNull()
    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'))
    expect(await count(caller)).toBe(1)
  })

  it('does not mind another order of keys or other whitespace', async () => {
    const caller = await newCaller(service)
    const headers = { 'Idempotency-Key': 'order-2' }
    const first = await caller.create({ action: 'Pay', context: { a: 1, b: 2 } }, headers)
    const raw = '{ "context": {"b":2, "a":1.0}, "action":"Pay" }'
    const second = await caller.send('/api/v1/approvals/request', { method: 'POST', raw, headers })
    expect(second.text).toBe(first.text)
  })

  it('replays the sandbox form too', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const first = await caller.create({ action: 'Pay' }, headers)
    const second = await caller.create({ action: 'Pay' }, headers)
    expect(second.text).toBe(first.text)
    expect(second.body).toHaveProperty('request_id')
  })

  it('422 idempotency_mismatch for another body, also when only an unknown field differs', async () => {
    const caller = await newCaller(service)
    await caller.create({ action: 'Pay' }, headers)
    for (const json of [{ action: 'Pay!' }, { action: 'Pay', extra: 1 }]) {
      const answer = await caller.create(json, headers)
      expect(answer.status).toBe(422)
      expect(answer.body).toEqual({ error: 'idempotency_mismatch', message: expect.any(String) })
    }
    expect(await count(caller)).toBe(1)
  })

  it('answers a retry as the first call, whatever has become of the request', async () => {
    const caller = await newCaller(service)
    const body = { action: 'Pay', context: { b: [2, 1], a: null } }
    const first = await caller.create({ ...body, unknown: 1, another: 2 }, headers)
    const { id } = first.body
    await caller.send(`/api/v1/approvals/${id}/cancel`, { method: 'POST', json: {} })
    const second = await caller.create({ another: 2, unknown: 1, ...body }, headers)
    expect([second.status, second.text]).toEqual([201, first.text])
  })

  it('10 at once make one request, and each gets its answer, also with the last one of a quota', async () => {
    const caller = await newCaller(service)
    await limitTo(caller, 1)
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => caller.create({ action: 'Pay' }, headers)),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers.filter((answer) => answer.headers.get(REPLAYED) === null)).toHaveLength(1)
    expect([await count(caller), await taken(caller)]).toEqual([1, [1, 1]])
  })

  it('10 at once with a body each make one request; the others get idempotency_mismatch and take nothing', async () => {
    const caller = await newCaller(service)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => caller.create({ action: `Pay ${n}` }, headers)),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.error === 'idempotency_mismatch')).toHaveLength(9)
    expect([await count(caller), await taken(caller)]).toEqual([1, [1, 1]])
  })

  it.each([
    ['the same body: the answer of the one that was faster', 'Pay', 201, 'true'],
    ['another body: idempotency_mismatch', 'Other', 422, null],
  ])('two processes at once, %s', async (_what, action, status, replayed) => {
    const { name: database } = service.composition.connection
    const other = await useService({ database, env: { BASE_URL: service.url } })
    const caller = await newCaller(service)
    const { requests } = service.composition.deps
    const { insert } = requests
    onTestFinished(() => {
      requests.insert = insert
    })
    let faster: unknown
    requests.insert = async (...what) => {
      const json = { action: 'Pay' }
      const init = { method: 'POST', token: caller.token, json, headers }
      faster = (await send(other, '/api/v1/approvals/request', init)).body
      return insert(...what)
    }
    const slower = await caller.create({ action }, headers)
    expect([slower.status, slower.headers.get(REPLAYED)]).toEqual([status, replayed])
    if (status === 201) expect(slower.body).toEqual(faster)
    else expect(slower.body.error).toBe('idempotency_mismatch')
    expect([await count(caller), await taken(caller)]).toEqual([1, [1, 1]])
  })

  it.each([
    ['has just taken the last one of a quota', 'quota'],
    ['has just taken the last place before an approver', 'attention'],
  ])('two processes at once: gets the request of the other one, which %s', async (_what, scarce) => {
    const { slower, faster, caller } = await sentTwice(scarce, 'makes its request')
    expect([slower?.status, slower?.headers.get(REPLAYED), faster.status]).toEqual([201, 'true', 201])
    expect(slower?.text).toBe(faster.text)
    expect(await count(caller)).toBe(1)
  })

  it.each([
    ['Idempotency-Key', { json: { action: 'Pay' }, headers }],
    ['reuse', { json: { action: 'Pay', reuse: 'open' } }],
  ])(
    'two processes at once (%s): makes it itself if the one with the last of a quota fails',
    async (_what, call) => {
      const { slower, faster, caller } = await sentTwice('quota', 'fails', call)
      expect([slower?.status, slower?.headers.get(REPLAYED), faster.status]).toEqual([201, null, 500])
      expect([await count(caller), await taken(caller)]).toEqual([1, [1, 1]])
    },
  )

  it('a call that died after its write: the next one gets the request, and a full quota does not hide it', async () => {
    const caller = await newCaller(service)
    await limitTo(caller, 1)
    const { requests } = service.composition.deps
    const { insert } = requests
    requests.insert = async (request) => {
      await insert(request)
      throw new Error('the connection broke after the write')
    }
    const broken = await caller.create({ action: 'Pay' }, headers)
    requests.insert = insert
    expect([broken.status, broken.body.error]).toEqual([500, 'internal_error'])
    expect((await caller.create({ action: 'Pay' }, headers)).status).toBe(201)
    expect([await count(caller), await taken(caller)]).toEqual([1, [1, 1]])
  })

  it('can be used again after a refusal, with the body put right', async () => {
    const caller = await newCaller(service)
    expect((await caller.create({ action: 'Pay', ttl_seconds: 1 }, headers)).status).toBe(400)
    expect((await caller.create({ action: 'Pay', callback_url: 'x' }, headers)).status).toBe(400)
    expect((await caller.create({ action: 'Pay', ttl_seconds: 60 }, headers)).status).toBe(201)
  })

  it('is private to the key: another key may use the same text', async () => {
    const one = await newCaller(service)
    const two = await newCaller(service, { user: one.user })
    const first = await one.create({ action: 'Pay' }, headers)
    const second = await two.create({ action: 'Other' }, headers)
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body.id).not.toBe(first.body.id)
  })

  it('belongs to its request until 24 hours after the expiry, then to the next one', async () => {
    const caller = await newCaller(service)
    const day = 24 * 3600 * 1000
    const first = (await caller.create({ action: 'Pay' }, headers)).body.id
    await alter(service, 'requests', String(first), { created_at: new Date(Date.now() - 9 * day) })
    await expiredBefore(first, day - 60_000)
    expect((await caller.create({ action: 'Other' }, headers)).body.error).toBe('idempotency_mismatch')
    await expiredBefore(first, day)
    const at = Array.from({ length: 4 }, () => caller.create({ action: 'Other' }, headers))
    const ids = new Set((await Promise.all(at)).map(({ body }) => body.id))
    expect([ids.size, ids.has(first), await count(caller)]).toEqual([1, false, 2])
    expect((await caller.create({ action: 'Pay' }, headers)).body.error).toBe('idempotency_mismatch')
    expect((await caller.read(String(first))).status).toBe(200)
  })

  it('takes 255 visible characters, operators and all, as plain text', async () => {
    const caller = await newCaller(service)
    for (const key of ['k'.repeat(255), '{"$ne":null}', '$where', "';--", '~!@#%^&*()']) {
      const headers = { 'Idempotency-Key': key }
      const first = await caller.create({ action: 'Pay' }, headers)
      expect(first.status).toBe(201)
      expect((await caller.create({ action: 'Pay' }, headers)).text).toBe(first.text)
    }
  })
})
