import { setTimeout as pause } from 'node:timers/promises'
import type { Rate, SlackRates } from './rates.ts'

/** What is about to be called. */
export interface PacedCall {
  tenant: string
  method: string
  /** Where a message goes. */
  conversation?: string
}

/** Keeps the calls of this process below what Slack allows. */
export interface Pacer {
  /**
   * Waits for this call's turn, but not past `latest` (milliseconds of `performance.now()`).
   * @returns undefined when it is its turn; else, at once, after how many whole seconds to come again
   */
  turn(call: PacedCall, latest: number): Promise<number | undefined>
  /** Slack refused this call for so many seconds: those like it wait as long. */
  rest(call: PacedCall, seconds: number): void
}

/** Of one kind of call: `next` is when one is due that keeps the distance, `promised` when the last one sent away comes again. */
interface Lane {
  rate: Rate
  next: number
  promised: number
}

/** Conversations remembered; those whose turn is over are forgotten beyond it. */
const MOST_LANES = 10_000

/** Slack may ask for patience, but not park a workspace until the next restart. */
const LONGEST_REST_SECONDS = 3600

export function createPacer(rates: SlackRates, now: () => number = () => performance.now()): Pacer {
  const lanes = new Map<string, Lane>()
  const resting = new Map<string, number>()
  const laneOf = (key: string, rate: Rate): Lane => {
    const known = lanes.get(key) ?? { rate, next: 0, promised: 0 }
    lanes.set(key, known)
    return known
  }
  const lanesOf = ({ tenant, method, conversation }: PacedCall): Lane[] => {
    if (lanes.size > MOST_LANES) forgetIdle(lanes, now())
    if (conversation === undefined) return [laneOf(`${tenant} ${method}`, rates.method)]
    return [
      laneOf(`${tenant} posts`, rates.posts),
      laneOf(`${tenant} in ${conversation}`, rates.conversation),
    ]
  }
  return {
    async turn(call, latest) {
      const taken = lanesOf(call)
      const key = restKey(call)
      // Once more after each rest that began while it waited; rests end, and `latest` does.
      for (;;) {
        const soonest = Math.max(now(), resting.get(key) ?? 0)
        const start = Math.max(soonest, ...taken.map(earliest))
        if (start > latest) return Math.max(1, Math.ceil((comeAgain(taken, start) - now()) / 1000))
        for (const lane of taken) lane.next = Math.max(lane.next, soonest) + lane.rate.every
        if (start > now()) await pause(start - now())
        if ((resting.get(key) ?? 0) <= now()) return undefined
      }
    },
    rest(call, seconds) {
      const until = now() + Math.min(seconds, LONGEST_REST_SECONDS) * 1000
      resting.set(restKey(call), Math.max(until, resting.get(restKey(call)) ?? 0))
    },
  }
}

/** Slack does not say whether a conversation or the workspace had too many: the method rests. */
function restKey({ tenant, method }: PacedCall): string {
  return `${tenant} ${method}`
}

function earliest({ rate, next }: Lane): number {
  return next - (rate.burst - 1) * rate.every
}

/** Who is sent away comes again one after the other, not all at the same moment. */
function comeAgain(lanes: readonly Lane[], start: number): number {
  const times = lanes.map((lane) => {
    lane.promised = Math.max(start, lane.promised + lane.rate.every)
    return lane.promised
  })
  return Math.max(start, ...times)
}

function forgetIdle(lanes: Map<string, Lane>, now: number): void {
  for (const [key, { next, promised }] of lanes) if (next <= now && promised <= now) lanes.delete(key)
}
