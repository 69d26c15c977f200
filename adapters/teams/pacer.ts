/** At most `calls` in any `ms` milliseconds. */
export interface PaceWindow {
  calls: number
  ms: number
}

/** What Teams takes of one bot in one conversation ("Optimize your bot with rate limiting in Teams"). */
export const CONVERSATION_PACE: readonly PaceWindow[] = [
  { calls: 7, ms: 1_000 },
  { calls: 8, ms: 2_000 },
  { calls: 60, ms: 30_000 },
  { calls: 1_800, ms: 3_600_000 },
]

/** And in one tenant; sources name 30 and 50 a second. */
export const TENANT_PACE: readonly PaceWindow[] = [{ calls: 30, ms: 1_000 }]

/** Gives out turns. Pure but for what it remembers; times are milliseconds of any clock that never goes back. */
export interface Pacer {
  /**
   * Takes the next turn of this conversation if it comes within `patience` ms.
   * @returns when it comes; when that is later, nothing is taken
   */
  take(conversation: string, now: number, patience: number): { at: number; taken: boolean }
  /**
   * The call of a turn that came at `at` has ended: Teams may have counted it as late as now. Without this a slow first call
   * (a token, opening a conversation) would let more into a window than it allows.
   */
  ended(conversation: string, at: number, now: number): void
  /** The call turned out to count in this conversation as well. */
  count(conversation: string, now: number): void
  /** Teams refused a call of this conversation for so many seconds: the others wait as long. */
  rest(conversation: string, now: number, seconds: number): void
  /** Until when it rests; long ago when it does not. Who waited for a turn asks once more: a rest may have begun. */
  restsUntil(conversation: string): number
}

/** Networks deliver unevenly: turns are a little further apart than the windows allow. */
const MARGIN_MS = 50
const MOST_CONVERSATIONS = 2_000

export function createPacer(conversationPace = CONVERSATION_PACE, tenantPace = TENANT_PACE): Pacer {
  const conversations = new Map<string, number[]>()
  const resting = new Map<string, number>()
  const restsUntil = (conversation: string) => resting.get(conversation) ?? Number.NEGATIVE_INFINITY
  const tenant: number[] = []
  /** Those that wrote last are kept; who is forgotten had the least to say. */
  const timesOf = (conversation: string): number[] => {
    const own = conversations.get(conversation) ?? []
    conversations.delete(conversation)
    conversations.set(conversation, own)
    const oldest = conversations.size > MOST_CONVERSATIONS ? conversations.keys().next().value : undefined
    if (oldest !== undefined) conversations.delete(oldest)
    return own
  }
  return {
    take(conversation, now, patience) {
      const own = conversations.get(conversation) ?? []
      const rested = Math.max(now, restsUntil(conversation))
      const at = Math.max(rested, earliest(own, conversationPace), earliest(tenant, tenantPace))
      if (at - now > patience) return { at, taken: false }
      remember(timesOf(conversation), at, conversationPace)
      remember(tenant, at, tenantPace)
      return { at, taken: true }
    },
    ended(conversation, at, now) {
      for (const times of [timesOf(conversation), tenant]) {
        const place = times.indexOf(at)
        if (place === -1) continue
        times.splice(place, 1)
        insert(times, now)
      }
    },
    count: (conversation, now) => remember(timesOf(conversation), now, conversationPace),
    rest(conversation, now, seconds) {
      if (resting.size >= MOST_CONVERSATIONS) forgetRested(resting, now)
      resting.set(conversation, Math.max(now + seconds * 1000, restsUntil(conversation)))
    },
    restsUntil,
  }
}

function forgetRested(resting: Map<string, number>, now: number): void {
  for (const [conversation, until] of resting) if (until <= now) resting.delete(conversation)
}

/** When no window is full any more. Times are in ascending order. */
function earliest(times: readonly number[], pace: readonly PaceWindow[]): number {
  const ends = pace.map(({ calls, ms }) => {
    const filling = times.at(-calls)
    return filling === undefined || times.length < calls ? Number.NEGATIVE_INFINITY : filling + ms + MARGIN_MS
  })
  return Math.max(...ends)
}

function remember(times: number[], at: number, pace: readonly PaceWindow[]): void {
  insert(times, at)
  const most = Math.max(...pace.map(({ calls }) => calls))
  if (times.length > most) times.splice(0, times.length - most)
}

/** Turns of several conversations are given out of order. */
function insert(times: number[], at: number): void {
  times.splice(times.findLastIndex((time) => time <= at) + 1, 0, at)
}
