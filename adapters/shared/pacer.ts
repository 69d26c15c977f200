import { setTimeout as pause } from 'node:timers/promises'

export type Pacer<Call> = ReturnType<typeof createPacer<Call>>

/** Calls that share one limit of the platform, and what is remembered of them. */
interface Lane {
  /** When the next call may begin. */
  earliest(): number
  /** A call begins at `at`. Were this the only lane, it could have begun at `soonest`. */
  take(at: number, soonest: number): void
  /** As that of the pacer. */
  ended(at: number, now: number): void
  /** When a call comes again that could not begin before `at` and is sent away. */
  again(at: number): number
}

/** What a platform counts together. */
export interface Pacing<Call> {
  /** The lanes of a call, by name: it begins when all of them let it. */
  lanesOf(call: Call): readonly (readonly [name: string, make: () => Lane])[]
  /**
   * Calls with the same first text are paused together. `all`: what is paused when two of these are at the same time, since a
   * platform that does not say which limit was reached then means the wider one.
   */
  pauseKey(call: Call): string | { own: string; all: string }
  /** Lanes that are remembered; the one that was silent longest is forgotten first. */
  most: number
}

/** A platform may ask for patience, but not park a conversation or workspace until the next restart. */
const LONGEST_REST_SECONDS = 3600

/** Keeps the calls of this process below what a platform allows. Times are milliseconds of a clock that never goes back. */
export function createPacer<Call>({ lanesOf, pauseKey, most }: Pacing<Call>) {
  const lanes = new Map<string, Lane>()
  const paused = new Map<string, number>()
  const taken = (call: Call): Lane[] =>
    lanesOf(call).map(([name, make]) => {
      const lane = lanes.get(name) ?? make()
      lanes.delete(name)
      lanes.set(name, lane)
      const oldest = lanes.size > most ? lanes.keys().next().value : undefined
      if (oldest !== undefined) lanes.delete(oldest)
      return lane
    })
  const keysOf = (call: Call) => {
    const key = pauseKey(call)
    return typeof key === 'string' ? { own: key } : key
  }
  const untilOf = (key?: string) =>
    (key === undefined ? undefined : paused.get(key)) ?? Number.NEGATIVE_INFINITY
  /** Until when calls like this one are paused; long ago when they do not. */
  const pausedUntil = (call: Call): number => {
    const keys = keysOf(call)
    return Math.max(untilOf(keys.own), 'all' in keys ? untilOf(keys.all) : Number.NEGATIVE_INFINITY)
  }
  /**
   * Takes this call's turn if it comes within `patience` ms.
   * @returns when it comes; else nothing is taken, and `at` is when to come again
   */
  const take = (call: Call, now: number, patience: number): { at: number; taken: boolean } => {
    const own = taken(call)
    const soonest = Math.max(now, pausedUntil(call))
    // Those who may not begin keep no turn in the lanes that others share.
    if (soonest - now > patience) return { at: soonest, taken: false }
    const at = Math.max(soonest, ...own.map((lane) => lane.earliest()))
    if (at - now > patience) return { at: Math.max(at, ...own.map((lane) => lane.again(at))), taken: false }
    for (const lane of own) lane.take(at, soonest)
    return { at, taken: true }
  }
  return {
    take,
    /** Waits for this call's turn, but not past `latest`; else tells at once after how many whole seconds to come again. */
    async turn(call: Call, latest: number): Promise<{ at: number } | { again_s: number }> {
      // Once more after each pause that began while it waited; pauses end, and `latest` does.
      for (;;) {
        const now = performance.now()
        const turn = take(call, now, latest - now)
        if (!turn.taken) return { again_s: Math.max(1, Math.ceil((turn.at - now) / 1000)) }
        if (turn.at > now) await pause(Math.ceil(turn.at - now))
        if (pausedUntil(call) <= performance.now()) return { at: turn.at }
      }
    },
    /**
     * The call whose turn came at `at` has ended: the platform may have counted it as late as now. Without this a slow first
     * call (a token, opening a conversation) would let more into a window than it allows.
     */
    ended(call: Call, at: number, now = performance.now()): void {
      for (const lane of taken(call)) lane.ended(at, now)
    },
    /** A call turned out to count in the first of this call's lanes as well. */
    count: (call: Call, now = performance.now()): void => taken(call)[0]?.take(now, now),
    /** The platform refused this call for so many seconds: those like it wait as long. */
    pause(call: Call, seconds: number, now = performance.now()): void {
      if (paused.size >= most) forgetEnded(paused, now)
      const until = now + Math.min(seconds, LONGEST_REST_SECONDS) * 1000
      const keys = keysOf(call)
      paused.set(keys.own, Math.max(until, untilOf(keys.own)))
      if (!('all' in keys)) return
      const others = [...paused].some(
        ([key, end]) => key !== keys.own && key.startsWith(keys.all) && end > now,
      )
      if (others) paused.set(keys.all, Math.max(until, untilOf(keys.all)))
    },
    pausedUntil,
  }
}

function forgetEnded(paused: Map<string, number>, now: number): void {
  for (const [key, until] of paused) if (until <= now) paused.delete(key)
}

/** How often something may be done: one after the other at this distance, so many without waiting after a pause. */
export interface Rate {
  /** Milliseconds between two. */
  every: number
  burst: number
}

/** A lane at a rate. Calls that are sent away come again one after the other, not all at the same moment. */
export function atRate({ every, burst }: Rate): Lane {
  let next = 0
  let promised = 0
  return {
    earliest: () => next - (burst - 1) * every,
    take(_at, soonest) {
      next = Math.max(next, soonest) + every
    },
    ended: () => undefined,
    again(at) {
      promised = Math.max(at, promised + every)
      return promised
    },
  }
}

/** At most `calls` in any `ms` milliseconds. */
export interface PaceWindow {
  calls: number
  ms: number
}

/** Networks deliver unevenly: turns are a little further apart than the windows allow. */
const MARGIN_MS = 50

/** A lane that fills none of these windows further than it allows. */
export function inWindows(windows: readonly PaceWindow[]): Lane {
  /** In ascending order, though turns that wait for another lane are given out of order. */
  const times: number[] = []
  const insert = (at: number) => times.splice(times.findLastIndex((time) => time <= at) + 1, 0, at)
  const most = Math.max(...windows.map(({ calls }) => calls))
  return {
    earliest() {
      const ends = windows.map(({ calls, ms }) => {
        const filling = times.at(-calls)
        return filling === undefined ? Number.NEGATIVE_INFINITY : filling + ms + MARGIN_MS
      })
      return Math.max(...ends)
    },
    take(at) {
      insert(at)
      if (times.length > most) times.splice(0, times.length - most)
    },
    ended(at, now) {
      const place = times.indexOf(at)
      if (place === -1) return
      times.splice(place, 1)
      insert(now)
    },
    again: (at) => at,
  }
}
