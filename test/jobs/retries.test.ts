import { expect, it, onTestFinished } from 'vitest'
import { settleRequest } from '../../src/flow/requests/settle-request.ts'
import { patienceFor } from '../support/patience.ts'
import { startReceiver } from '../support/receiver.ts'
import { newRequester, useWorker } from '../support/worker.ts'
import { percentile } from './percentile.ts'
import { feelPulse } from './pulse.ts'

/** As many as go to one host at once: what waits for its turn is late for another reason. */
const COUNT = 4

it('tries a failing receiver again after 1 s and after 5 s, and not with the next sweep', async () => {
  const worker = await useWorker()
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  receiver.behave(() => ({ kind: 'answer', status: 500 }))
  const requester = await newRequester(worker, true)
  for (let i = 0; i < COUNT; i += 1) {
    const id = await requester.request({ callback_url: receiver.url(`/hook/${i}`) })
    const past = { 'sandbox_plan.due_at': new Date(Date.now() - 1_000) }
    await worker.stored('requests').updateOne({ _id: id }, { $set: past })
    const made = await worker.deps.requests.find(id)
    if (made !== undefined) await settleRequest(worker.deps, made)
  }
  const pulse = feelPulse(worker)
  await worker.start()
  await receiver.until('three attempts each', () => receiver.received.length >= 3 * COUNT, patienceFor(6_000))
  const times = new Map<string, number[]>()
  for (const { path, at } of receiver.received) times.set(path, [...(times.get(path) ?? []), at])
  const pairs = [0, 1].map((i) =>
    [...times.values()].map((at) => [at[i] ?? Number.NaN, at[i + 1] ?? Number.NaN] as const),
  )
  const offsets = [1_000, 5_000].map((planned, i) =>
    (pairs[i] ?? []).map(([before, at]) => at - before - planned),
  )
  for (const [i, late] of offsets.entries()) {
    const [least, p50, most] = [0, 50, 100].map((percent) => percentile(late, percent))
    console.info(
      `retry ${i + 1}, ms off ${[1_000, 5_000][i]} of ${COUNT}: least ${least}, p50 ${p50}, most ${most}`,
    )
  }
  expect(times.size).toBe(COUNT)
  expect(Math.min(...offsets.flat())).toBeGreaterThanOrEqual(0)
  // The median: a busy machine may delay single ones. The sweep of every 10 s alone would delay all, by 5 s in the median.
  // The pause begins with the record of the try before, so what held that up counts as well.
  const heldUp = pairs.map((each) => each.map(([before, at]) => pulse.heldUp(before, at)))
  for (const [i, late] of offsets.entries()) {
    const own = late.map((ms, n) => ms - (heldUp[i]?.[n] ?? 0))
    expect(percentile(own, 50)).toBeLessThanOrEqual(2_500)
  }
})
