import { setTimeout as pause } from 'node:timers/promises'

export type Pacer<Call> = ReturnType<typeof createPacer<Call>>

/** The calls that share one rate limit of the platform, with their history. */
interface Lane {
  /** Returns when the next call may begin. */
  earliest(): number
  /** Records a call that begins at `at`; if this were its only lane, the call could have begun at `soonest`. */
  take(at: number, soonest: number): void
  /** Records the end of a call; see `ended` of the pacer. */
  ended(at: number, now: number): void
  /** Returns when a call that cannot begin before `at`, and so was refused, should try again. */
  again(at: number): number
}

/** Which calls a platform counts together. */
export interface Pacing<Call> {
  /** Returns the lanes of a call, by name: the call begins when all of them allow it. */
  lanesOf(call: Call): readonly (readonly [name: string, make: () => Lane])[]
  /**
   * Returns the key under which a call is paused; calls with the same key, or `own`, are paused together. If a second `own`
   * key is refused meanwhile, `all` is paused as well: a platform that names no limit then means the wider one.
   */
  pauseKey(call: Call): string | { own: string; all: string }
  /** The most lanes kept in memory; the least recently used lane is dropped first. */
  most: number
}

/** A platform may ask for a pause, but must not block a conversation or workspace until the next restart. */
const LONGEST_REST_SECONDS = 3600

/** Keeps the calls of this process below the platform's limits. Times are milliseconds of a monotonic clock. */
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
  /** Returns the time until which calls like this one are paused, or −∞ when they are not. */
  const pausedUntil = (call: Call): number => {
    const keys = keysOf(call)
    return Math.max(untilOf(keys.own), 'all' in keys ? untilOf(keys.all) : Number.NEGATIVE_INFINITY)
  }
  /**
   * Takes a turn for this call if it comes within `patience` ms.
   * @returns when the turn comes; if none is taken, `at` is when to try again
   */
  const take = (call: Call, now: number, patience: number): { at: number; taken: boolean } => {
    const own = taken(call)
    const soonest = Math.max(now, pausedUntil(call))
    // A paused call must not hold a turn in lanes that other calls share.
    if (soonest - now > patience) return { at: soonest, taken: false }
    const at = Math.max(soonest, ...own.map((lane) => lane.earliest()))
    if (at - now > patience) return { at: Math.max(at, ...own.map((lane) => lane.again(at))), taken: false }
    for (const lane of own) lane.take(at, soonest)
    return { at, taken: true }
  }
  return {
    take,
    /** Waits for this call's turn, but not past `latest`; otherwise returns at once the whole seconds until the next try. */
    async turn(call: Call, latest: number): Promise<{ at: number } | { again_s: number }> {
      // Repeats when a pause began while the call waited; `latest` ends the loop.
      for (;;) {
        const now = performance.now()
        const turn = take(call, now, latest - now)
        if (!turn.taken) return { again_s: Math.max(1, Math.ceil((turn.at - now) / 1000)) }
        if (turn.at > now) await pause(Math.ceil(turn.at - now))
        if (pausedUntil(call) <= performance.now()) return { at: turn.at }
      }
    },
    /**
     * Records the end of the call whose turn came at `at`: the platform may have counted it as late as now. Otherwise a slow
     * first call (getting a token, opening a conversation) would let more calls into a window than it allows.
     */
    ended(call: Call, at: number, now = performance.now()): void {
      for (const lane of taken(call)) lane.ended(at, now)
    },
    /** Counts a finished call in the first lane of `call` as well, which only its answer revealed. */
    count: (call: Call, now = performance.now()): void => taken(call)[0]?.take(now, now),
    /** Pauses this call and all like it for the number of seconds that the platform asked for. */
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

/** A rate limit: one call per interval, and after a quiet time a burst without waiting. */
export interface Rate {
  /** Milliseconds between two calls. */
  every: number
  burst: number
}

/** Creates a lane with a rate limit. Refused calls get staggered times to try again, not all the same moment. */
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

/** Network delays vary, so turns are slightly further apart than the windows require. */
const MARGIN_MS = 50

/** Creates a lane that keeps within the limits of all these windows. */
export function inWindows(windows: readonly PaceWindow[]): Lane {
  /** Start times of calls in ascending order, although turns that wait for another lane are taken out of order. */
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
