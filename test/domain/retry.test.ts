import { describe, expect, it } from 'vitest'
import {
  isDelivered,
  MAX_TRIES,
  nextStep,
  type OutcomeClass,
  RETRY_DELAYS_MS,
} from '../../src/domain/retry.ts'

describe('the state after an attempt', () => {
  it.each<[OutcomeClass, boolean]>([
    ['http_200', true],
    ['http_202', true],
    ['http_299', true],
    ['http_199', false],
    ['http_300', false],
    ['http_307', false],
    ['http_410', false],
    ['http_500', false],
    ['timeout', false],
    ['blocked', false],
    ['connect_failed', false],
    ['interrupted', false],
  ])('counts %s as delivered: %s', (outcome, delivered) => {
    expect(isDelivered(outcome)).toBe(delivered)
    expect(nextStep('callback', 1, outcome).state).toBe(delivered ? 'delivered' : 'due')
  })

  it('keeps the schedule of the interface: 1 s, 5 s, 30 s, 5 min, then no more', () => {
    const steps = [1, 2, 3, 4, 5].map((tries) => nextStep('callback', tries, 'http_500'))
    expect(steps).toEqual([
      { state: 'due', delay_ms: 1_000 },
      { state: 'due', delay_ms: 5_000 },
      { state: 'due', delay_ms: 30_000 },
      { state: 'due', delay_ms: 300_000 },
      { state: 'dead', gone: false },
    ])
    expect(MAX_TRIES).toBe(RETRY_DELAYS_MS.length + 1)
  })

  it('knows 410 and Retry-After for account webhooks only', () => {
    expect(nextStep('webhook', 1, 'http_410')).toEqual({ state: 'dead', gone: true })
    expect(nextStep('callback', 1, 'http_410')).toEqual({ state: 'due', delay_ms: 1_000 })
    expect(nextStep('webhook', 1, 'http_503', 20)).toEqual({ state: 'due', delay_ms: 20_000 })
    expect(nextStep('callback', 1, 'http_503', 20)).toEqual({ state: 'due', delay_ms: 1_000 })
  })

  it('lets Retry-After lengthen a delay, up to an hour, and never shorten it', () => {
    expect(nextStep('webhook', 3, 'http_429', 2)).toEqual({ state: 'due', delay_ms: 30_000 })
    expect(nextStep('webhook', 1, 'http_429', 10_000_000)).toEqual({ state: 'due', delay_ms: 3_600_000 })
    expect(nextStep('webhook', 5, 'http_429', 60)).toEqual({ state: 'dead', gone: false })
  })
})
