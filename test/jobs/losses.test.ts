import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedStore } from 'embedded-mongo'
import { mongo } from 'mongoose'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { settleDue } from '../../src/flow/requests/settle-request.ts'
import { createJobs } from '../../src/jobs/start-jobs.ts'
import { WITH_OUTBOX } from '../../src/store/mongo/outbox.ts'
import { clockOf } from '../support/clock.ts'
import { openGate } from '../support/gate.ts'
import { PATIENCE_MS, patienceFor } from '../support/patience.ts'
import { startReceiver } from '../support/receiver.ts'
import { sampleDelivery } from '../support/sample-delivery.ts'
import { databaseUri } from '../support/service.ts'
import { spoil, spoilIndexes } from '../support/spoil.ts'
import { newRequester, useWorker, type Worker } from '../support/worker.ts'
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
      expect(jobs).toHaveLength(5)
      expect(jobs.filter(({ nextRunAt, lockedAt }) => nextRunAt === null || lockedAt !== null)).toEqual([])
    },
    { timeout: patienceFor(5_000), interval: 10 },
  )
}

describe('losing jobs costs time and no duty', () => {
  it('does every duty when the whole collection is dropped again and again in mid-run', async () => {
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
  })

  it('does every duty when a clock that was wrong once has put all jobs a day ahead', async () => {
    const { worker, receiver } = await setUp()
    const duties = await leaveDuties(worker, receiver, 7_000)
    await worker.start()
    await settled(worker)
    await worker.stored('jobs').updateMany({}, { $set: { nextRunAt: new Date(Date.now() + 86_400_000) } })
    console.info(`jobs a day ahead: all done ${await duties.done(LATE_MS)} s after they were due`)
  })

  it('does every duty while no job can be stored', async () => {
    const { worker, receiver } = await setUp()
    const duties = await leaveDuties(worker, receiver, 4_000)
    // All jobs have one name, so only one of them still fits in.
    await worker.stored('jobs').createIndex({ name: 1 }, { unique: true })
    await worker.start()
    console.info(`no jobs at all: all done ${await duties.done(LATE_MS)} s after they were due`)
    expect(worker.logged.filter(({ level }) => level === 'warn').length).toBeGreaterThan(0)
    await worker.stored('jobs').dropIndex('name_1')
    await settled(worker)
  })

  it('goes on when the store was away for a while, without an unhandled rejection', async () => {
    const gate = await openGate(inject('storeUri'))
    onTestFinished(() => gate.close())
    const { worker: observer, receiver } = await setUp()
    const worker = await useWorker({ beside: observer, storeUri: gate.uri(observer.database) })
    const duties = await leaveDuties(observer, receiver, 15_000)
    // What failed falls due again while the store is away, however fast the five first attempts follow each other.
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
      await jobs.start({ relay: idle, deliver, expire: idle, remind: idle, 'clean-up': idle })
      await jobs.stop()
    }
    await run()
    const jobs = worker.stored('jobs')
    await jobs.updateMany({}, { $set: { nextRunAt: new Date(Date.now() + 86_400_000) } })
    const taken = async () => void (await jobs.updateOne({ 'data.sweep': 'deliver' }, { $set: { lockedAt } }))
    await run({ ...idle, run: taken })
    const locks = await jobs.find({}).sort({ 'data.sweep': 1 }).toArray()
    expect(locks.map((job) => job.lockedAt)).toEqual([null, lockedAt, null, null, null])
  })

  it('does what is due once, with two processes at it', async () => {
    const { worker: one, receiver } = await setUp()
    const two = await useWorker({ beside: one })
    const duties = await leaveDuties(one, receiver, 3_000)
    await Promise.all([one.start(), two.start()])
    console.info(`two processes: all done ${await duties.done(LATE_MS)} s after they were due`)
    await settled(one)
    await vi.waitFor(async () => expect(await one.stored('jobs').countDocuments({})).toBe(5), PATIENCE_MS)
  })
})

type Spoilt = [collection: string, document: Record<string, unknown>]

/** Fields that no two documents of one collection may share. */
const UNIQUE = [
  'owner_id',
  'secret_hash',
  'token_hash',
  'request_id',
  'event_id',
  'generation',
  'email',
  'approver',
  'user_handle',
]

/** Duties in an embedded store whose file is damaged while it rests. */
async function setUpSpoilt() {
  const dataDir = await mkdtemp(join(tmpdir(), 'countersign-spoilt-'))
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  let store = await startEmbeddedStore({ dataDir })
  onTestFinished(() => store.close())
  const { worker, receiver } = await setUp({ storeUri: databaseUri(store.uri, 'spoilt') })
  const duties = await leaveDuties(worker, receiver, 0)
  const damage = async (spoilIn: (dataDir: string) => Promise<void>) => {
    await store.close()
    await spoilIn(dataDir)
    store = await startEmbeddedStore({ dataDir })
  }
  return { worker, duties, damage }
}

