import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Delivery } from '../../src/domain/webhook.ts'
import type { DeliveryResult } from '../../src/store/delivery/deliveries.ts'
import type { Choice } from '../../src/store/delivery/queue.ts'
import { FIRST } from '../support/first-claim.ts'
import { sampleDelivery } from '../support/sample-delivery.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())
beforeEach(async () => {
  await service.composition.connection.collection('deliveries').deleteMany({})
})

const START = Date.parse('2026-03-01T10:00:00.000Z')
const at = (seconds: number) => new Date(START + seconds * 1000)

function delivery(n: number, more: Partial<Delivery> = {}): Delivery {
  return sampleDelivery({
    id: `dlv_${n}`,
    account_id: 'acc_a',
    target: { kind: 'webhook', webhook_id: 'whk_a' },
    event_id: `evt_${n}`,
    url: 'https://hooks.example.com/in',
    next_at: at(n),
    ...more,
  })
}

function result(more: Partial<DeliveryResult> = {}): DeliveryResult {
  const attempts = [{ at: at(0), outcome: 'http_200' as const, duration_ms: 3 }]
  return { state: 'delivered', next_at: at(0), tries: 1, attempts, events: [], audit: [], ...more }
}

type Pair = Pick<Delivery, 'host' | 'account_id'>

const store = () => service.composition.deps.deliveries
const claimMany = (
  now: number,
  leaseEnds: number,
  { hosts = [], accounts = [], pairs = [] }: { hosts?: string[]; accounts?: string[]; pairs?: Pair[] } = {},
  choice: Choice<Delivery> = FIRST,
) => {
  const busy = { busyHosts: hosts, busyAccounts: accounts, busyPairs: pairs }
  return store().claim({ ...choice, now: at(now), leaseEnds: at(leaseEnds), ...busy })
}
const claim = async (...query: Parameters<typeof claimMany>) => (await claimMany(...query))[0]

it('keeps one delivery per event and target, and inserts the rest of a batch all the same', async () => {
  await store().insertNew([delivery(1)])
  await store().insertNew([delivery(2, { event_id: 'evt_1' }), delivery(3), delivery(4)])
  const other = { target: { kind: 'webhook', webhook_id: 'whk_b' } } as const
  await store().insertNew([delivery(5, { event_id: 'evt_1', ...other })])
  const listed = await store().list({ account_id: 'acc_a', limit: 10 })
  expect(listed.map(({ id }) => id)).toEqual(['dlv_5', 'dlv_4', 'dlv_3', 'dlv_1'])
})

it('claims what is due longest first, and nothing that is not due', async () => {
  await store().insertNew([delivery(3), delivery(1), delivery(9)])
  expect((await claim(5, 35))?.record).toMatchObject({
    id: 'dlv_1',
    state: 'leased',
    fence: 1,
    next_at: at(35),
  })
  expect((await claim(5, 35))?.record.id).toBe('dlv_3')
  expect(await claim(5, 35)).toBeUndefined()
  expect(await store().nextDue()).toEqual(at(9))
})

it('T82: of many claims at once each delivery goes to one', async () => {
  await store().insertNew([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => delivery(n)))
  const claimer = async (limit: number): Promise<string[]> => {
    const got: string[] = []
    for (let found = true; found; ) {
      const choose = (some: readonly Delivery[]): Delivery[] => {
        found = some.length > 0
        return [...some]
      }
      got.push(...(await claimMany(20, 50, {}, { limit, choose })).map(({ record }) => record.id))
    }
    return got
  }
  const claimed = await Promise.all([1, 2, 3, 4, 64, 64, 64, 64].map(claimer))
  expect(claimed.flat()).toHaveLength(10)
  expect(new Set(claimed.flat()).size).toBe(10)
})

