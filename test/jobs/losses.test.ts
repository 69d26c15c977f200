import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { settleDue } from '../../src/flow/requests/settle-request.ts'
import { createJobs } from '../../src/jobs/start-jobs.ts'
import { NoSigningKeyError } from '../../src/signing/keys.ts'
import { clockOf } from '../support/clock.ts'
import { openGate } from '../support/gate.ts'
import { PATIENCE_MS, patienceFor } from '../support/patience.ts'
import { startReceiver } from '../support/receiver.ts'
import { useWorker, type Worker } from '../support/worker.ts'
import { leaveDuties } from './duties.ts'

/** The watchdog looks every 5 s, and so do those who lost the store: without them it would never be done. */
const LATE_MS = patienceFor(5_000)

async function setUp(options: Parameters<typeof useWorker>[0] = {}) {
  const worker = await useWorker(options)
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  return { worker, receiver }
}

/** Waits until every sweep has its job and none is running. */
async function settled(worker: Worker): Promise<void> {
  await vi.waitFor(
    async () => {
      const jobs = await worker.stored('jobs').find({}).toArray()
      expect(jobs).toHaveLength(6)
      expect(jobs.filter(({ nextRunAt, lockedAt }) => nextRunAt === null || lockedAt !== null)).toEqual([])
    },
    { timeout: patienceFor(5_000), interval: 10 },
  )
}

/** What becomes of jobs, and of the duties nevertheless. */
const LOSSES: Record<string, () => Promise<void>> = {
  async 'does every duty when the whole collection is dropped again and again in mid-run'() {
    const { worker, receiver } = await setUp()
    const duties = await leaveDuties(worker, receiver, 7_000)
    await worker.start()
    for (let drop = 0; drop < 2; drop += 1) {
      await settled(worker)
      await worker.stored('jobs').drop()
    }
    console.info(`jobs dropped twice: all done ${await duties.done(LATE_MS)} s after they were due`)
    await settled(worker)
    expect((await worker.stored('jobs').indexes()).map(({ name }) => name)).toContain('next_job')
  },
  async 'does every duty when a clock that was wrong once has put all jobs a day ahead'() {
    const { worker, receiver } = await setUp()
    const duties = await leaveDuties(worker, receiver, 7_000)
    await worker.start()
    await settled(worker)
    await worker.stored('jobs').updateMany({}, { $set: { nextRunAt: new Date(Date.now() + 86_400_000) } })
    console.info(`jobs a day ahead: all done ${await duties.done(LATE_MS)} s after they were due`)
  },
  async 'does every duty while no job can be stored'() {
    const { worker, receiver } = await setUp()
    const duties = await leaveDuties(worker, receiver, 4_000)
    // All jobs have one name, so only one of them still fits in.
    await worker.stored('jobs').createIndex({ name: 1 }, { unique: true })
    await worker.start()
    console.info(`no jobs at all: all done ${await duties.done(LATE_MS)} s after they were due`)
    expect(worker.logged.filter(({ level }) => level === 'warn').length).toBeGreaterThan(0)
    await worker.stored('jobs').dropIndex('name_1')
    await settled(worker)
  },
  async 'goes on when the store was away for a while, without an unhandled rejection'() {
    const gate = await openGate(inject('storeUri'))
    onTestFinished(() => gate.close())
    const { worker: observer, receiver } = await setUp()
    const worker = await useWorker({ beside: observer, storeUri: gate.uri(observer.database) })
    const duties = await leaveDuties(observer, receiver, 15_000)
    // What failed falls due again while the store is away, however fast the first attempts follow each other.
    const { deliveries } = worker.deps
    const { finish } = deliveries
    deliveries.finish = (delivery, end) =>
      finish(delivery, end.state === 'due' ? { ...end, next_at: new Date(duties.due) } : end)
    await worker.start()
    // An attempt that cannot be recorded waits for the end of its lease: that is not what is looked at here.
    await vi.waitFor(
      async () =>
        expect(await observer.stored('deliveries').countDocuments({ state: 'due', tries: 1 })).toBe(5),
      { timeout: PATIENCE_MS, interval: 10 },
    )
    await gate.shut()
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(duties.due + 3_000), patienceFor(18_000))
    expect(await observer.stored('requests').countDocuments({ status: 'expired' })).toBe(0)
    await gate.open()
    console.info(`store away 3 s beyond: all done ${await duties.done(LATE_MS)} s after they were due`)
    await settled(observer)
  },
  async 'does what is due once, with two processes at it'() {
    const { worker: one, receiver } = await setUp()
    const two = await useWorker({ beside: one })
    const duties = await leaveDuties(one, receiver, 3_000)
    await Promise.all([one.start(), two.start()])
    console.info(`two processes: all done ${await duties.done(LATE_MS)} s after they were due`)
    await settled(one)
    await vi.waitFor(async () => expect(await one.stored('jobs').countDocuments({})).toBe(6), PATIENCE_MS)
  },
}

describe('losing jobs costs time and no duty', () => {
  // All at once: they wait for the clock, and not for each other.
  it(Object.keys(LOSSES).join('; '), async () => {
    const ends = await Promise.allSettled(Object.values(LOSSES).map((lose) => lose()))
    const failed = Object.keys(LOSSES).flatMap((what, at) => {
      const end = ends[at]
      return end?.status === 'rejected' ? [[what, end.reason]] : []
    })
    expect(failed).toEqual([])
  })

  it('leaves a job to the process that took it while its sweep was run for it', async () => {
    const { worker } = await setUp()
    const { db } = worker.composition.connection
    if (db === undefined) throw new Error('no database')
    const lockedAt = new Date()
    // Held: however long this takes, the lock does not grow old.
    const deps = { ...worker.deps, clock: clockOf(() => lockedAt.getTime()) }
    const idle = { run: async () => undefined, between: { least: 100, most: 3_600_000 } }
    const run = async (deliver = idle) => {
      const jobs = createJobs(db, deps)
      await jobs.start({ relay: idle, deliver, expire: idle, remind: idle, 'clean-up': idle, retain: idle })
      await jobs.stop()
    }
    await run()
    const jobs = worker.stored('jobs')
    await jobs.updateMany({}, { $set: { nextRunAt: new Date(Date.now() + 86_400_000) } })
    const taken = async () => void (await jobs.updateOne({ 'data.sweep': 'deliver' }, { $set: { lockedAt } }))
    await run({ ...idle, run: taken })
    const locks = await jobs.find({}).sort({ 'data.sweep': 1 }).toArray()
    expect(locks.map((job) => job.lockedAt)).toEqual([null, lockedAt, null, null, null, null])
  })
})

it.each([
  ['one that no key can sign for', new NoSigningKeyError('decision'), [undefined, 39, 1]],
  ['any other error', new Error('no store'), undefined],
] as const)(
  'a run passes over nothing but what cannot be signed, and that once: %s among 40',
  async (_, error, result) => {
    const { worker } = await setUp()
    const due = new Set(Array.from({ length: 40 }, (_, index) => ({ id: `req_${index}` })))
    let refused = 0
    const next = async () => new Date(0)
    const read = async (_now: Date, limit: number) => [...due].slice(0, limit)
    const run = settleDue(worker.deps, { next, read }, async (one) => {
      if (one.id !== 'req_2') return due.delete(one)
      refused += 1
      throw error
    }).then((again) => [again, 40 - due.size, refused])
    await (result === undefined ? expect(run).rejects.toBe(error) : expect(run).resolves.toEqual(result))
  },
)
