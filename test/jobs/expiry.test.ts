import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { PATIENCE_MS, patienceFor } from '../support/patience.ts'
import { newRequester, useWorker, type Worker } from '../support/worker.ts'
import { percentile } from './percentile.ts'
import { feelPulse } from './pulse.ts'

const COUNT = 240
const SPREAD_MS = 8_000

/** Requests whose time is up one after the other, from `first` ms on. */
async function requestsEnding(
  worker: Worker,
  count: number,
  first: number,
  spread: number,
): Promise<string[]> {
  const requester = await newRequester(worker)
  const ids: string[] = []
  for (let i = 0; i < count; i += 1) ids.push(await requester.request())
  const start = Date.now() + first
  const writes = ids.map((_id, i) => {
    const expires_at = new Date(start + Math.floor((i * spread) / count))
    return { updateOne: { filter: { _id }, update: { $set: { expires_at } } } }
  })
  await worker.stored('requests').bulkWrite(writes)
  return ids
}

/** Notes by how much each expiry is late once it is durable, halts of everything left out, and the events that its write left. */
function watchExpiry(worker: Worker) {
  const { requests } = worker.deps
  const pulse = feelPulse(worker)
  const done: { due: number; at: number; late: number }[] = []
  const events: string[] = []
  const { expire } = requests
  requests.expire = async (...args) => {
    const expired = await expire(...args)
    if (expired !== undefined) {
      // Expiry goes by the database's clock, which is this machine's. The service's estimate of it moves by milliseconds.
      const [due, at] = [expired.expires_at.getTime(), Date.now()]
      done.push({ due, at, late: at - due })
    }
    const told = expired?.outbox.filter(({ type }) => type === 'approval.expired') ?? []
    events.push(...told.map(({ body }) => JSON.parse(body).data.request_id))
    return expired
  }
  const late = () => done.map(({ due, at, late }) => late - pulse.heldUp(due, at))
  return { done, late, events }
}

describe('expiry', () => {
  it(`comes at the moment and not with the next look, ${COUNT} times, once each, with one event and one entry`, async () => {
    const worker = await useWorker()
    const ids = await requestsEnding(worker, COUNT, 2_000, SPREAD_MS)
    const { done, late, events } = watchExpiry(worker)
    const waiter = worker.deps.changes.watch([ids.at(-1) ?? ''], 'key_none')
    onTestFinished(() => waiter.close())
    const news = waiter.next([1], 120_000, new AbortController().signal)
    await worker.start()
    await vi.waitFor(() => expect(done).toHaveLength(COUNT), {
      timeout: patienceFor(2_000 + SPREAD_MS),
      interval: 50,
    })
    const [p50, p99, most] = [50, 99, 100].map((percent) => percentile(late(), percent))
    console.info(`expiry, ms late of ${COUNT}: p50 ${p50}, p99 ${p99}, most ${most}`)
    expect(Math.min(...done.map(({ late }) => late))).toBeGreaterThanOrEqual(0)
    // Without its own wake-up each would wait for the sweep of every 20 s: 10 s and more in the median.
    expect(p50).toBeLessThanOrEqual(5_000)
    expect(await news).toMatchObject({ requests: [{ id: ids.at(-1), status: 'expired', version: 2 }] })
    await vi.waitFor(
      async () => {
        const records = await worker.deps.trail.list({ type: 'approval.expired', limit: 2 * COUNT })
        expect(records.map(({ entry }) => entry?.subject).sort()).toEqual([...ids].sort())
      },
      { timeout: PATIENCE_MS, interval: 100 },
    )
    expect(events.sort()).toEqual([...ids].sort())
  })
})
