import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  type Answer,
  alter,
  lapse,
  makeDue,
  newCaller,
  send,
  stored,
  type TestCaller,
} from '../../support/caller.ts'
import { decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService, useService } from '../../support/service.ts'

let service: TestService
let setting: LiveSetting
beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

const PATH = '/api/v1/approvals/request'
const DAY_MS = 24 * 3600 * 1000
const BODY = { action: 'Pay', context: { amount: '120', to: 'ACME' }, reuse: 'open' }

const dryRun = () => newCaller(service, { sandbox: true })
const count = (caller: TestCaller) => stored(service, 'requests').countDocuments({ api_key_id: caller.keyId })
const ask = async (caller: TestCaller, more: object = {}, headers: Record<string, string> = {}) => {
  const { status, body } = await caller.create({ ...BODY, ...more }, headers)
  expect(status, JSON.stringify(body)).toBe(201)
  return body
}
const post = (caller: TestCaller, id: unknown, verb: string) =>
  caller.send(`/api/v1/approvals/${id}/${verb}`, { method: 'POST' })

async function live(): Promise<TestCaller> {
  const user = await service.composition.deps.users.find(setting.owner.userId)
  return newCaller(service, { user: user ?? expect.unreachable() })
}

/** What the caller's account has taken: of its quota, and of its owner's attention. */
async function taken({ user }: TestCaller): Promise<unknown[]> {
  const counters = await stored(service, 'quotas').find({}).toArray()
  const own = counters.filter(({ _id }) => _id.startsWith(user.account_id))
  return [own.find((one) => 'used' in one)?.used, own.flatMap(({ held = [] }) => held).length]
}

describe('reuse: open', () => {
  it('joins the pending request, then the unused approval, and asks anew once it was used', async () => {
    const caller = await live()
    const first = await ask(caller)
    const { id, ...shown } = first
    expect(shown).toEqual({
      status: 'pending',
      action: 'Pay',
      metadata: BODY.context,
      created_at: expect.any(String),
      expires_at: expect.any(String),
      review_url: `${service.url}/a/${id}`,
    })
    expect(await ask(caller)).toEqual({ ...first, reused: true })
    await decideByPasskey(setting, String(id), 'approved')
    expect(await ask(caller)).toEqual({ ...first, status: 'approved', reused: true })
    expect(await count(caller)).toBe(1)
    expect((await post(caller, id, 'consume')).status).toBe(200)
    const next = await ask(caller)
    expect([next.id === id, next.status, next.reused]).toEqual([false, 'pending', undefined])
  })

  it('has both ids and both addresses in the answer to a sandbox key', async () => {
    const caller = await dryRun()
    const { id } = await ask(caller)
    await makeDue(service, String(id))
    expect(await ask(caller)).toEqual({
      id,
      request_id: id,
      status: 'approved',
      sandbox: true,
      verify_url: `${service.url}/api/v1/approvals/${id}/verify`,
      review_url: `${service.url}/a/${id}`,
      reused: true,
    })
  })

  it.each<[string, (caller: TestCaller, id: string) => Promise<unknown>]>([
    ['rejected', (_caller, id) => reject(id)],
    ['withdrawn', (caller, id) => post(caller, id, 'cancel')],
    ['past its expiry, though nobody has marked it', (_caller, id) => lapse(service, id)],
    [
      'approved and used',
      async (caller, id) => {
        await makeDue(service, id)
        await caller.read(id)
        await post(caller, id, 'consume')
      },
    ],
    ['approved, and expired a day ago', (caller, id) => approvedFor(caller, id, DAY_MS + 60_000)],
    ['approved, and no longer usable', lapsed],
    ['erased', (caller, id) => erased(caller, id)],
  ])('asks anew when the earlier request is %s', async (_what, close) => {
    const caller = await dryRun()
    const { id } = await ask(caller)
    await close(caller, String(id))
    const next = await ask(caller)
    expect([next.id === id, next.reused]).toEqual([false, undefined])
    expect((await ask(caller)).id).toBe(next.id)
    expect(await count(caller)).toBe(2)
  })

  it('joins an approval for 24 hours after its expiry', async () => {
    const caller = await dryRun()
    const { id } = await ask(caller)
    await approvedFor(caller, String(id), DAY_MS - 60_000)
    expect(await ask(caller)).toMatchObject({ id, status: 'approved', reused: true })
  })

  it('asks anew while the earlier request is held after a restore', async () => {
    const other = await useService()
    const caller = await newCaller(other, { sandbox: true })
    const { id } = (await caller.create(BODY)).body
    const { restores } = other.composition.deps
    const copied = { copied_by: 'backup', copied_on: 'x@y', copied_at: new Date() } as const
    await restores.mark({ id: 'cpy_00000000000000000000000000', ...copied })
    const mark = (await restores.all()).at(-1) ?? expect.unreachable()
    await restores.hold(mark.id, 1)
    const next = (await caller.create(BODY)).body
    expect([next.id === id, next.reused]).toEqual([false, undefined])
    expect((await caller.create(BODY)).body).toMatchObject({ id: next.id, reused: true })
  })

  it('compares everything that is asked but `ttl_seconds`', async () => {
    const caller = await dryRun()
    const { id } = await ask(caller)
    const same = [
      { ttl_seconds: 90 },
      { context: { to: 'ACME', amount: '120' } },
      { requires_individual_decision: false },
      { unknown: 1 },
    ]
    for (const more of same) expect((await ask(caller, more)).id, JSON.stringify(more)).toBe(id)
    const other = [
      { action: 'Pay ' },
      { context: { amount: '121', to: 'ACME' } },
      { context: {} },
      { requires_individual_decision: true },
      { callback_url: 'https://example.com/hook' },
      { audience: 'bank' },
      { reversibility: 'reversible' },
      { sandbox_decision: 'rejected' },
      { use_within_seconds: 60 },
      { sandbox_auto_decide_seconds: 9 },
    ]
    const ids = new Set([id])
    for (const more of other) ids.add((await ask(caller, more)).id)
    expect(ids.size).toBe(other.length + 1)
  })

  it('is private to the key, and never joins a request that was made without it', async () => {
    const caller = await dryRun()
    const { reuse: _, ...plain } = BODY
    const ids = [(await caller.create(plain)).body.id, (await ask(caller)).id]
    ids.push((await caller.create(plain)).body.id)
    const other = await newCaller(service, { sandbox: true, user: caller.user })
    ids.push((await ask(other)).id)
    expect(new Set(ids).size).toBe(4)
  })

  it('takes nothing of a quota, and still joins when the quota is used up', async () => {
    const caller = await newCaller(service)
    await alter(service, 'accounts', caller.user.account_id, { monthly_quota: 1 })
    const { id } = await ask(caller)
    expect((await ask(caller)).id).toBe(id)
    expect((await caller.create({ ...BODY, action: 'Other' })).body.error).toBe('quota_exceeded')
    expect(await taken(caller)).toEqual([1, 1])
  })
})