describe('a document that the disk has spoilt', () => {
  /** Documents of every kind that a sweep looks for, first in its order. What else they hold nobody can read any more. */
  const past = new Date(1_000_000)
  const spoilt = (account_id: string): Spoilt[] => [
    ['requests', { status: 'pending', expires_at: past }],
    ['requests', { status: 'pending', expires_at: new Date(Date.now() + 86_400_000), remind_at: past }],
    ['bootstraps', { status: 'pending', expires_at: past }],
    ['sessions', { user_id: 'usr_1', ended_at: past }],
    ['webhooks', { account_id, state: 'active' }],
    ...['deliveries', 'pushes', 'cards'].map(
      (name): Spoilt => [name, { account_id, platform: 'slack', state: 'due', next_at: past }],
    ),
    ...Object.keys(WITH_OUTBOX).map((name): Spoilt => [name, { outbox_token: 'evt_0' }]),
  ]

  it('is told once and holds up nobody: every duty beside it is done', async () => {
    const { worker, duties, damage } = await setUpSpoilt()
    const account = await worker.stored('accounts').findOne({})
    const documents = spoilt(account?._id ?? '').map(([name, document], index) => {
      const _id = `spoilt_${index}`
      const unique = Object.fromEntries(UNIQUE.map((field) => [field, _id]))
      return { name, document: { _id, ...unique, ...document } }
    })
    for (const { name, document } of documents) await worker.stored(name).insertOne(document)
    await worker.stored('sessions').insertOne({ _id: 'ses_over', user_id: 'usr_1', ended_at: past })
    const ids = documents.map(({ document }) => document._id)
    await damage((dataDir) => spoil(dataDir, ids))

    await worker.start()
    console.info(`beside spoilt documents: all done ${await duties.done(LATE_MS)} s after they were due`)
    await expect.poll(() => worker.stored('sessions').countDocuments({ _id: 'ses_over' })).toBe(0)
    for (const { name, document } of documents)
      await expect(worker.stored(name).findOne({ _id: document._id })).rejects.toMatchObject({ code: 366 })
    await expect(worker.deps.requests.list({ api_key_id: '', limit: 1 })).resolves.toEqual([])
    await expect(worker.stored('requests').find({}).toArray()).rejects.toMatchObject({ code: 366 })
    const told = worker.logged.filter(({ level }) => level === 'warn' || level === 'error')
    const named = told.map(
      ({ fields }) => /document "(spoilt_\d+)" of spoilt\.\w+/.exec(String(fields.error))?.[1],
    )
    expect(new Set(named).size).toBe(named.length)
    expect(named).toEqual(expect.arrayContaining([0, 2, 3, 4, 5, 8].map((index) => `spoilt_${index}`)))
    expect(named).not.toContain(undefined)
  })

  it('in an index alone holds up nothing: what it stood for is done, too', async () => {
    const { worker, duties, damage } = await setUpSpoilt()
    const { request } = await newRequester(worker)
    // Of each more than are looked at together.
    const stuck = await Promise.all(Array.from({ length: 40 }, () => request()))
    const lapsed = { $set: { expires_at: past }, $unset: { outbox_token: 1 } } as const
    await worker.stored('requests').updateMany({ _id: { $in: stuck } }, lapsed)
    const unsent = Array.from({ length: 70 }, (_, index) =>
      sampleDelivery({
        id: `dlv_${index}`,
        account_id: `acc_${index}`,
        target: { kind: 'callback', request_id: `req_${index}`, api_key_id: 'key_1', secret_version: 1 },
        event_id: `evt_${index}`,
        url: `https://${index}.test/`,
        next_at: past,
      }),
    )
    await worker.deps.deliveries.insertNew(unsent)
    const signedIn = { user_id: 'usr_1', created_at: past, last_seen_at: past, ended_at: null }
    const sessions = worker.stored('sessions')
    await sessions.insertOne({ _id: 'ses_stuck', token_hash: '1', ...signedIn })
    await sessions.insertOne({ _id: 'ses_over', token_hash: '2', ...signedIn, ended_at: past })
    const ids = [...stuck, ...unsent.map(({ id }) => id), 'ses_stuck']
    await damage((dataDir) => spoilIndexes(dataDir, ids))

    await worker.start()
    console.info(`by spoilt indexes: all done ${await duties.done(LATE_MS)} s after they were due`)
    await expect.poll(() => sessions.findOne({ _id: 'ses_over' })).toBeNull()
    expect(await sessions.findOne({ _id: 'ses_stuck' })).toMatchObject({ ended_at: null })
    const told = worker.logged.filter(({ level }) => level === 'error')
    expect(told.map(({ fields }) => String(fields.error))).toContainEqual(
      expect.stringContaining('an entry of an index does not match its checksum'),
    )
    // Nothing can be written of it that its index would have to follow.
    const requests = await worker
      .stored('requests')
      .find({ _id: { $in: stuck } })
      .toArray()
    expect(requests.map(({ status }) => status)).toEqual(stuck.map(() => 'pending'))
    const deliveries = await worker
      .stored('deliveries')
      .find({ _id: { $in: unsent.map(({ id }) => id) } })
      .toArray()
    expect(deliveries.map(({ state, fence }) => [state, fence])).toEqual(unsent.map(() => ['due', 0]))
  })

  it.each([
    ['a damaged one', new mongo.MongoServerError({ code: 366, errmsg: 'damaged' }), [undefined, 39, 1]],
    ['any other error', new Error('no store'), undefined],
  ] as const)('is passed over once a run, and nothing else is: %s among 40', async (_, error, result) => {
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
  })
})
