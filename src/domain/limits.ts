/**
 * The rate limits, and whom each one counts. By API key: creations, reads and everything else (`key`). By address:
 * verifications, sign-in or enrolment (`auth`), new bootstraps and polls of them, reads of the log. By signed-in person: decisions, changes
 * of one's own account and its logs (`person`), files of those logs (`export`), and tests of notifications (`push_test`).
 */
export type LimitBucket = keyof typeof REQUESTS_A_MINUTE

/** Requests a minute (interface, "Limits"; limits that the interface does not name are ours). */
export const REQUESTS_A_MINUTE = {
  create: 60,
  read: 120,
  key: 120,
  verify: 300,
  auth: 60,
  person: 120,
  export: 10,
  push_test: 5,
  bootstrap: 20,
  poll: 300,
  log: 1200,
} as const

/** A limit after a use was counted or refused. */
export interface LimitState {
  allowed: boolean
  limit: number
  remaining: number
  /** When the window ends. */
  resetAt: Date
  /** Whole seconds until then, at least one. */
  retryAfter: number
}

/**
 * Returns the state of a limit.
 * @param taken uses in the window, a refused one included if it counts
 * @param msLeft milliseconds until the window ends
 */
export function limitState(
  limit: number,
  { taken, now, msLeft }: { taken: number; now: Date; msLeft: number },
  allowed = taken <= limit,
): LimitState {
  return {
    allowed,
    limit,
    remaining: Math.max(0, limit - taken),
    resetAt: new Date(now.getTime() + msLeft),
    retryAfter: Math.max(1, Math.ceil(msLeft / 1000)),
  }
}

/**
 * Returns the key by which a limit counts an address: an IPv4 address (or any other text) unchanged, or the /64 of an IPv6
 * address, since one subscriber holds a whole /64.
 */
export function limitSubject(address: string): string {
  if (!address.includes(':')) return address
  const bare = address.toLowerCase().split('%')[0] ?? ''
  const [left = [], right = []] = bare.split('::').map(groupsOf)
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0')
  return `${[...left, ...zeros, ...right]
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}

/** Splits into groups of 16 bits. A tail written as IPv4 (RFC 4291 section 2.2) stands for two groups, both beyond the /64. */
function groupsOf(text: string): string[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]))
}

/** A calendar month, UTC. */
export interface Month {
  /** `YYYY-MM` */
  name: string
  /** When the next month begins. */
  ends: Date
}

/** Returns the month in which a time lies. */
export function monthAt(time: Date): Month {
  const ends = new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1, 1))
  return { name: time.toISOString().slice(0, 7), ends }
}
