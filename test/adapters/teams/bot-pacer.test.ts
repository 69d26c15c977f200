import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { PaceWindow } from '../../../adapters/shared/pacer.ts'
import type { BotCalls } from '../../../adapters/teams/bot-port.ts'
import {
  CONVERSATION_PACE,
  createTeamsPacer,
  paceCalls,
  TENANT_PACE,
} from '../../../adapters/teams/paced-calls.ts'

/** Takes turns at once and says when they come. */
function turns(
  count: number,
  conversation: (n: number) => string,
  patience = Number.POSITIVE_INFINITY,
): number[] {
  const pacer = createTeamsPacer()
  return Array.from({ length: count }, (_, n) => pacer.take(conversation(n), 0, patience).at)
}

function mostIn(times: readonly number[], { ms }: PaceWindow): number {
  return Math.max(...times.map((from) => times.filter((time) => time >= from && time < from + ms).length))
}

describe('turns in one conversation', () => {
  it('never fill a window of Teams further than it allows, however many are wanted', () => {
    const times = turns(400, () => 'a')
    for (const window of CONVERSATION_PACE) expect(mostIn(times, window)).toBeLessThanOrEqual(window.calls)
    expect([...times].sort((a, b) => a - b)).toEqual(times)
  })

  it('come at once as long as there is room', () => {
    expect(turns(7, () => 'a')).toEqual([0, 0, 0, 0, 0, 0, 0])
    expect(turns(8, () => 'a').at(-1)).toBeGreaterThan(1_000)
  })

  it('come again when a window has passed', () => {
    const pacer = createTeamsPacer()
    for (let n = 0; n < 8; n += 1) pacer.take('a', 0, 10_000)
    expect(pacer.take('a', 10_000, 0)).toEqual({ at: 10_000, taken: true })
  })

  it('count from the end of a call, which may have been slow', () => {
    const pacer = createTeamsPacer()
    for (let n = 0; n < 7; n += 1) pacer.take('a', 0, 0)
    for (let n = 0; n < 7; n += 1) pacer.ended('a', 0, 900)
    expect(pacer.take('a', 1_500, 0)).toMatchObject({ taken: false })
    expect(pacer.take('a', 2_000, 0)).toEqual({ at: 2_000, taken: true })
    pacer.count('b', 2_000)
    for (let n = 0; n < 6; n += 1) pacer.take('b', 2_000, 0)
    expect(pacer.take('b', 2_000, 0).taken).toBe(false)
  })

  it('that nobody waits for are not taken', () => {
    const pacer = createTeamsPacer()
    for (let n = 0; n < 7; n += 1) pacer.take('a', 0, 0)
    const refused = pacer.take('a', 0, 500)
    expect(refused.taken).toBe(false)
    expect(refused.at).toBeGreaterThan(1_000)
    expect(pacer.take('a', 0, 500)).toEqual(refused)
  })
})

describe('a conversation in which Teams refused a call for thirty seconds', () => {
  it('has no turn before they are over, and others go on', () => {
    const pacer = createTeamsPacer()
    pacer.pause('a', 30, 0)
    pacer.pause('a', 5, 0)
    expect(pacer.take('a', 1_000, 4_000)).toEqual({ at: 30_000, taken: false })
    expect(pacer.take('b', 1_000, 0)).toEqual({ at: 1_000, taken: true })
    expect(pacer.take('a', 30_000, 0)).toEqual({ at: 30_000, taken: true })
  })

  it('keeps its rest however many others rested meanwhile', () => {
    const pacer = createTeamsPacer()
    for (let n = 0; n < 2_000; n += 1) pacer.pause(`other ${n}`, 1, 0)
    pacer.pause('a', 30, 0)
    pacer.pause('b', 1, 2_000)
    expect(pacer.pausedUntil('a')).toBe(30_000)
    expect(pacer.pausedUntil('other 1')).toBeLessThan(0)
  })
})

describe('a conversation in which Teams asks for a pause without saying how long', () => {
  const silent = () => undefined
  const log = { debug: silent, info: silent, warn: silent, error: silent }

  it('rests twice as long each time, up to about a minute, until a call is accepted', async () => {
    let now = performance.now()
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    onTestFinished(() => clock.mockRestore())
    let accepts = false
    let made = 0
    const update: BotCalls['update'] = async () => {
      made += 1
      return accepts
        ? { ok: true, value: undefined, duration_ms: 1 }
        : { ok: false, outcome: 'rate_limited', code: 'Throttled', duration_ms: 1 }
    }
    const never = () => expect.unreachable()
    const calls = paceCalls({ update, post: never, resolveUser: never }, log)
    const conversation = { kind: 'person', service_url: 'https://a', conversation_id: 'a:1' } as const
    const edit = () => calls.update(conversation, '1', { card: {}, text: '' })
    const rest = async () => {
      // Two calls that are under way together are refused together.
      const [answer, other] = await Promise.all([edit(), edit()])
      if (answer.ok || other.ok) throw new Error('accepted')
      expect(other.retry_after).toBeLessThanOrEqual(2 * (answer.retry_after ?? 0))
      now += Math.max(answer.retry_after ?? 0, other.retry_after ?? 0) * 1000
      return answer.retry_after ?? 0
    }
    for (const full of [1, 2, 4, 8, 16, 32, 60, 60]) {
      const seconds = await rest()
      expect(seconds).toBeGreaterThanOrEqual(full * 0.75)
      expect(seconds).toBeLessThanOrEqual(full)
    }
    expect(made).toBe(16)
    accepts = true
    expect(await edit()).toMatchObject({ ok: true })
    accepts = false
    expect(await rest()).toBe(1)
  })
})

describe('turns in many conversations', () => {
  it('do not wait for each other, until the tenant as a whole has had its share', () => {
    const times = turns(100, (n) => `conversation ${n}`)
    for (const window of TENANT_PACE) expect(mostIn(times, window)).toBeLessThanOrEqual(window.calls)
    expect(times.filter((time) => time === 0)).toHaveLength(30)
    expect(Math.max(...times)).toBeLessThan(4_000)
  })

  it('are forgotten for whoever was silent longest, after two thousand others', () => {
    const pacer = createTeamsPacer(CONVERSATION_PACE, [])
    for (let n = 0; n < 7; n += 1) pacer.take('first', 0, 0)
    for (let n = 0; n < 2_000; n += 1) pacer.take(`other ${n}`, 0, 0)
    expect(pacer.take('first', 0, 0)).toEqual({ at: 0, taken: true })
  })
})
