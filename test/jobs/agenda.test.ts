import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { createJobs } from '../../src/jobs/start-jobs.ts'
import type { Sweep, SweepName } from '../../src/jobs/sweeps.ts'
import type { Clock } from '../../src/ports/ports.ts'
import { clockOf } from '../support/clock.ts'
import { PATIENCE_MS, patienceFor } from '../support/patience.ts'
import { startStoreProxy } from '../support/store-proxy.ts'
import { useWorker } from '../support/worker.ts'
import { percentile } from './percentile.ts'
import { feelPulse } from './pulse.ts'

const HOUR_MS = 3_600_000

interface Noted {
  /** Milliseconds after which a sweep is due again; an hour where it is not said. */
  every?: Partial<Record<SweepName, number>>
  /** When the delivery is due next, asked after each of its runs. */
  nextDue?: () => Date | undefined
}

/** Jobs whose sweeps only note when they ran, by the local clock. */
async function useJobs(clock: Clock, { every = {}, nextDue }: Noted = {}) {
  const worker = await useWorker()
  const { db } = worker.composition.connection
  if (db === undefined) throw new Error('no database')
  const jobs = createJobs(db, { clock, log: worker.deps.log })
  const runs: Record<SweepName, number[]> = {
    relay: [],
    deliver: [],
    expire: [],
    remind: [],
    'clean-up': [],
    retain: [],
  }
  const noting = (name: SweepName): Sweep => ({
    run: async () => {
      runs[name].push(Date.now())
      return name === 'deliver' ? nextDue?.() : undefined
    },
    between: { least: 100, most: every[name] ?? HOUR_MS },
  })
  const [relay, deliver, expire, remind] = (['relay', 'deliver', 'expire', 'remind'] as const).map(noting)
  if (!relay || !deliver || !expire || !remind) throw new Error('no sweeps')
  onTestFinished(() => jobs.stop())
  await jobs.start({
    relay,
    deliver,
    expire,
    remind,
    'clean-up': noting('clean-up'),
    retain: noting('retain'),
  })
  await vi.waitFor(
    () => expect(Object.values(runs).every((times) => times.length > 0)).toBe(true),
    PATIENCE_MS,
  )
  return { worker, jobs, runs }
}

it('wakes the delivery at the moment it is due: never before, and soon after', async () => {
  const asked: number[] = []
  const nextDue = () => {
    const time = Date.now() + 300 + asked.length * 37
    asked.push(time)
    return new Date(time)
  }
  const { worker, runs } = await useJobs(clockOf(), { nextDue })
  const pulse = feelPulse(worker)
  await vi.waitFor(() => expect(runs.deliver.length).toBeGreaterThan(12), patienceFor(7_000))
  const woken = runs.deliver.slice(1).map((at, i) => ({ at, due: asked[i] ?? Number.NaN }))
  expect(Math.min(...woken.map(({ at, due }) => at - due))).toBeGreaterThanOrEqual(0)
  const late = woken.map(({ at, due }) => at - due - pulse.heldUp(due, at))
  const [p50, most] = [50, 100].map((percent) => percentile(late, percent))
  console.info(`wake-up, ms late of ${late.length}: p50 ${p50}, most ${most}`)
  // Agenda looks every 200 ms here; left to itself every 5 s, which is 2.5 s in the median.
  expect(p50).toBeLessThanOrEqual(1_500)
  expect(await worker.stored('jobs').countDocuments({})).toBe(6)
})

