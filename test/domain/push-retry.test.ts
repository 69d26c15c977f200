import { describe, expect, it } from 'vitest'
import { pushStepAfter } from '../../src/domain/retry.ts'

const HOUR = 3_600_000

describe('after an attempt to push', () => {
  it.each(['http_200', 'http_201', 'http_202'] as const)('%s is success', (outcome) => {
    expect(pushStepAfter(outcome, 1, HOUR)).toEqual({ state: 'sent' })
  })

  it.each(['http_404', 'http_410'] as const)('%s ends the subscription', (outcome) => {
    expect(pushStepAfter(outcome, 1, HOUR)).toEqual({ state: 'dead', gone: true })
  })

  it.each(['http_400', 'http_401', 'http_403', 'http_413', 'unsigned'] as const)('%s is final', (outcome) => {
    expect(pushStepAfter(outcome, 1, HOUR)).toEqual({ state: 'dead', gone: false })
  })

  it.each(['http_408', 'http_429', 'http_500', 'http_301', 'timeout', 'connect_failed', 'blocked'] as const)(
    '%s is tried again as deliveries are',
    (outcome) => {
      const delays = [1, 2, 3, 4, 5].map((tries) => pushStepAfter(outcome, tries, HOUR))
      expect(delays).toEqual([
        ...[1_000, 5_000, 30_000, 300_000].map((delay_ms) => ({ state: 'due', delay_ms })),
        { state: 'dead', gone: false },
      ])
    },
  )

  it('waits as long as the push service asks, an hour at most', () => {
    expect(pushStepAfter('http_429', 1, 10 * HOUR, 120)).toEqual({ state: 'due', delay_ms: 120_000 })
    expect(pushStepAfter('http_429', 1, 10 * HOUR, 99_999)).toEqual({ state: 'due', delay_ms: HOUR })
    expect(pushStepAfter('http_429', 3, 10 * HOUR, 1)).toEqual({ state: 'due', delay_ms: 30_000 })
  })

  it('is given up when the next attempt would come too late', () => {
    expect(pushStepAfter('http_503', 1, 1_001)).toEqual({ state: 'due', delay_ms: 1_000 })
    expect(pushStepAfter('http_503', 1, 1_000)).toEqual({ state: 'dead', gone: false })
    expect(pushStepAfter('http_429', 1, 60_000, 61)).toEqual({ state: 'dead', gone: false })
  })
})
