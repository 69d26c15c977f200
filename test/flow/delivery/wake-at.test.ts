import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { wakeAt } from '../../../src/flow/queue/send-loop.ts'

const NOW = Date.parse('2026-03-01T10:00:00.000Z')
const clock = { now: () => new Date(NOW) }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A wake-up at that distance from now. @returns how often the process woke itself */
function asked(ms: number): () => number {
  const wake = vi.fn()
  wakeAt(new Date(NOW + ms), wake, clock)
  return () => wake.mock.calls.length
}

it('wakes its own process a moment after the time', () => {
  const woken = asked(1_000)
  vi.advanceTimersByTime(1_000)
  expect(woken()).toBe(0)
  vi.advanceTimersByTime(5)
  expect(woken()).toBe(1)
})

it('wakes soon for a time that is past, and leaves what is far off to the sweep', () => {
  const past = asked(-5_000)
  const far = asked(300_000)
  vi.advanceTimersByTime(10)
  expect(past()).toBe(1)
  vi.advanceTimersByTime(400_000)
  expect(far()).toBe(0)
})