it('T82: of many results at once each is told whether it was in time', async () => {
  await store().insertNew([1, 2, 3, 4, 5, 6].map((n) => delivery(n)))
  const all = { limit: 64, choose: (found: readonly Delivery[]) => [...found] }
  const slow = await claimMany(20, 50, {}, all)
  const quick = await claimMany(51, 80, {}, { limit: 3, choose: all.choose })
  expect(quick.map(({ record, interrupted }) => [record.fence, interrupted])).toEqual(
    Array.from({ length: 3 }, () => [2, true]),
  )
  const kept = await Promise.all([...slow, ...quick].map(({ record }) => store().finish(record, result())))
  expect(kept).toEqual([false, false, false, true, true, true, true, true, true])
})

it('passes over hosts that have enough under way', async () => {
  await store().insertNew([delivery(1), delivery(2, { host: 'calm.example.com' })])
  expect((await claim(5, 35, { hosts: ['hooks.example.com'] }))?.record.id).toBe('dlv_2')
  expect(await claim(5, 35, { hosts: ['hooks.example.com'] })).toBeUndefined()
})

it('passes over accounts that have enough under way', async () => {
  await store().insertNew([
    delivery(1),
    delivery(2, { account_id: 'acc_b' }),
    delivery(3, { account_id: 'acc_c' }),
  ])
  expect((await claim(5, 35, { accounts: ['acc_a', 'acc_b'] }))?.record.id).toBe('dlv_3')
  expect(await claim(5, 35, { accounts: ['acc_a', 'acc_b'] })).toBeUndefined()
  const busy = { hosts: ['other.example.com'], accounts: ['acc_a'] }
  expect((await claim(5, 35, busy))?.record.id).toBe('dlv_2')
})

it('passes over an account that has enough under way at a host, and neither the account nor the host', async () => {
  const host = 'calm.example.com'
  await store().insertNew([
    delivery(1),
    delivery(2, { host }),
    delivery(3, { account_id: 'acc_b' }),
    delivery(4, { account_id: 'acc_b', host }),
  ])
  const pairs = [
    { host: 'hooks.example.com', account_id: 'acc_a' },
    { host, account_id: 'acc_b' },
  ]
  expect((await claim(5, 35, { pairs }))?.record.id).toBe('dlv_2')
  expect((await claim(5, 35, { pairs }))?.record.id).toBe('dlv_3')
  expect(await claim(5, 35, { pairs })).toBeUndefined()
})

it('has an index for claims that answers for host and account, and one by request of those that have one', async () => {
  const indexes = await service.composition.connection.collection('deliveries').indexes()
  const parts = indexes.map(({ key, sparse, partialFilterExpression: only }) => ({ key, sparse, only }))
  expect(parts.filter(({ key }) => 'host' in key)).toEqual([
    { key: { next_at: 1, host: 1, account_id: 1 }, only: { state: { $in: ['due', 'leased'] } } },
  ])
  expect(parts.filter(({ key }) => 'request_id' in key)).toEqual([
    { key: { request_id: 1, created_at: -1, _id: -1 }, only: { request_id: { $exists: true } } },
  ])
})

it('T82: whoever lost the lease can write nothing any more', async () => {
  await store().insertNew([delivery(1)])
  const slow = (await claim(5, 35)) ?? expect.unreachable()
  const quick = (await claim(36, 66)) ?? expect.unreachable()
  expect([slow.interrupted, quick.interrupted]).toEqual([false, true])
  expect(await store().finish(slow.record, result({ state: 'dead' }))).toBe(false)
  expect(await store().finish(quick.record, result())).toBe(true)
  expect(await store().finish(quick.record, result({ state: 'dead' }))).toBe(false)
  expect(await store().find('dlv_1')).toMatchObject({
    state: 'delivered',
    tries: 1,
    attempts: [{ outcome: 'http_200' }],
  })
  expect(await claim(100, 130)).toBeUndefined()
})

