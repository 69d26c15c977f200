import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createKeySignal } from '../../src/store/requests/key-signal.ts'

/** A store in memory. `late`: how long after its timestamp a write became visible, in milliseconds. */
function fakeStore() {
  const moved: { id: string; version: number; api_key_id: string; at: number }[] = []
  const state = { fails: false, floods: false, looks: 0 }
  const within = async (since: Date, until: Date) => {
    state.looks += 1
    if (state.fails) throw new Error('no store')
    if (state.floods) return undefined
    return moved.filter(({ at }) => at >= since.getTime() && at <= until.getTime())
  }
  return {
    state,
    write: (version: number, late = 0, api_key_id = 'key') =>
      moved.push({ id: 'req', version, api_key_id, at: Date.now() - late }),
    requests: { movedBetween: within, createdBetween: async () => [] },
    apiKeys: { revokedAmong: async () => [] },
  }
}

const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }
const clock = { now: () => new Date() }

let store: ReturnType<typeof fakeStore>
let signal: ReturnType<typeof createKeySignal>
beforeEach(() => {
  vi.useFakeTimers()
  store = fakeStore()
  signal = createKeySignal(store, clock, log)
})
afterEach(() => {
  signal.stop()
  vi.useRealTimers()
})

/** Waits for news at most that long. */
async function nextOf(watch: ReturnType<typeof signal.watch>, ms: number) {
  const next = watch.next(ms, new AbortController().signal)
  await vi.advanceTimersByTimeAsync(ms)
  return next
}

describe('a watch on a key', () => {
  it.each([
    ['at once', 0],
    ['late', 950],
    ['very late', 9_000],
  ])('tells once of a write that became visible %s, and not of other keys', async (_what, late) => {
    const watch = signal.watch('key')
    expect(await nextOf(watch, 1_350)).toMatchObject({ changed: [], gap: false })
    store.write(2, late)
    store.write(2, late, 'another')
    expect(await nextOf(watch, 1_500)).toEqual({ changed: ['req'], gap: false, revoked: false })
    expect(await nextOf(watch, 9_000)).toMatchObject({ changed: [] })
    store.write(3)
    expect(await nextOf(watch, 9_000)).toMatchObject({ changed: ['req'], gap: false })
  })

  it('keeps news for who is busy between two waits', async () => {
    const watch = signal.watch('key')
    await nextOf(watch, 500)
    store.write(2)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await nextOf(watch, 1)).toMatchObject({ changed: ['req'] })
  })

  it.each([
    ['too much has changed at once', () => Object.assign(store.state, { floods: true }), 500],
    ['the store was away for long', () => Object.assign(store.state, { fails: true }), 9_500],
  ])('tells of a gap when %s, and of none after a short pause', async (_what, begin, lasts) => {
    const watch = signal.watch('key')
    await nextOf(watch, 500)
    store.state.fails = true
    await vi.advanceTimersByTimeAsync(3_000)
    store.state.fails = false
    expect(await nextOf(watch, 1_500)).toMatchObject({ gap: false })
    begin()
    await vi.advanceTimersByTimeAsync(lasts)
    Object.assign(store.state, { fails: false, floods: false })
    expect(await nextOf(watch, 1_500)).toMatchObject({ gap: true })
    expect(await nextOf(watch, 1_500)).toMatchObject({ gap: false })
  })

  it('T67: asks nothing while nobody watches', async () => {
    const watch = signal.watch('key')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(store.state.looks).toBeGreaterThan(3)
    watch.close()
    await vi.advanceTimersByTimeAsync(400)
    const { looks } = store.state
    await vi.advanceTimersByTimeAsync(10_000)
    expect(store.state.looks).toBe(looks)
  })
})