describe('reuse: open, at the same moment', () => {
  it.each([
    ['one key each', (n: number) => ({ 'Idempotency-Key': `k${n}` })],
    ['no key', (_n: number) => ({})],
  ])(
    '16 calls in two processes make one request with the last one of a quota: %s',
    async (_what, headers) => {
      const { name: database } = service.composition.connection
      const second = await useService({ database, env: { BASE_URL: service.url } })
      const caller = await newCaller(service)
      await alter(service, 'accounts', caller.user.account_id, { monthly_quota: 1 })
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, n) => {
          const call = { method: 'POST', token: caller.token, json: BODY, headers: headers(n) }
          return send(n % 2 === 0 ? service : second, PATH, call)
        }),
      )
      expect(answers.map(({ status }) => status)).toEqual(Array(16).fill(201))
      expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
      expect(answers.filter(({ body }) => body.reused === undefined)).toHaveLength(1)
      expect([await count(caller), await taken(caller)]).toEqual([1, [1, 1]])
    },
  )

  it('joins the request that another process made after this one had found none', async () => {
    const { name: database } = service.composition.connection
    const second = await useService({ database, env: { BASE_URL: service.url } })
    const caller = await newCaller(service)
    const { requests } = service.composition.deps
    const { insert } = requests
    onTestFinished(() => {
      requests.insert = insert
    })
    let faster: Answer | undefined
    requests.insert = async (...what) => {
      faster ??= await send(second, PATH, { method: 'POST', token: caller.token, json: BODY })
      return insert(...what)
    }
    expect(await ask(caller)).toEqual({ ...faster?.body, reused: true })
    expect([await count(caller), await taken(caller)]).toEqual([1, [1, 1]])
  })

  it('8 calls are all answered although each request is rejected as soon as it is looked at', async () => {
    const caller = await dryRun()
    const more = { sandbox_decision: 'rejected', sandbox_auto_decide_seconds: 0 }
    const keys = Array.from({ length: 8 }, (_, n) => ({ 'Idempotency-Key': `k${n}` }))
    const all = await Promise.all(keys.map((key) => ask(caller, more, key)))
    expect(all.map(({ status, reused }) => [status, reused])).toEqual(Array(8).fill(['pending', undefined]))
    expect(await count(caller)).toBe(8)
  })
})

describe('reuse: open, with an Idempotency-Key', () => {
  const key = { 'Idempotency-Key': 'k' }

  it('answers a repeat of the call that made the request as before, whatever has become of it', async () => {
    const caller = await dryRun()
    const first = await ask(caller, {}, key)
    await reject(String(first.id))
    expect(await ask(caller, {}, key)).toEqual(first)
    expect((await caller.create({ ...BODY, ttl_seconds: 90 }, key)).body.error).toBe('idempotency_mismatch')
    const next = await ask(caller, {}, { 'Idempotency-Key': 'other' })
    expect(next.id).not.toBe(first.id)
  })

  it('leaves the key free when the call joined', async () => {
    const caller = await dryRun()
    const { id } = await ask(caller)
    expect(await ask(caller, {}, key)).toMatchObject({ id, reused: true })
    await reject(String(id))
    const next = await ask(caller, {}, key)
    expect([next.id === id, next.reused]).toEqual([false, undefined])
  })
})

async function reject(id: string): Promise<void> {
  await alter(service, 'requests', id, { 'sandbox_plan.decision': 'rejected' })
  await makeDue(service, id)
}

/** Approves a dry run, and lets it have expired that long ago. */
async function approvedFor(caller: TestCaller, id: string, ms: number): Promise<void> {
  await makeDue(service, id)
  expect((await caller.read(id)).body.status).toBe('approved')
  await alter(service, 'requests', id, { expires_at: new Date(Date.now() - ms) })
}

/** Approves a dry run whose approval could be used until a moment ago. */
async function lapsed(caller: TestCaller, id: string): Promise<void> {
  await approvedFor(caller, id, 0)
  const decided_at = new Date(Date.now() - 61_000)
  await alter(service, 'requests', id, { use_within_seconds: 60, 'decision.decided_at': decided_at })
}

/** Marks an approval as erased, by a process of an earlier version, which leaves `open_sha256`. */
async function erased(caller: TestCaller, id: string): Promise<void> {
  await approvedFor(caller, id, 60_000)
  await alter(service, 'requests', id, { erased_at: new Date() })
}
