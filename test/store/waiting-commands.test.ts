import { randomBytes } from 'node:crypto'
import { EventEmitter, setMaxListeners } from 'node:events'
import type { Document } from 'bson'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { createApiKeyStore } from '../../src/store/api-keys.ts'
import { connectStore, type StoreConnection } from '../../src/store/mongo/connect.ts'
import { type ChangeSignal, createChangeSignal } from '../../src/store/requests/change-signal.ts'
import { createRequestStore } from '../../src/store/requests/requests.ts'
import { entryNumber } from '../support/audit-entries.ts'
import { databaseUri } from '../support/service.ts'

const ids = Array.from({ length: 1_000 }, (_, index) => `req_${String(index).padStart(26, '0')}`)
const log = { debug() {}, info() {}, warn() {}, error() {} }

let connection: StoreConnection
let stores: Parameters<typeof createChangeSignal>[0]
let changes: ChangeSignal
const commands = new EventEmitter()

beforeAll(async () => {
  const uri = new URL(databaseUri(inject('storeUri'), `waits_${randomBytes(6).toString('hex')}`))
  uri.searchParams.set('monitorCommands', 'true')
  connection = await connectStore(uri.href)
  connection
    .getClient()
    .on('commandStarted', ({ commandName, command }) => commands.emit('command', commandName, command))
  stores = { requests: createRequestStore(connection), apiKeys: createApiKeyStore(connection) }
  const documents = ids.map((_id) => ({ _id, version: 1, action: 'x'.repeat(500) }))
  await connection.collection<{ _id: string }>('requests').insertMany(documents)
})
afterAll(async () => {
  await connection.dropDatabase()
  await connection.close()
})

// One each: a round that is still under way would set the time of the next test's first.
beforeEach(() => {
  changes = createChangeSignal(stores, { now: () => new Date() }, log)
})
afterEach(() => changes.stop())

/** Waits for so many commands. @returns their names and how long that took, in milliseconds */
function nextCommands(count: number): Promise<{ names: string[]; took: number }> {
  const started = performance.now()
  const names: string[] = []
  return new Promise((resolve) => {
    const note = (name: string): void => {
      names.push(name)
      if (names.length < count) return
      commands.off('command', note)
      resolve({ names, took: performance.now() - started })
    }
    commands.on('command', note)
  })
}

describe('commands to the store', () => {
  it.each([1, 1_000])(
    'T67: %d waiters cost about 20 commands a second, all of them finds',
    async (waiters) => {
      const gone = new AbortController()
      setMaxListeners(0, gone.signal)
      const watches = ids.slice(0, waiters).map((id, index) => changes.watch([id], `key ${index}`))
      // Ten rounds, of which the first looks at each, two hundred at a time. Counted from before the first wait: a thousand of
      // them take time to begin, on a busy machine much.
      const counted = nextCommands(2 * Math.ceil(waiters / 200) + 18)
      const waits = watches.map((watch) => watch.next([1], 60_000, gone.signal))
      const { names, took } = await counted
      gone.abort()
      await Promise.all(waits)
      for (const watch of watches) watch.close()
      expect(new Set(names)).toEqual(new Set(['find']))
      // The first round comes a tenth of a second after the first wait, the tenth nine tenths later; timers may each be early
      // by some milliseconds.
      expect(took).toBeGreaterThan(950)
    },
  )

  it('T67: waking a thousand at once costs a dozen commands', async () => {
    const watches = ids.map((id, index) => changes.watch([id], `key ${index}`))
    const waits = watches.map((watch) => watch.next([1], 60_000, new AbortController().signal))
    const seen: [name: string, whole: boolean][] = []
    const requests = connection.collection<{ _id: string }>('requests')
    await requests.updateMany({}, { $set: { version: 2 }, $currentDate: { moved_at: true } })
    commands.on('command', (name: string, { find, projection }: Document) =>
      seen.push([name, find === 'requests' && projection === undefined]),
    )
    const news = await Promise.all(waits)
    expect(news.filter((one) => one?.requests[0]?.version === 2)).toHaveLength(1_000)
    for (const watch of watches) watch.close()
    // Besides them, rounds of the poller, as many as there is time for.
    expect(seen.filter(([, whole]) => whole).length).toBeLessThanOrEqual(12)
    expect(new Set(seen.map(([name]) => name))).toEqual(new Set(['find']))
  })
})

describe('requests that changed', () => {
  const hour = 3_600_000
  const around = (time: number) => [new Date(time - hour), new Date(time + hour)] as const

  it('is read with its version, up to a thousand at a time', async () => {
    const requests = connection.collection<{ _id: string }>('requests')
    const [first = '', ...others] = ids
    const move = { $set: { version: 3 }, $currentDate: { moved_at: true } } as const
    await requests.updateMany({}, move)
    expect(await stores.requests.movedBetween(...around(Date.now()))).toBeUndefined()
    await requests.updateOne({ _id: first }, { $unset: { moved_at: 1 } })
    const moved = await stores.requests.movedBetween(...around(Date.now()))
    expect(moved?.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
      others.map((id) => expect.objectContaining({ id, version: 3 })),
    )
    for (const time of [Date.now() - 2 * hour, Date.now() + 2 * hour])
      expect(await stores.requests.movedBetween(...around(time))).toEqual([])
  })

  it('is what got another version, and no record says when', async () => {
    const requests = createRequestStore(connection)
    const collection = connection.collection<{ _id: string }>('requests')
    const id = ids[7] ?? ''
    await collection.updateMany({}, { $unset: { moved_at: 1 } })
    const sound = { status: 'approved', audit: [], outbox: [], version: 1 }
    await collection.updateOne({ _id: id }, { $set: sound })
    await requests.noteSeen(id, { approver: 'usr', at: new Date() })
    expect(await requests.movedBetween(...around(Date.now()))).toEqual([])
    const use = { consumed_at: new Date(), consumed_with: 'a' }
    const used = await requests.consume(id, use, entryNumber(1))
    expect(used).toMatchObject({ id, version: 2 })
    expect(used).not.toHaveProperty('moved_at')
    expect(await requests.movedBetween(...around(Date.now()))).toMatchObject([{ id, version: 2 }])
  })
})
