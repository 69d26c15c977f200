import mongoose from 'mongoose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cancelRequest } from '../../src/flow/requests/cancel-request.ts'
import { watchRequest } from '../../src/flow/requests/wait-for-decision.ts'
import { watchKey } from '../../src/flow/requests/watch-key.ts'
import { type Racing, startRacing } from '../support/racing.ts'

let racing: Racing
beforeAll(async () => {
  racing = await startRacing(`watching_${process.pid}`)
})
afterAll(() => racing.close())

const deps = () => racing.at(0).composition.deps

function watch(id: string, ms: number, signal = new AbortController().signal) {
  return watchRequest(deps(), racing.caller, id, { ms, signal })
}

describe('watching a request', () => {
  it('ends when patience does, with nothing more to say of a request that is still pending', async () => {
    const id = await racing.make()
    const states = []
    for await (const state of watch(id, 200)) states.push(state.status)
    expect(states).toEqual(['pending'])
  })

  it('ends after its time, although the clock is set back by an hour meanwhile', async () => {
    const id = await racing.make()
    let set = 0
    const clock = { now: () => new Date(Date.now() + set), steady: () => performance.now() }
    const wait = { ms: 200, signal: new AbortController().signal }
    const states = watchRequest({ ...deps(), clock }, racing.caller, id, wait)
    await states.next()
    set = -3_600_000
    expect(await states.next()).toEqual({ done: true, value: undefined })
  })

  it('ends when nobody listens any more', async () => {
    const id = await racing.make()
    const gone = new AbortController()
    const states = watch(id, 60_000, gone.signal)
    await states.next()
    const end = states.next()
    gone.abort()
    expect(await end).toEqual({ done: true, value: undefined })
  })

  it('reads nothing ahead of its consumer, and misses nothing that happened meanwhile', async () => {
    const id = await racing.make()
    const states = watch(id, 60_000)
    await states.next()
    await cancelRequest(racing.at(1).composition.deps, racing.caller, id)
    expect(await states.next()).toMatchObject({ value: { status: 'expired', cancelled: true } })
    expect(await states.next()).toEqual({ done: true, value: undefined })
  })

  it.each([0, 1])('hears of a change by service %d of four', async (index) => {
    const id = await racing.make()
    const states = watch(id, 60_000)
    await states.next()
    const next = states.next()
    await cancelRequest(racing.at(index).composition.deps, racing.caller, id)
    expect(await next).toMatchObject({ value: { cancelled: true } })
  })

  it('leaves nobody watching behind', async () => {
    const { changes } = deps()
    const { watch: original } = changes
    let open = 0
    changes.watch = (...ids) => {
      const opened = original(...ids)
      open += 1
      const close = (): void => {
        open -= 1
        opened.close()
      }
      return { ...opened, close }
    }
    try {
      const id = await racing.make()
      const states = watch(id, 60_000)
      await states.next()
      await states.return()
      await expect(watch('req_00000000000000000000000000', 60_000).next()).rejects.toThrow('not_found')
      expect(open).toBe(0)
    } finally {
      changes.watch = original
    }
  })
})

describe('watching a key', () => {
  it('ends when patience does', async () => {
    const signal = new AbortController().signal
    const states = []
    for await (const state of watchKey(deps(), racing.caller, { ms: 300, signal })) states.push(state)
    expect(states).toContain('listed')
  })

  it('after a gap sends what has become of the pending requests, and lists again', async () => {
    const [closed, made] = [await racing.make(), await racing.make()]
    const news = { changed: [], gap: true, revoked: false }
    const restless = { watch: () => ({ next: async () => news, close: () => {} }) }
    const { requests, ...others } = deps()
    const { pendingOf } = requests
    let away = 0
    const failing: typeof pendingOf = (...which) => {
      if (away === 0) return pendingOf(...which)
      away -= 1
      return Promise.reject(new mongoose.mongo.MongoNetworkError('away'))
    }
    const partly = { ...others, requests: { ...requests, pendingOf: failing }, keyChanges: restless }
    const states = watchKey(partly, racing.caller, { ms: 60_000, signal: new AbortController().signal })
    const upToListed = async () => {
      const found: string[] = []
      for (;;) {
        const { value } = await states.next()
        if (value === undefined || value === 'listed') return found
        found.push(`${value.id} ${value.status}`)
      }
    }
    expect(await upToListed()).toEqual(expect.arrayContaining([`${closed} pending`, `${made} pending`]))
    await cancelRequest(racing.at(1).composition.deps, racing.caller, closed)
    const later = await racing.make()
    // A store that is away is left alone for half a second each time, although there is news.
    away = 2
    const began = performance.now()
    expect(await upToListed()).toEqual(expect.arrayContaining([`${closed} expired`, `${later} pending`]))
    expect(performance.now() - began).toBeGreaterThan(950)
    await states.return()
  })
})
