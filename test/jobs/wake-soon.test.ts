import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { wakeSoon } from '../../src/jobs/wake-soon.ts'

const NOW = Date.parse('2026-03-01T10:00:00.000Z')
const clock = { now: () => new Date(NOW) }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Wake-ups at that distance from now: what the scheduler was asked for, and how often the process woke itself. */
function asked(ms: number) {
  const times: Date[] = []
  let woken = 0
  const wake = () => {
    woken += 1
  }
  wakeSoon({ at: (_sweep, time) => void times.push(time) }, wake, clock).at('deliver', new Date(NOW + ms))
  return { times, woken: () => woken }
}

it('wakes its own process a moment after the time, and asks the scheduler all the same', () => {
  const { times, woken } = asked(1_000)
  expect(times).toEqual([new Date(NOW + 1_000)])
  vi.advanceTimersByTime(1_000)
  expect(woken()).toBe(0)
  vi.advanceTimersByTime(5)
  expect(woken()).toBe(1)
})

it('wakes soon for a time that is past, and leaves what is far off to the scheduler', () => {
  const past = asked(-5_000)
  const far = asked(300_000)
  vi.advanceTimersByTime(10)
  expect(past.woken()).toBe(1)
  vi.advanceTimersByTime(400_000)
  expect([far.woken(), far.times.length]).toEqual([0, 1])
})
