import { setMaxListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ApprovalRequest } from '../../src/domain/request.ts'
import { createChangeSignal, type Watch } from '../../src/store/requests/change-signal.ts'

/** Fewer than this are read as news. */
const MOST_MOVED = 1_000

/** Remembers when each version was set, as the store does; a write that is `late` became visible so long after that, in milliseconds. */
class Versions extends Map<string, number> {
  readonly moved = new Map<string, Date>()
  override set(id: string, version: number, late = 0): this {
    this.moved.set(id, new Date(Date.now() - late))
    return super.set(id, version)
  }
}

/** A store in memory that counts what it is asked, and answers after `takes` milliseconds. */
function fakeStore() {
  const versions = new Versions()
  const revoked = new Map<string, Date>()
  const asked = { versions: 0, revoked: 0, moved: 0, newlyRevoked: 0, findMany: 0 }
  const state = { takes: 1, fails: false }
  const answer = async <T>(name: keyof typeof asked, value: () => T): Promise<T> => {
    asked[name] += 1
    await new Promise((resolve) => setTimeout(resolve, state.takes))
    if (state.fails) throw new Error('no store')
    return value()
  }
  return {
    versions,
    revoked,
    asked,
    state,
    requests: {
      versions: (ids: readonly string[]) =>
        answer('versions', () => new Map([...versions].filter(([id]) => ids.includes(id)))),
      movedBetween: (since: Date, until: Date) =>
        answer('moved', () => {
          const found = [...versions].filter(([id]) => isWithin(versions.moved.get(id), since, until))
          return found.length < MOST_MOVED
            ? found.map(([id, version]) => ({ id, version, api_key_id: 'key' }))
            : undefined
        }),
      findMany: (ids: readonly string[]) =>
        answer('findMany', () =>
          ids.filter((id) => versions.has(id)).map((id) => asRequest(id, versions.get(id))),
        ),
    },
    apiKeys: {
      revokedAmong: (ids: readonly string[]) => answer('revoked', () => ids.filter((id) => revoked.has(id))),
      revokedBetween: (since: Date, until: Date) =>
        answer('newlyRevoked', () =>
          [...revoked].filter(([, at]) => isWithin(at, since, until)).map(([id]) => id),
        ),
    },
  }
}

function isWithin(at: Date | undefined, since: Date, until: Date): boolean {
  return at !== undefined && at >= since && at <= until
}

/** Only what the signal looks at. */
function asRequest(id: string, version = 0): ApprovalRequest {
  return Object.assign(Object.create(null), { id, version })
}

const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }
const clock = { now: () => new Date() }
const never = () => new AbortController().signal

let store: ReturnType<typeof fakeStore>
let changes: ReturnType<typeof createChangeSignal>

beforeEach(() => {
  vi.useFakeTimers()
  store = fakeStore()
  changes = createChangeSignal(store, clock, log)
  store.versions.set('req', 1)
})
afterEach(() => {
  vi.clearAllMocks()
  changes.stop()
  vi.useRealTimers()
})

const looks = (): number => store.asked.versions + store.asked.moved

/** @param late milliseconds from the time it notes until it is visible */
function change(late: number): void {
  store.versions.set('req', 2, late)
}

function changeMany(): void {
  for (let index = 0; index < MOST_MOVED; index += 1) store.versions.set(`other ${index}`, 2)
  change(0)
}

/** @param ms how far; then comes a change that a look at what is new does not find */
function setBack(ms: number): void {
  vi.setSystemTime(Date.now() - ms)
  change(60_000)
}

/** Notes when the look is done, in milliseconds from now. */
function timed(watch: Watch, version = 1, deadlineMs = 60_000) {
  const started = Date.now()
  const seen: { after?: number; news?: Awaited<ReturnType<Watch['next']>> } = {}
  void watch.next([version], deadlineMs, never()).then((news) => {
    seen.after = Date.now() - started
    seen.news = news
  })
  return seen
}

