import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createInboxSignal } from '../../src/store/requests/inbox-signal.ts'

const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }
const clock = { now: () => new Date() }

/** A store in memory that counts what it is asked, and answers after `takes` milliseconds. */
function fakeStore() {
  const state = {
    takes: 1,
    fails: false,
    unread: false,
    marks: new Map<string, number>(),
    ended: new Set<string>(),
  }
  const asked = { marks: 0, standIns: 0, liveAmong: 0 }
  const answer = async <T>(name: keyof typeof asked, value: () => T): Promise<T> => {
    asked[name] += 1
    const now = value()
    await new Promise((resolve) => setTimeout(resolve, state.takes))
    if (state.fails || (state.unread && name === 'marks')) throw new Error('no store')
    return now
  }
  return {
    state,
    asked,
    inbox: {
      marks: (ids: readonly string[]) =>
        answer('marks', () =>
          ids.flatMap((id) => {
            const mark = state.marks.get(id)
            return mark === undefined ? [] : [{ approvers: [id], mark: `${id} ${mark}` }]
          }),
        ),
      standIns: () => answer('standIns', () => []),
      seats: async () => [],
    },
    sessions: {
      liveAmong: (ids: readonly string[]) =>
        answer('liveAmong', () => ids.filter((id) => !state.ended.has(id))),
    },
  }
}

let store: ReturnType<typeof fakeStore>
let signal: ReturnType<typeof createInboxSignal>
beforeEach(() => {
  vi.useFakeTimers()
  store = fakeStore()
  signal = createInboxSignal(store, clock, log)
})
afterEach(() => {
  vi.clearAllMocks()
  signal.stop()
  vi.useRealTimers()
})

/** Collects what a watcher is told, with the milliseconds at which it was. */
function follow(userId: string, sessionId = `ses of ${userId}`) {
  const started = Date.now()
  const told: { news: string | undefined; at: number }[] = []
  const watch = signal.watch(userId, sessionId)
  const gone = new AbortController()
  const loop = async (): Promise<void> => {
    while (!gone.signal.aborted) {
      const news = await watch.next(3_600_000, gone.signal)
      if (gone.signal.aborted || news === undefined) break
      told.push({ news, at: Date.now() - started })
    }
    watch.close()
  }
  void loop()
  return { told, leave: () => gone.abort(), news: () => told.map(({ news }) => news) }
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('watching inboxes', () => {
  it('costs nothing while nobody watches', async () => {
    signal.wake()
    await pass(60_000)
    expect(store.asked).toEqual({ marks: 0, standIns: 0, liveAmong: 0 })
    const { leave } = follow('ann')
    await pass(10)
    leave()
    await pass(5_000)
    const after = { ...store.asked }
    signal.wake()
    await pass(60_000)
    expect(store.asked).toEqual(after)
  })

  it('asks the stores once a look, however many watch', async () => {
    const all = Array.from({ length: 500 }, (_, index) => follow(`user ${index}`))
    await pass(10_500)
    expect(store.asked.marks).toBeLessThanOrEqual(12)
    expect(store.asked).toEqual({
      marks: store.asked.marks,
      standIns: store.asked.marks,
      liveAmong: store.asked.marks,
    })
    expect(all.every(({ told }) => told.length === 1)).toBe(true)
  })

  it('tells at the beginning, then only who is concerned, within a second and a look', async () => {
    const ann = follow('ann')
    const bob = follow('bob')
    await pass(50)
    expect([ann.news(), bob.news()]).toEqual([['changed'], ['changed']])
    store.state.marks.set('ann', 1)
    await pass(1_100)
    expect([ann.news(), bob.news()]).toEqual([['changed', 'changed'], ['changed']])
    store.state.marks.delete('ann')
    await pass(1_100)
    expect(ann.news()).toEqual(['changed', 'changed', 'changed'])
  })

  it('tells at once what this process did, in looks a tenth of a second apart at least', async () => {
    const ann = follow('ann')
    await pass(500)
    const before = store.asked.marks
    for (let index = 0; index < 100; index += 1) {
      store.state.marks.set('ann', index)
      signal.wake()
      await pass(5)
    }
    expect(ann.told[1]?.at).toBeLessThan(510)
    expect(store.asked.marks - before).toBeGreaterThanOrEqual(4)
    expect(store.asked.marks - before).toBeLessThanOrEqual(6)
  })

  it('looks again after what happened during a look', async () => {
    store.state.takes = 300
    const ann = follow('ann')
    await pass(650)
    expect(ann.news()).toEqual(['changed'])
    await pass(800)
    // The look under way has read its marks already.
    store.state.marks.set('ann', 1)
    signal.wake()
    await pass(1_100)
    expect(ann.news()).toEqual(['changed', 'changed'])
  })

  it('leaves a slow store alone for as long as it took, whatever happens here', async () => {
    store.state.takes = 250
    follow('ann')
    for (let index = 0; index < 100; index += 1) {
      signal.wake()
      await pass(100)
    }
    // Two queries after each other make half a second, and as much rest.
    expect(store.asked.marks).toBeGreaterThanOrEqual(9)
    expect(store.asked.marks).toBeLessThanOrEqual(11)
  })

  it('says that a session is over, to the streams of that session alone', async () => {
    const one = follow('ann', 'ses 1')
    const two = follow('ann', 'ses 2')
    await pass(50)
    store.state.ended.add('ses 1')
    signal.wake()
    await pass(150)
    expect([one.news().at(-1), two.news()]).toEqual(['session_over', ['changed']])
  })

  it('says so also where what waits cannot be read', async () => {
    const ann = follow('ann')
    await pass(10)
    store.state.unread = true
    store.state.ended.add('ses of ann')
    await pass(2000)
    expect(ann.news()).toContain('session_over')
  })

  it('goes on after a store that failed, and says so once', async () => {
    const ann = follow('ann')
    await pass(50)
    store.state.fails = true
    await pass(5_000)
    expect(log.warn).toHaveBeenCalledTimes(1)
    store.state.marks.set('ann', 1)
    store.state.fails = false
    await pass(1_100)
    expect(ann.news()).toEqual(['changed', 'changed'])
  })

  it('wakes everybody to stop', async () => {
    const watch = signal.watch('ann', 'ses')
    await pass(50)
    await watch.next(1_000, new AbortController().signal)
    const waiting = watch.next(3_600_000, new AbortController().signal)
    signal.stop()
    expect(await waiting).toBeUndefined()
    expect(await watch.next(3_600_000, new AbortController().signal)).toBeUndefined()
  })
})
