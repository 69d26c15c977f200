import { describe, expect, it } from 'vitest'
import type { Card } from '../../src/domain/chat.ts'
import { cardStepAfter, notReachable, probeStep, standingOf } from '../../src/domain/chat-retry.ts'

const ref = { tenant: 'T1', conversation: 'D1', message: 'm1' }

const refused = { at: new Date(0), what: 'post', outcome: 'unreachable', duration_ms: 1 } as const

function card(more: Partial<Card> = {}): Card {
  return {
    id: 'crd_1',
    account_id: 'acc_a',
    request_id: 'req_1',
    platform: 'slack',
    recipient: { kind: 'approver', user_id: 'usr_a' },
    state: 'idle',
    wanted: 2,
    shown: 2,
    replies: [],
    news: 0,
    next_at: new Date(0),
    tries: 0,
    fence: 0,
    attempts: [],
    created_at: new Date(0),
    audit: [],
    ...more,
  }
}

describe('a card after a refused call', () => {
  const delays = (most: number, { misleads = false, luck = 0 }) =>
    Array.from({ length: most }, (_, tries) => {
      const step = cardStepAfter('timeout', { tries, misleads, luck })
      expect(step).toMatchObject({ state: 'due', tries: tries + 1, ask_patience: false })
      return 'delay_ms' in step ? step.delay_ms / 1000 : undefined
    })

  it('is tried again after 1 s, 5 s, 30 s, 5 min, and then every 15 min for as long as it takes', () => {
    expect(delays(7, {})).toEqual([1, 5, 30, 300, 900, 900, 900])
    expect(delays(5, { luck: 1 })).toEqual([0.75, 3.75, 22.5, 225, 675])
  })

  it('is tried every 15 s for over an hour as the one that probes, and no more often than it would be otherwise', () => {
    const delay_ms = (pause: number, tries: number) =>
      probeStep({ state: 'due', tries, delay_ms: pause, ask_patience: false }, tries)
    expect(delay_ms(900_000, 249)).toMatchObject({ delay_ms: 15_000 })
    expect(delay_ms(1_000, 1)).toMatchObject({ delay_ms: 1_000 })
    expect(delay_ms(900_000, 250)).toMatchObject({ delay_ms: 900_000 })
    expect(probeStep({ state: 'unreachable', tries: 1 }, 1)).toEqual({ state: 'unreachable', tries: 1 })
  })

  it('is tried every 5 min while its message asks about what is over', () => {
    expect(delays(7, { misleads: true })).toEqual([1, 5, 30, 300, 300, 300, 300])
  })

  it.each([
    [undefined, 1_000],
    [0, 1_000],
    [30, 30_000],
    [86_400, 3_600_000],
  ])(
    'waits when the platform asks for %s s, at least a second and at most an hour, and lengthens no pause',
    (asked, ms) => {
      const step = { state: 'due', tries: 4, delay_ms: ms, ask_patience: true }
      expect(cardStepAfter('rate_limited', { tries: 4, retryAfter: asked, luck: 0 })).toEqual(step)
    },
  )

  it('is asked about again slowly where a refusal may pass, and is unreachable only after a day and a half', () => {
    const pauses = [1, 5, 15, 60, 360, 1440].map((minutes) => minutes * 60_000)
    for (const [tries, delay_ms] of pauses.entries()) {
      const step = cardStepAfter('unreachable', { tries, passing: true, misleads: true, luck: 0 })
      expect(step).toEqual({ state: 'due', tries: tries + 1, delay_ms, ask_patience: false })
    }
    const last = cardStepAfter('unreachable', { tries: pauses.length, passing: true, luck: 0 })
    expect(last).toEqual({ state: 'unreachable', tries: 1 })
  })

  it('is unreachable at once when trying again would not help, and due at once when its process stops', () => {
    expect(cardStepAfter('unreachable', { tries: 3, luck: 0 })).toEqual({ state: 'unreachable', tries: 4 })
    expect(cardStepAfter('interrupted', { tries: 3, luck: 0 })).toMatchObject({
      state: 'due',
      tries: 3,
      delay_ms: 0,
    })
  })
})

it.each([
  ['due', card({ state: 'due' })],
  ['sending', card({ state: 'leased' })],
  ['unreachable', card({ state: 'unreachable' })],
  ['shown', card({ message: ref })],
  ['behind', card({ message: ref, shown: 1 })],
  ['not_sent', card()],
] as const)('says that a card is %s', (standing, it) => {
  expect(standingOf(it)).toBe(standing)
})

it('calls people unreachable whose cards were never posted anywhere and are not on their way', () => {
  const of = (user_id: string, more: Partial<Card>) =>
    card({ recipient: { kind: 'approver', user_id }, ...more })
  const cards = [
    of('usr_lost', { state: 'unreachable' }),
    of('usr_lost', { state: 'idle', platform: 'teams' }),
    of('usr_elsewhere', { state: 'unreachable' }),
    of('usr_elsewhere', { state: 'idle', message: ref, platform: 'teams' }),
    of('usr_waiting', { state: 'due' }),
    of('usr_refused', { state: 'due', attempts: [refused] }),
    of('usr_asked', { state: 'due', attempts: [refused], message: ref }),
    // The message was deleted later; the person has seen it.
    of('usr_told', { state: 'unreachable', message: ref }),
    card({ recipient: { kind: 'channel', tenant: 'T1', channel: 'C1' }, state: 'unreachable' }),
  ]
  expect(notReachable(cards)).toEqual(['usr_lost', 'usr_refused'])
})
