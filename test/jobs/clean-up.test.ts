import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { startSession } from '../../src/flow/people/sessions.ts'
import { cleanUp } from '../../src/jobs/clean-up.ts'
import { clockOf } from '../support/clock.ts'
import { PATIENCE_MS } from '../support/patience.ts'
import { startStoreProxy } from '../support/store-proxy.ts'
import { newRequester, useWorker, type Worker } from '../support/worker.ts'

/** The same worker at another time. */
function at(worker: Worker, time: string): Worker {
  return { ...worker, deps: { ...worker.deps, clock: clockOf(() => Date.parse(time)) } }
}

async function counters(worker: Worker): Promise<Record<string, unknown>> {
  const found = await worker
    .stored('quotas')
    .find({ used: { $gte: 0 } })
    .toArray()
  return Object.fromEntries(found.map(({ _id, used }) => [_id.slice(-7), used]))
}

/** One request of a dry-run, in an account without limit. */
const oneOf = (month: string) => ({
  accountId: 'acc_1',
  month,
  quota: 0,
  people: [],
  reservation: { id: 'req_1', at: new Date() },
})

describe('quota counters', () => {
  it('start at 0 at midnight UTC of the first, and leave the old month as it was', async () => {
    const worker = await useWorker()
    const { account, caller, request } = await newRequester(worker)
    await worker.stored('accounts').updateOne({ _id: account.id }, { $set: { monthly_quota: 2 } })
    const ask = (time: string) => request({}, at(worker, time).deps)
    await ask('2030-12-01T00:00:00.000Z')
    await ask('2030-12-31T23:59:59.998Z')
    await expect(ask('2030-12-31T23:59:59.999Z')).rejects.toMatchObject({
      code: 'quota_exceeded',
      details: { retry_after: 1 },
    })
    expect(await counters(worker)).toEqual({ '2030-12': 2 })
    await ask('2031-01-01T00:00:00.000Z')
    expect(await counters(worker)).toEqual({ '2030-12': 2, '2031-01': 1 })
    await expect(ask('2030-12-31T23:59:59.999Z')).rejects.toMatchObject({ code: 'quota_exceeded' })
    expect(caller.key.account_id).toBe(account.id)
  })

  it('are kept for 13 months, the running one included', async () => {
    const worker = await useWorker()
    const { quotas } = worker.deps
    for (const month of ['2029-11', '2029-12', '2030-01', '2030-12', '2031-01'])
      await quotas.take(oneOf(month))
    await cleanUp(at(worker, '2031-01-01T00:00:00.000Z').deps)
    expect(Object.keys(await counters(worker)).sort()).toEqual(['2030-01', '2030-12', '2031-01'])
    await cleanUp(at(worker, '2030-12-31T23:59:59.999Z').deps)
    expect(Object.keys(await counters(worker))).toHaveLength(3)
  })
})

describe('the clean-up job', () => {
  it('runs with the service, ends sessions that lapsed and prunes old counters', async () => {
    const worker = await useWorker()
    const { user } = await newRequester(worker)
    await startSession(worker.deps, user, { address: '127.0.0.1', user_agent: 'test' }, 'test')
    const [session] = await worker.stored('sessions').find({}).toArray()
    const seen = new Date(Date.now() - 13 * 3_600_000)
    await worker.stored('sessions').updateOne({}, { $set: { last_seen_at: seen } })
    await worker.deps.quotas.take(oneOf('2001-01'))
    await worker.start()
    await vi.waitFor(async () => {
      expect(await counters(worker)).toEqual({})
      // Told, and taken note of: before that it is kept.
      expect(await worker.stored('sessions').countDocuments({ outbox_token: { $gt: '' } })).toBe(0)
      expect(await worker.deps.trail.list({ type: 'session.ended', limit: 10 })).toMatchObject([
        { entry: { subject: session?._id, actor: { kind: 'service' }, detail: { reason: 'lapsed' } } },
      ])
    }, PATIENCE_MS)
    await cleanUp(worker.deps)
    expect(await worker.stored('sessions').countDocuments({})).toBe(0)
  })

  it('goes on with the rest where an election interrupts a part of it, and does that part again', async () => {
    const proxy = await startStoreProxy(inject('storeUri'))
    onTestFinished(() => proxy.close())
    const worker = await useWorker({ storeUri: proxy.uri(`interrupted_${Date.now()}`) })
    const old = new Date('2001-01-01')
    const over: Record<string, object> = {
      sessions: { ended_at: old },
      attachments: { unclaimed_at: old },
      quotas: { month: '2001-01' },
      webhooks: { previous_secret: { until: old } },
      push_devices: { state: 'removed' },
      pushes: { state: 'sent', next_at: old },
      deliveries: { state: 'delivered', next_at: old },
      bootstraps: { status: 'expired', expires_at: old },
    }
    for (const [name, fields] of Object.entries(over))
      await worker.stored(name).insertOne({ _id: 'over', ...fields })
    const interrupted = new Set<string>()
    const many: unknown[] = []
    proxy.play({
      before: ({ deletes = [], updates = [] }, name) => {
        if (!/^(?:delete|update) /.test(name)) return undefined
        many.push(...deletes.filter(({ limit }: { limit: number }) => limit !== 1))
        many.push(...updates.filter(({ multi }: { multi?: boolean }) => multi === true))
        if (interrupted.has(name)) return undefined
        interrupted.add(name)
        return { ok: 0, code: 11602, codeName: 'InterruptedDueToReplStateChange', errmsg: 'interrupted' }
      },
    })
    await expect(cleanUp(worker.deps)).rejects.toMatchObject({ code: 11602 })
    expect([...interrupted].map((name) => name.split(' ')[1]).sort()).toEqual(Object.keys(over).sort())
    await cleanUp(worker.deps)
    const left = Object.keys(over).map((name) => worker.stored(name).countDocuments({ _id: 'over' }))
    expect(await Promise.all(left)).toEqual(Object.keys(over).map((name) => (name === 'webhooks' ? 1 : 0)))
    expect(await worker.stored('webhooks').findOne({})).toEqual({ _id: 'over' })
    // What is a write of one document each, the driver sends again by itself where there are elections.
    expect(many).toEqual([])
  })
})