describe('a watch', () => {
  it('looks at once when this process says that the request changed', async () => {
    const seen = timed(changes.watch(['req'], 'key'))
    await vi.advanceTimersByTimeAsync(30)
    store.versions.set('req', 2)
    changes.changed('req')
    await vi.advanceTimersByTimeAsync(10)
    expect(seen).toMatchObject({ news: { requests: [{ version: 2 }], revoked: false } })
    expect(seen.after).toBeLessThan(35)
    expect(store.asked.versions).toBe(0)
  })

  it('misses nothing that happens before it waits, or while it looks', async () => {
    const watch = changes.watch(['req'], 'key')
    store.versions.set('req', 2)
    changes.changed('req')
    const first = timed(watch)
    await vi.advanceTimersByTimeAsync(0)
    store.versions.set('req', 3)
    changes.changed('req')
    await vi.advanceTimersByTimeAsync(5)
    expect(first.news).toMatchObject({ requests: [{ version: 3 }] })
    const second = timed(watch, 2)
    await vi.advanceTimersByTimeAsync(5)
    expect(second).toMatchObject({ news: { requests: [{ version: 3 }] } })
    const third = timed(watch, 3, 1_000)
    await vi.advanceTimersByTimeAsync(900)
    expect(third.news).toBeUndefined()
  })

  it('looks within a tenth of a second when another process wrote', async () => {
    const seen = timed(changes.watch(['req'], 'key'))
    await vi.advanceTimersByTimeAsync(450)
    expect(seen.news).toBeUndefined()
    store.versions.set('req', 2)
    await vi.advanceTimersByTimeAsync(105)
    expect(seen.news).toMatchObject({ requests: [{ version: 2 }] })
  })

  it('T54: tells that the key was revoked, by this process or another', async () => {
    const mine = timed(changes.watch(['req'], 'key'))
    const other = timed(changes.watch(['req'], 'another'))
    store.revoked.set('key', new Date())
    changes.changed('key')
    await vi.advanceTimersByTimeAsync(10)
    expect(mine.news).toMatchObject({ revoked: true })
    expect(other.news).toBeUndefined()
    store.revoked.set('another', new Date())
    await vi.advanceTimersByTimeAsync(105)
    expect(other.news).toMatchObject({ revoked: true })
  })

  it('looks at its deadline, not before', async () => {
    const seen = timed(changes.watch(['req'], 'key'), 1, 250)
    await vi.advanceTimersByTimeAsync(249)
    expect(seen.after).toBeUndefined()
    await vi.advanceTimersByTimeAsync(10)
    expect(seen.news).toMatchObject({ requests: [{ version: 1 }], revoked: false })
  })

  it('tells that a request is gone', async () => {
    const seen = timed(changes.watch(['req'], 'key'))
    await vi.advanceTimersByTimeAsync(150)
    store.versions.delete('req')
    await vi.advanceTimersByTimeAsync(10_200)
    expect(seen.news).toEqual({ requests: [undefined], revoked: false })
  })

  it('ends without a look when its client is gone', async () => {
    const gone = new AbortController()
    const next = changes.watch(['req'], 'key').next([1], 60_000, gone.signal)
    gone.abort()
    expect(await next).toBeUndefined()
    expect(store.asked.findMany).toBe(0)
  })

  it('looks when everybody is told to stop, and waits no more', async () => {
    const watch = changes.watch(['req'], 'key')
    const seen = timed(watch)
    changes.stop()
    expect(changes.stopped()).toBe(true)
    await vi.advanceTimersByTimeAsync(10)
    expect(seen.news).toMatchObject({ requests: [{ version: 1 }] })
    const after = timed(watch)
    await vi.advanceTimersByTimeAsync(10)
    expect(after.news).toMatchObject({ requests: [{ version: 1 }] })
  })

  it('passes on that the store failed, and works again when it does', async () => {
    const watch = changes.watch(['req'], 'key')
    store.state.fails = true
    changes.changed('req')
    const failed = expect(watch.next([1], 60_000, never())).rejects.toThrow('no store')
    await vi.advanceTimersByTimeAsync(10)
    await failed
    store.state.fails = false
    changes.changed('req')
    const seen = timed(watch)
    await vi.advanceTimersByTimeAsync(10)
    expect(seen.news).toMatchObject({ requests: [{ version: 1 }] })
  })
})