it('keeps the last fifty attempts', async () => {
  await store().insertNew([delivery(1)])
  const attempts = Array.from({ length: 60 }, (_, n) => ({
    at: at(n),
    outcome: 'timeout' as const,
    duration_ms: n,
  }))
  const taken = (await claim(5, 35)) ?? expect.unreachable()
  await store().finish(taken.record, result({ attempts }))
  const kept = (await store().find('dlv_1'))?.attempts ?? []
  expect(kept).toHaveLength(50)
  expect(kept.at(-1)).toMatchObject({ duration_ms: 59 })
})

it('replays what rests, of the account that owns it, as a new round under the same event', async () => {
  const entry = {
    eid: 'evt_r',
    type: 'delivery.replayed',
    at: at(9),
    actor: { kind: 'cli' },
    subject: 'dlv_1',
  } as const
  await store().insertNew([delivery(1)])
  expect(await store().replay('dlv_1', 'acc_a', at(9), entry)).toBeUndefined()
  const taken = (await claim(5, 35)) ?? expect.unreachable()
  expect(await store().replay('dlv_1', 'acc_a', at(9), entry)).toBeUndefined()
  await store().finish(taken.record, result({ state: 'dead', tries: 5 }))
  expect(await store().replay('dlv_1', 'acc_b', at(9), entry)).toBeUndefined()
  const replayed = await store().replay('dlv_1', 'acc_a', at(9), entry)
  expect(replayed).toMatchObject({
    state: 'due',
    tries: 0,
    fence: 1,
    event_id: 'evt_1',
    next_at: at(9),
    attempts: [{}],
  })
  expect((await claim(9, 39))?.record).toMatchObject({ id: 'dlv_1', fence: 2 })
})

it('lists by webhook and by request, newest first, a page at a time', async () => {
  const about = { request_id: 'req_1' }
  const callback = {
    target: { kind: 'callback', request_id: 'req_1', api_key_id: 'key_1', secret_version: 1 },
    ...about,
  } as const
  await store().insertNew([
    delivery(1, callback),
    delivery(2, about),
    delivery(3),
    delivery(4, { account_id: 'acc_b' }),
  ])
  const ids = async (query: object, limit = 10) =>
    (await store().list({ account_id: 'acc_a', limit, ...query })).map(({ id }) => id)
  expect(await ids({ webhook_id: 'whk_a' })).toEqual(['dlv_3', 'dlv_2'])
  expect(await ids({ request_id: 'req_1' })).toEqual(['dlv_2', 'dlv_1'])
  expect(await ids({}, 1)).toEqual(['dlv_3'])
  expect(await ids({ before: { created_at: at(3), id: 'dlv_3' } })).toEqual(['dlv_2', 'dlv_1'])
})

it('after the clock was set back sends what was stored or tried later than now, and a lease lasts once more', async () => {
  const past = { created_at: at(-9) }
  const failedAt = (seconds: number) => ({
    ...past,
    tries: 1,
    attempts: [{ at: at(seconds), outcome: 'http_500' as const, duration_ms: 3 }],
  })
  const leased = { ...past, state: 'leased', fence: 1 } as const
  await store().insertNew([
    delivery(1, { created_at: at(3_600), next_at: at(3_600) }),
    delivery(2, { ...failedAt(3_600), next_at: at(3_900) }),
    delivery(3, { ...leased, next_at: at(3_630) }),
    // Nothing is wrong with these.
    delivery(4, { ...failedAt(-1), next_at: at(299) }),
    delivery(5, { ...leased, next_at: at(30) }),
  ])
  for (const _again of [1, 2]) await store().bringForward(at(0))
  const listed = await store().list({ account_id: 'acc_a', limit: 10 })
  expect(Object.fromEntries(listed.map(({ id, next_at }) => [id, next_at]))).toEqual({
    dlv_1: at(0),
    dlv_2: at(0),
    dlv_3: at(120),
    dlv_4: at(299),
    dlv_5: at(30),
  })
})
