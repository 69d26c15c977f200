import { expect, inject, it, onTestFinished, vi } from 'vitest'
import type { Clock } from '../../src/flow/ports.ts'
import { createJobs } from '../../src/jobs/start-jobs.ts'
import type { Sweep, SweepName } from '../../src/jobs/sweep.ts'
import { startStoreProxy } from '../support/store-proxy.ts'
import { percentile } from './percentile.ts'
import { useWorker } from './worker.ts'

const HOUR_MS = 3_600_000

/** Jobs whose sweeps only note when they ran, by the local clock; each is due every so often. */
async function useJobs(clock: Clock, every: Partial<Record<SweepName, number>> = {}) {
  const worker = await useWorker()
  const { db } = worker.composition.connection
  if (db === undefined) throw new Error('no database')
  const jobs = createJobs(db, { clock, log: worker.deps.log })
  const runs: Record<SweepName, number[]> = { relay: [], deliver: [], expire: [], remind: [], 'clean-up': [] }
  const noting = (name: SweepName): Sweep => ({
    run: async () => {
      runs[name].push(Date.now())
      return undefined
    },
    between: { least: 100, most: every[name] ?? HOUR_MS },
  })
  const [relay, deliver, expire, remind] = (['relay', 'deliver', 'expire', 'remind'] as const).map(noting)
  if (!relay || !deliver || !expire || !remind) throw new Error('no sweeps')
  onTestFinished(() => jobs.stop())
  await jobs.start({ relay, deliver, expire, remind, 'clean-up': noting('clean-up') })
  await vi.waitFor(() => expect(Object.values(runs).every((times) => times.length > 0)).toBe(true), 20_000)
  return { worker, jobs, runs }
}

it('wakes the delivery at the moment asked for: never before, and soon after', async () => {
  const clock = { now: () => new Date() }
  const { worker, jobs, runs } = await useJobs(clock)
  const asked = Array.from({ length: 20 }, (_, i) => Date.now() + 400 + i * 137)
  for (const time of asked) jobs.wakeups.at('deliver', new Date(time))
  runs.deliver.length = 0
  await vi.waitFor(() => expect(runs.deliver.length).toBeGreaterThanOrEqual(asked.length), 20_000)
  const late = asked.map((time, i) => (runs.deliver[i] ?? Number.NaN) - time)
  const [least, p50, most] = [0, 50, 100].map((percent) => percentile(late, percent))
  console.info(`wake-up, ms late of ${asked.length}: least ${least}, p50 ${p50}, most ${most}`)
  expect(least).toBeGreaterThanOrEqual(0)
  expect(p50).toBeLessThanOrEqual(250)
  await vi.waitFor(async () => expect(await worker.stored('jobs').countDocuments({})).toBe(5), 20_000)
})

it('makes one job of wake-ups close together, and none of what the sweep sees in time by itself', async () => {
  const { worker, jobs } = await useJobs({ now: () => new Date() })
  const soon = Date.now() + 8_000
  for (let i = 0; i < 100; i += 1) jobs.wakeups.at('deliver', new Date(soon + (i % 20)))
  jobs.wakeups.at('deliver', new Date(soon + 30_000))
  await jobs.flush()
  expect(await worker.stored('jobs').countDocuments({ 'data.once': true })).toBeLessThanOrEqual(2)
})

it("T75: keeps jobs in the database's time when the clock of the process is an hour slow", async () => {
  const clock = { now: () => new Date(Date.now() + HOUR_MS) }
  const { worker, jobs, runs } = await useJobs(clock)
  // Far enough off that it is looked at before it runs and is gone.
  const due = clock.now().getTime() + 4_000
  runs.deliver.length = 0
  jobs.wakeups.at('deliver', new Date(due))
  await jobs.flush()
  const [once] = await worker.stored('jobs').find({ 'data.once': true }).toArray()
  expect(Number(once?.nextRunAt) - due).toBeLessThan(50)
  expect(Number(once?.nextRunAt) - due).toBeGreaterThanOrEqual(0)
  await vi.waitFor(() => expect(runs.deliver).toHaveLength(1), 20_000)
  expect((runs.deliver[0] ?? 0) + HOUR_MS).toBeGreaterThanOrEqual(due)
  const standing = await worker.stored('jobs').find({ 'data.sweep': 'clean-up' }).toArray()
  expect(Number(standing[0]?.nextRunAt)).toBeGreaterThan(Date.now() + 1.9 * HOUR_MS)
})

it('leaves no job locked behind when it stops, so that another process goes on at once', async () => {
  const { worker, jobs, runs } = await useJobs({ now: () => new Date() }, { relay: 150, expire: 150 })
  await vi.waitFor(() => expect(runs.relay.length).toBeGreaterThan(3), 10_000)
  await jobs.stop()
  const left = await worker.stored('jobs').find({}).toArray()
  expect(left).toHaveLength(5)
  expect(left.filter(({ lockedAt, nextRunAt }) => lockedAt !== null || nextRunAt === null)).toEqual([])
  const before = runs.relay.length
  jobs.wakeups.at('deliver', new Date())
  await jobs.flush()
  expect(await worker.stored('jobs').countDocuments({ 'data.once': true })).toBe(1)
  expect(runs.relay).toHaveLength(before)
})

it('runs a sweep again that failed, and says so', async () => {
  const worker = await useWorker()
  const { remindable } = worker.deps.requests
  let failures = 2
  worker.deps.requests.remindable = async (...args) => {
    failures -= 1
    if (failures >= 0) throw new Error('the store is tired')
    return remindable(...args)
  }
  await worker.start()
  await vi.waitFor(() => expect(failures).toBeLessThan(0), 20_000)
  const told = worker.logged.filter(({ message }) => message === 'a sweep failed; it runs again')
  expect(told.map(({ fields }) => [fields.sweep, String(fields.error)])).toContainEqual([
    'remind',
    'Error: the store is tired',
  ])
})

it.skipIf(!inject('storeUri').includes('.sock'))('costs little while nothing is due', async () => {
  const proxy = await startStoreProxy(inject('storeUri'))
  onTestFinished(() => proxy.close())
  const owner = await useWorker()
  const worker = await useWorker({ beside: owner, storeUri: proxy.uri(owner.database) })
  await worker.start()
  const count = (pattern: RegExp) =>
    [...proxy.sent].reduce((sum, [name, times]) => sum + (pattern.test(name) ? times : 0), 0)
  const asked = () => count(/^findAndModify jobs$/)
  await vi.waitFor(() => expect(asked()).toBeGreaterThan(25), 30_000)
  const before = { time: performance.now(), all: count(/./), asked: asked(), updates: count(/^update /) }
  await vi.waitFor(() => expect(asked()).toBeGreaterThan(before.asked + 100), 60_000)
  const seconds = (performance.now() - before.time) / 1000
  const commands = (count(/./) - before.all) / seconds
  const updates = (count(/^update /) - before.updates) / seconds
  console.info(
    `idle, over ${seconds.toFixed(0)} s: ${commands.toFixed(1)} commands/s, of them ${updates.toFixed(2)} updates/s`,
  )
  expect(commands).toBeLessThan(12)
  expect(updates).toBeLessThan(2)
})
