import { expect, it, vi } from 'vitest'
import {
  createSlackPacer,
  type PacedCall,
  SLACK_RATES,
  type SlackRates,
} from '../../../adapters/slack/web-calls.ts'

/** Twenty times the real pace. */
const QUICK: SlackRates = {
  conversation: { every: 50, burst: 1 },
  posts: { every: 12, burst: 20 },
  method: { every: 66, burst: 5 },
}

const postTo = (conversation: string, tenant = 'T1'): PacedCall => ({
  tenant,
  method: 'chat.postMessage',
  conversation,
})
const EDIT: PacedCall = { tenant: 'T1', method: 'chat.update' }

/** Lets calls take their turns at once and tells when each began, in milliseconds after the first. */
async function turns(pacer: ReturnType<typeof createSlackPacer>, calls: PacedCall[], patience = 60_000) {
  const started = performance.now()
  return Promise.all(
    calls.map(async (call) => {
      const turn = await pacer.turn(call, started + patience)
      return 'at' in turn ? performance.now() - started : `in ${turn.again_s} s`
    }),
  )
}

it('floods no conversation: messages to one keep their distance, others go meanwhile', async () => {
  const pacer = createSlackPacer(QUICK)
  const [one, other] = await Promise.all([
    turns(pacer, [postTo('D1'), postTo('D1'), postTo('D1'), postTo('D1')]),
    turns(pacer, [postTo('D2')]),
  ])
  const sorted = one.map(Number).sort((a, b) => a - b)
  // Timers may fire a millisecond early, and late ones make the next gap smaller.
  for (const [index, time] of sorted.entries()) expect(time).toBeGreaterThanOrEqual(50 * index - 2)
  expect(Number(other[0])).toBeLessThan(Math.max(...one.map(Number)))
})

it('edits no faster than Slack allows, whatever the message, after a short burst', async () => {
  const times = (
    await turns(
      createSlackPacer(QUICK),
      Array.from({ length: 9 }, () => EDIT),
    )
  ).map(Number)
  const sorted = times.sort((a, b) => a - b)
  expect(sorted[8]).toBeGreaterThanOrEqual(4 * 66 - 2)
})

it('never makes more than 50 edits in any minute at the real pace', () => {
  const { every, burst } = SLACK_RATES.method
  expect(burst + 60_000 / every).toBeLessThanOrEqual(50)
  expect(SLACK_RATES.conversation).toEqual({ every: 1_000, burst: 1 })
  expect(SLACK_RATES.posts.burst + 60_000 / SLACK_RATES.posts.every).toBeLessThanOrEqual(300)
})

it('holds nobody longer than allowed, and has those sent away come again one after the other', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const pacer = createSlackPacer({ ...QUICK, method: { every: 2_000, burst: 1 } })
    const [first, ...others] = await turns(
      pacer,
      Array.from({ length: 5 }, () => EDIT),
      1_000,
    )
    expect(first).toBe(0)
    expect(others).toEqual(['in 2 s', 'in 4 s', 'in 6 s', 'in 8 s'])
  } finally {
    vi.useRealTimers()
  }
})

it('lets only the conversation rest that Slack refused, until it refuses a second one meanwhile', async () => {
  const pacer = createSlackPacer(QUICK)
  pacer.pause(postTo('D1'), 30)
  expect(await turns(pacer, [postTo('D1')], 5_000)).toEqual(['in 30 s'])
  expect(Number((await turns(pacer, [postTo('D2')], 5_000))[0])).toBeLessThan(1_000)
  pacer.pause(postTo('D2'), 20)
  expect(await turns(pacer, [postTo('D3')], 5_000)).toEqual(['in 20 s'])
  expect(Number((await turns(pacer, [EDIT], 5_000))[0])).toBeLessThan(1_000)
  expect(Number((await turns(pacer, [postTo('D2', 'T2')], 5_000))[0])).toBeLessThan(1_000)
})

it('lets who waits for a turn notice that a rest has begun meanwhile', async () => {
  const pacer = createSlackPacer(QUICK)
  await pacer.turn(postTo('D1'), performance.now() + 1_000)
  const waiting = turns(pacer, [postTo('D1')], 200)
  pacer.pause(postTo('D1'), 20)
  // It wakes when its turn would have come, however late the machine is.
  expect((await waiting)[0]).toMatch(/^in (20|1\d) s$/)
})

it('is parked for an hour at most, whatever Slack asks for', async () => {
  const pacer = createSlackPacer(QUICK)
  pacer.pause(EDIT, 1e9)
  const turn = await pacer.turn(EDIT, performance.now())
  expect('again_s' in turn ? turn.again_s : expect.unreachable()).toBeLessThanOrEqual(3600)
})
