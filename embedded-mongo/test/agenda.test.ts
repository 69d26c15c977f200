import { MongoBackend } from '@agendajs/mongo-backend'
import { Agenda } from 'agenda'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openStore, type TestStore } from './support.ts'

let store: TestStore

beforeAll(async () => {
  store = await openStore()
})
afterAll(() => store.close())
beforeEach(async () => {
  await store.db.dropDatabase()
})

interface Note {
  text: string
}

async function withAgenda(work: (agenda: Agenda) => Promise<void>): Promise<void> {
  const agenda = new Agenda({ backend: new MongoBackend({ mongo: store.db }), processEvery: 50 })
  let over = false
  agenda.on('error', (error) => {
    // Agenda does not wait for its last look, which may meet the end of the database.
    if (!over) throw error
  })
  await agenda.ready
  try {
    await work(agenda)
  } finally {
    over = true
    await agenda.stop()
  }
}

/** Resolves with the data of `count` runs of a job, and when the last one began. */
function runs(agenda: Agenda, name: string, count: number): Promise<{ seen: string[]; at: number }> {
  return new Promise((done) => {
    const seen: string[] = []
    agenda.define<Note>(name, async (job) => {
      seen.push(job.attrs.data.text)
      if (seen.length === count) done({ seen: [...seen], at: Date.now() })
    })
  })
}

describe('unmodified Agenda', () => {
  it('makes its index and runs a job at once, a scheduled one when it is due', async () => {
    await withAgenda(async (agenda) => {
      const [noted, called] = [runs(agenda, 'note', 1), runs(agenda, 'call', 1)]
      await agenda.start()
      await agenda.schedule<Note>(new Date(Date.now() + 3_600_000), 'note', { text: 'in an hour' })
      await agenda.now<Note>('note', { text: 'now' })
      expect(await noted).toMatchObject({ seen: ['now'] })
      const due = new Date(Date.now() + 150)
      await agenda.schedule<Note>(due, 'call', { text: 'later' })
      const { seen, at } = await called
      expect(seen).toEqual(['later'])
      // A timer may fire a millisecond early.
      expect(at).toBeGreaterThanOrEqual(due.getTime() - 2)
      const names = (await store.db.collection('agendaJobs').indexes()).map(({ name }) => name)
      expect(names).toContain('findAndLockNextJobIndex')
    })
  })

  it('repeats a job, and keeps one document for it however often it is declared', async () => {
    await withAgenda(async (agenda) => {
      const done = runs(agenda, 'tick', 2)
      await agenda.start()
      for (let i = 0; i < 3; i += 1) await agenda.every('1 second', 'tick', { text: 'tick' })
      expect(await done).toMatchObject({ seen: ['tick', 'tick'] })
      expect(await store.db.collection('agendaJobs').countDocuments({ name: 'tick', type: 'single' })).toBe(1)
    })
  })

  it('keeps a unique job single', async () => {
    await withAgenda(async (agenda) => {
      agenda.define('once', async () => undefined)
      for (let i = 0; i < 4; i += 1) {
        const job = agenda.create('once', { request: 'r1', attempt: i })
        job.unique({ 'data.request': 'r1' }, { insertOnly: true })
        job.schedule(new Date(Date.now() + 3_600_000))
        await job.save()
      }
      const { jobs, total } = await agenda.queryJobs({ name: 'once' })
      expect(total).toBe(1)
      expect(jobs[0]?.data).toEqual({ request: 'r1', attempt: 0 })
    })
  })

  it('lets two instances run each of 40 jobs once', async () => {
    const seen: string[] = []
    let all: () => void = () => undefined
    const finished = new Promise<void>((done) => {
      all = done
    })
    const define = (agenda: Agenda) =>
      agenda.define<Note>('shared', async (job) => {
        seen.push(job.attrs.data.text)
        if (seen.length === 40) all()
      })
    await withAgenda(async (one) => {
      await withAgenda(async (two) => {
        define(one)
        define(two)
        for (let i = 0; i < 40; i += 1) await one.now<Note>('shared', { text: String(i) })
        await Promise.all([one.start(), two.start()])
        await finished
        await Promise.all([one.drain(), two.drain()])
      })
    })
    expect(seen.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i))
  })

  it('removes, disables and counts jobs', async () => {
    await withAgenda(async (agenda) => {
      agenda.define('later', async () => undefined)
      const at = new Date(Date.now() + 3_600_000)
      for (let i = 0; i < 5; i += 1) await agenda.schedule(at, 'later', { i })
      expect(await agenda.disable({ name: 'later' })).toBe(5)
      expect((await agenda.queryJobs({ name: 'later', includeDisabled: false })).total).toBe(0)
      expect(await agenda.cancel({ name: 'later' })).toBe(5)
      expect(await store.db.collection('agendaJobs').countDocuments()).toBe(0)
    })
  })
})
