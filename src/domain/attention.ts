/**
 * How much may be asked of one person (T24). Whoever is asked all the time stops reading, and in the end approves to be left
 * alone; so one account cannot pile up requests before a person, and a key whose requests they keep rejecting falls silent
 * for a while. Silence is for cards, pushes and reminders alone: the request stands in the inbox and can be decided.
 */

/** Pending live requests that one account may have before one approver. Dry-runs ask nobody and do not count. */
export const MOST_PENDING = 250

/** Rejections by one person of one key's requests, within so many minutes, that make the key silent towards them. */
const QUIET_AFTER = 3
const QUIET_WITHIN_MS = 10 * 60_000
const QUIET_FOR_MS = 15 * 60_000

/** Rejections older than this make nobody silent at `at`. */
export function quietSince(at: Date): Date {
  return new Date(at.getTime() - QUIET_WITHIN_MS - QUIET_FOR_MS)
}

/**
 * Until when the key is silent towards the person at `at`: 15 minutes from the last of any three rejections that lie within
 * 10 minutes.
 * @param rejections times at which this person rejected requests of this key, in any order
 * @returns undefined when it is not
 */
export function quietUntil(rejections: readonly Date[], at: Date): Date | undefined {
  const times = rejections
    .map((time) => time.getTime())
    .filter((time) => time <= at.getTime())
    .sort((a, b) => a - b)
  const ends = times.flatMap((last, index) => {
    const first = times[index - (QUIET_AFTER - 1)]
    return first !== undefined && last - first <= QUIET_WITHIN_MS ? [last + QUIET_FOR_MS] : []
  })
  const end = Math.max(...ends)
  return end > at.getTime() ? new Date(end) : undefined
}

/** A place among the pending may come free with the next decision; nobody is asked to wait longer than this. */
const LONGEST_WAIT_SECONDS = 60

/** Seconds after which asking again may help: when the next of them lapses, and never more than a minute. */
export function secondsUntilRoom(nextExpiry: Date | undefined, now: Date): number {
  if (nextExpiry === undefined) return 1
  const left = Math.ceil((nextExpiry.getTime() - now.getTime()) / 1000)
  return Math.min(LONGEST_WAIT_SECONDS, Math.max(1, left))
}