describe('the poller', () => {
  it.each([1, 1_000])(
    'T67: asks for what is new twice a tenth of a second, and for each every ten seconds: %d waiters',
    async (waiters) => {
      const gone = new AbortController()
      setMaxListeners(waiters, gone.signal)
      const waits = Array.from({ length: waiters }, (_, index) => {
        store.versions.set(`req ${index}`, 1, 60_000)
        return changes.watch([`req ${index}`], `key ${index}`).next([1], 60_000, gone.signal)
      })
      await vi.advanceTimersByTimeAsync(20_900)
      gone.abort()
      await Promise.all(waits)
      const { moved, newlyRevoked, versions, revoked, findMany } = store.asked
      expect({ moved, newlyRevoked, findMany }).toEqual({
        moved: expect.toSatisfy((looks: number) => looks >= 200 && looks <= 209),
        newlyRevoked: moved,
        findMany: 0,
      })
      // From 0.1, 10.1 and 20.1 seconds on, two hundred at a time.
      expect([versions, revoked]).toEqual(Array.from({ length: 2 }, () => 3 * Math.ceil(waiters / 200)))
    },
  )

  it.each([
    ['within a tenth of a second of a write that became visible late', 105, () => change(950)],
    ['within a second of one that became visible very late', 1_105, () => change(9_000)],
    ['within ten seconds of one that became visible later still', 10_200, () => change(60_000)],
    ['at once of one among more than are worth reading', 110, () => changeMany()],
    ['within ten seconds when all clocks were set back', 10_200, () => setBack(3_600_000)],
  ])('hears %s', async (_what, within, happen) => {
    const seen = timed(changes.watch(['req'], 'key'))
    // Between two looks that reach back far.
    await vi.advanceTimersByTimeAsync(1_350)
    happen()
    await vi.advanceTimersByTimeAsync(within)
    expect(seen.news).toMatchObject({ requests: [{ version: 2 }] })
  })

  it.each([
    ['a change', () => change(0), { requests: [{ version: 2 }] }],
    ['a revocation', () => store.revoked.set('key', new Date()), { revoked: true }],
  ])('keeps %s for who is busy between two waits', async (_what, happen, news) => {
    timed(changes.watch(['other'], 'another'))
    store.versions.set('other', 1)
    const watch = changes.watch(['req'], 'key')
    const before = timed(watch, 1, 500)
    await vi.advanceTimersByTimeAsync(600)
    expect(before.news).toMatchObject({ requests: [{ version: 1 }] })
    happen()
    await vi.advanceTimersByTimeAsync(3_000)
    const seen = timed(watch)
    await vi.advanceTimersByTimeAsync(5)
    expect(seen.news).toMatchObject(news)
  })

  it("is not held up by what was written while the database's clock was ahead", async () => {
    for (let index = 0; index < MOST_MOVED; index += 1) store.versions.set(`other ${index}`, 2, -3_600_000)
    const seen = timed(changes.watch(['req'], 'key'))
    await vi.advanceTimersByTimeAsync(9_000)
    expect(store.asked.versions).toBe(1)
    change(0)
    await vi.advanceTimersByTimeAsync(105)
    expect(seen.news).toMatchObject({ requests: [{ version: 2 }] })
  })

  it('tells those it found before the store failed in the middle of a look at each', async () => {
    const ids = Array.from({ length: 400 }, (_, index) => `req ${index}`)
    for (const id of ids) store.versions.set(id, 2)
    const { versions } = store.requests
    store.requests.versions = (some) =>
      some.includes('req 399') ? Promise.reject(new Error('no store')) : versions(some)
    const seen = ids.map((id) => timed(changes.watch([id], 'key')))
    await vi.advanceTimersByTimeAsync(120)
    expect(seen.filter(({ news }) => news?.requests[0]?.version === 2)).toHaveLength(200)
  })

  it('T67: a thousand woken at once look together', async () => {
    const ids = Array.from({ length: 1_000 }, (_, index) => `req ${index}`)
    for (const id of ids) store.versions.set(id, 1)
    const seen = ids.map((id) => timed(changes.watch([id], 'key')))
    for (const id of ids) store.versions.set(id, 2)
    await vi.advanceTimersByTimeAsync(150)
    expect(seen.filter(({ news }) => news?.requests[0]?.version === 2)).toHaveLength(1_000)
    expect(store.asked.findMany).toBe(5)
  })

  it('asks nothing while nobody watches, and compares no watch that has not waited yet', async () => {
    await vi.advanceTimersByTimeAsync(10_000)
    const watch = changes.watch(['req'], 'key')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(store.asked.versions).toBe(0)
    expect(store.asked.moved).toBeLessThan(10)
    watch.close()
    const { asked } = store
    const before = { ...asked }
    await vi.advanceTimersByTimeAsync(20_000)
    expect(asked).toEqual(before)
  })

  it('leaves a slow store alone for as long as it took', async () => {
    store.state.takes = 400
    timed(changes.watch(['req'], 'key'))
    await vi.advanceTimersByTimeAsync(8_000)
    expect(looks()).toBeGreaterThanOrEqual(9)
    expect(looks()).toBeLessThanOrEqual(10)
  })

  it('is back soon after a store that hung for long', async () => {
    store.state.takes = 10_000
    const seen = timed(changes.watch(['req'], 'key'))
    await vi.advanceTimersByTimeAsync(10_110)
    store.state.takes = 1
    store.versions.set('req', 2)
    await vi.advanceTimersByTimeAsync(450)
    expect(seen.news).toMatchObject({ requests: [{ version: 2 }] })
  })

  it('says once that it failed and goes on', async () => {
    const seen = timed(changes.watch(['req'], 'key'))
    store.state.fails = true
    await vi.advanceTimersByTimeAsync(1_050)
    expect(log.warn.mock.calls).toEqual([[{ error: expect.any(Error) }, 'looking for changes failed']])
    expect(store.asked.versions).toBe(10)
    expect(seen.after).toBeUndefined()
    store.state.fails = false
    store.versions.set('req', 2)
    await vi.advanceTimersByTimeAsync(150)
    expect(seen.news).toMatchObject({ requests: [{ version: 2 }] })
  })

  it('serves who comes while its last round finds nobody', async () => {
    const gone = new AbortController()
    const first = changes.watch(['req'], 'key').next([1], 60_000, gone.signal)
    store.state.takes = 50
    await vi.advanceTimersByTimeAsync(110)
    gone.abort()
    await first
    const seen = timed(changes.watch(['req'], 'key'))
    store.versions.set('req', 2)
    await vi.advanceTimersByTimeAsync(400)
    expect(seen.news).toMatchObject({ requests: [{ version: 2 }] })
  })
})