it("T75: keeps jobs in the database's time when the clock of the process is an hour slow", async () => {
  const clock = clockOf(() => Date.now() + HOUR_MS)
  // Far enough off that it is looked at before it runs again.
  const asked: number[] = []
  const nextDue = () => {
    asked.push(clock.now().getTime() + 4_000)
    return new Date(asked.at(-1) ?? Number.NaN)
  }
  const { worker, runs } = await useJobs(clock, { nextDue })
  await vi.waitFor(async () => {
    const [job] = await worker.stored('jobs').find({ 'data.sweep': 'deliver' }).toArray()
    expect(job?.lockedAt).toBeNull()
    // Of whichever run was the last: the other sweeps may have taken their time to begin.
    expect(Math.abs(Number(job?.nextRunAt) - (asked.at(-1) ?? Number.NaN))).toBeLessThan(1_000)
  }, PATIENCE_MS)
  await vi.waitFor(() => expect(runs.deliver.length).toBeGreaterThan(1), patienceFor(4_000))
  expect((runs.deliver[1] ?? 0) + HOUR_MS).toBeGreaterThanOrEqual(asked[0] ?? Number.NaN)
  await vi.waitFor(async () => {
    const standing = await worker.stored('jobs').find({ 'data.sweep': 'clean-up' }).toArray()
    expect(Number(standing[0]?.nextRunAt)).toBeGreaterThan(Date.now() + 1.9 * HOUR_MS)
  }, PATIENCE_MS)
})

it('leaves no job locked behind when it stops, so that another process goes on at once', async () => {
  const { worker, jobs, runs } = await useJobs(clockOf(), { every: { relay: 150, expire: 150 } })
  await vi.waitFor(() => expect(runs.relay.length).toBeGreaterThan(3), PATIENCE_MS)
  await jobs.stop()
  const before = runs.relay.length
  const left = await worker.stored('jobs').find({}).toArray()
  expect(left).toHaveLength(6)
  expect(left.filter(({ lockedAt, nextRunAt }) => lockedAt !== null || nextRunAt === null)).toEqual([])
  expect(runs.relay).toHaveLength(before)
})

it('runs a sweep again that failed, and says so', async () => {
  const worker = await useWorker()
  const { nextReminder } = worker.deps.requests
  let failures = 2
  worker.deps.requests.nextReminder = async () => {
    failures -= 1
    if (failures >= 0) throw new Error('the store is tired')
    return nextReminder()
  }
  await worker.start()
  await vi.waitFor(() => expect(failures).toBeLessThan(0), patienceFor(4_000))
  const told = worker.logged.filter(({ message }) => message === 'a sweep failed; it will run again')
  expect(told.map(({ fields }) => [fields.sweep, String(fields.error)])).toContainEqual([
    'remind',
    'Error: the store is tired',
  ])
})

it.skipIf(!inject('storeUri').includes('.sock'))(
  'costs some two commands a second while nothing is due',
  async () => {
    const proxy = await startStoreProxy(inject('storeUri'))
    onTestFinished(() => proxy.close())
    const owner = await useWorker()
    const worker = await useWorker({ beside: owner, storeUri: proxy.uri(owner.database) })
    await worker.start()
    // Not the driver's heartbeat: some spans hold one more of it than others.
    const sum = (pattern: RegExp) =>
      [...proxy.sent].reduce((all, [name, times]) => all + (pattern.test(name) ? times : 0), 0)
    // By its job, which no other connection is seen to touch: it runs every ten seconds, however slow the machine is.
    const run = async () =>
      Number((await owner.stored('jobs').findOne({ 'data.sweep': 'relay' }))?.lastFinishedAt ?? 0)
    const nextRun = async () => {
      const last = await run()
      await vi.waitFor(async () => expect(await run()).toBeGreaterThan(last), {
        timeout: patienceFor(10_000),
        interval: 20,
      })
      return { at: performance.now(), commands: sum(/^(?!hello)/), updates: sum(/^update /) }
    }
    const before = await nextRun()
    await nextRun()
    const after = await nextRun()
    const commands = after.commands - before.commands
    const updates = after.updates - before.updates
    // 20 s, longer where the machine is busy; what is asked by the clock goes on meanwhile.
    const seconds = (after.at - before.at) / 1000
    console.info(`idle, in ${seconds.toFixed(1)} s: ${commands} commands, of them ${updates} updates`)
    expect(updates / seconds).toBeLessThanOrEqual(0.5)
    // A run ends with an update, three in ten seconds. One that a busy machine held up into the span costs four commands. Two reads
    // in ten seconds are the log's: of its head, and of the records that it lacks.
    const heldUp = Math.max(0, updates - 0.3 * seconds)
    expect((commands - 4 * heldUp) / seconds).toBeLessThanOrEqual(2.4)
  },
)
