import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  ENOUGH_REMINDERS,
  judgeReminder,
  planReminders,
  REMINDER_GAP_MS,
  type ReminderFacts,
} from '../../src/domain/attention.ts'

const START = Date.parse('2031-03-01T12:00:00.000Z')
const at = (seconds: number) => new Date(START + seconds * 1000)
const inSeconds = (time: Date | undefined) =>
  time === undefined ? undefined : (time.getTime() - START) / 1000

/** A request of that many seconds. */
const request = (ttl: number, more: Partial<ReminderFacts> = {}): ReminderFacts => ({
  created_at: at(0),
  expires_at: at(ttl),
  reminders: [0.5, 0.9],
  ...more,
})

describe('planReminders', () => {
  it.each([
    ['the default', [0.5, 0.9], 3600, 1800],
    ['the earliest first, however they are written', [0.9, 0.25], 100, 25],
    ['none', [], 3600, undefined],
    ['nothing outside the time of the request', [0, 1, -0.5, 2, Number.NaN], 3600, undefined],
    ['whole milliseconds', [1 / 3], 1, 0.333],
  ])('plans %s', (_what, fractions, ttl, first) => {
    const plan = planReminders(fractions, request(ttl))
    expect(inSeconds(plan.remind_at)).toBe(first)
    expect(plan.reminders).toEqual(first === undefined ? undefined : fractions)
  })
})

describe('judgeReminder', () => {
  it.each([
    ['half-way: reminds, and looks again at 90 %', request(3600), 1800, true, 3240],
    [
      'at 90 %: reminds, and is done',
      request(3600, { reminder_count: 1, reminded_at: at(1800) }),
      3240,
      true,
    ],
    ['both missed: makes up for them by one', request(3600), 3500, true],
    ['the first missed, the second still to come', request(3600), 2500, true, 3240],
    ['woken late, the second too close behind: leaves that out', request(3600), 3200, true],
    ['a manual one 59.999 s before: left out', request(3600, manual(1740.001)), 1800, false, 3240],
    ['a manual one 60 s before: reminds, and is done', request(3600, manual(1740)), 1800, true],
    ['two manual ones: silent for good', request(3600, { ...manual(100), reminder_count: 2 }), 1800, false],
    ['90 % of a minute is too close to the half of it', request(60), 30, true],
    ['a reminder dated after now counts as just now', request(3600, manual(1801)), 1800, false, 3240],
    [
      'a policy of five: two, then silence',
      request(1000, { reminders: [0.1, 0.2, 0.3, 0.4, 0.5] }),
      100,
      true,
      200,
    ],
    ['no policy in it: nothing', { created_at: at(0), expires_at: at(60) }, 30, true],
  ] as const)('%s', (_what, facts, now, remind, next?: number) => {
    const verdict = judgeReminder(facts, at(now))
    expect({ remind: verdict.remind, next: inSeconds(verdict.next) }).toEqual({ remind, next })
  })

  it('keeps its rules for any time to live, any policy, any manual reminders and any gap in the service', () => {
    fc.assert(
      fc.property(lives, (life) => {
        const { told, planned } = live(life)
        const automatic = told.filter(({ by }) => by === 'policy')
        expect(automatic.length).toBeLessThanOrEqual(ENOUGH_REMINDERS)
        for (const [i, { by, time }] of told.entries()) {
          if (by === 'policy') expect(i).toBeLessThan(ENOUGH_REMINDERS)
          expect(time - (told[i - 1]?.time ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(
            REMINDER_GAP_MS,
          )
        }
        // Each made up for at least one planned moment that nothing had answered yet.
        for (const [i, { time }] of automatic.entries()) {
          const since = automatic[i - 1]?.time ?? Number.NEGATIVE_INFINITY
          expect(planned.some((moment) => moment > since && moment <= time)).toBe(true)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('reminds at the very moments planned while nobody interferes and they are a minute apart', () => {
    fc.assert(
      fc.property(fc.integer({ min: 60, max: 200_000 }), policies, (ttl, reminders) => {
        const { told, planned } = live({ ttl, reminders, manual: [], wakes: [], everyMs: 0 })
        const apart = planned.every((moment, i) => moment - (planned[i - 1] ?? -Infinity) >= REMINDER_GAP_MS)
        fc.pre(apart)
        expect(told.map(({ time }) => time)).toEqual(planned.slice(0, ENOUGH_REMINDERS))
      }),
      { numRuns: 500 },
    )
  })
})

function manual(seconds: number): Partial<ReminderFacts> {
  return { reminder_count: 1, reminded_at: at(seconds) }
}

interface Life {
  ttl: number
  reminders: number[]
  /** Fractions of its time at which the caller asks for a reminder. */
  manual: number[]
  /** Fractions of its time at which a sweep looks; 0 ms between sweeps = exactly when one is due, besides these. */
  wakes: number[]
  everyMs: number
}

const fraction = fc.double({ min: 0, max: 1, noNaN: true })
const policies = fc.array(fraction, { maxLength: 5 })
const lives: fc.Arbitrary<Life> = fc.record({
  ttl: fc.integer({ min: 60, max: 200_000 }),
  reminders: policies,
  manual: fc.array(fraction, { maxLength: 6 }),
  wakes: fc.array(fraction, { maxLength: 8 }),
  everyMs: fc.constantFrom(0, Number.POSITIVE_INFINITY),
})

/** Plays a request's life: manual reminders as the store lets them through, sweeps as the service is awake. */
function live({ ttl, reminders, manual: asked, wakes, everyMs }: Life) {
  const facts: ReminderFacts = request(ttl, { reminders })
  const end = facts.expires_at.getTime()
  const told: { by: 'caller' | 'policy'; time: number }[] = []
  const remind = (by: 'caller' | 'policy', time: number): void => {
    facts.reminder_count = (facts.reminder_count ?? 0) + 1
    facts.reminded_at = new Date(time)
    told.push({ by, time })
  }
  let next = planReminders(reminders, facts).remind_at?.getTime()
  const times = (list: number[]) => list.map((share) => Math.floor(START + share * ttl * 1000))
  const manualTimes = times(asked).sort((a, b) => a - b)
  const wakeTimes = times(wakes).sort((a, b) => a - b)
  for (let step = 0; step < 50; step += 1) {
    const due = everyMs === 0 ? next : undefined
    const [time] = [due, manualTimes[0], wakeTimes[0]].filter((t) => t !== undefined).sort((a, b) => a - b)
    if (time === undefined || time >= end) break
    if (manualTimes[0] === time) {
      manualTimes.shift()
      if (time - (facts.reminded_at?.getTime() ?? -Infinity) >= REMINDER_GAP_MS) remind('caller', time)
      continue
    }
    if (wakeTimes[0] === time) wakeTimes.shift()
    if (next === undefined || next > time) continue
    const verdict = judgeReminder(facts, new Date(time))
    if (verdict.remind) remind('policy', time)
    expect(verdict.next?.getTime() ?? Infinity).toBeGreaterThan(time)
    next = verdict.next?.getTime()
  }
  const planned = times(reminders).filter((time) => time > START && time < end)
  return { told, planned: planned.sort((a, b) => a - b) }
}
