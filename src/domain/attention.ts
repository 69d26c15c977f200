import type { ApprovalRequest } from './request.ts'

/*
 * How much may be asked of one person (T24). People who are asked all the time stop reading, and in the end approve to be
 * left alone; so one account cannot pile up requests before a person, and a key whose requests they keep rejecting falls
 * silent for a while. Silence is for cards, pushes and reminders alone: the request is in the inbox and can be decided.
 */

/** Pending live requests that one account may have before one approver. Dry-runs ask no person and do not count. */
export const MOST_PENDING = 250

/** Rejections by one person of one key's requests, within so many minutes, that make the key silent towards them. */
const QUIET_AFTER = 3
const QUIET_WITHIN_MS = 10 * 60_000
const QUIET_FOR_MS = 15 * 60_000

/** Rejections older than this silence no key at `at`. */
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

/** Room among the pending may come free with the next decision; no caller is asked to wait longer than this. */
const LONGEST_WAIT_SECONDS = 60

/** Seconds after which asking again may help: when the next of them lapses, and never more than a minute. */
export function secondsUntilRoom(nextExpiry: Date | undefined, now: Date): number {
  if (nextExpiry === undefined) return 1
  const left = Math.ceil((nextExpiry.getTime() - now.getTime()) / 1000)
  return Math.min(LONGEST_WAIT_SECONDS, Math.max(1, left))
}

/** What the rules of reminding ask of a request. */
export type ReminderFacts = Pick<
  ApprovalRequest,
  'created_at' | 'expires_at' | 'reminders' | 'reminder_count' | 'reminded_at'
>

/** After so many reminders, automatic or asked for, the service sends no more. */
export const ENOUGH_REMINDERS = 2

/** Milliseconds between two reminders of one request (interface, "Limits"). */
export const REMINDER_GAP_MS = 60_000

/** The moments of the automatic reminders, in order; what falls outside the time of the request is none. */
function plannedTimes(request: ReminderFacts): Date[] {
  const start = request.created_at.getTime()
  const end = request.expires_at.getTime()
  const times = (request.reminders ?? []).map((fraction) => Math.floor(start + fraction * (end - start)))
  const inside = times.filter((time) => time > start && time < end)
  return inside.sort((a, b) => a - b).map((time) => new Date(time))
}

/** What a new request is given of its account's policy: the fractions as they are now, and when the first one is due. */
export function planReminders(
  reminders: number[],
  request: Pick<ApprovalRequest, 'created_at' | 'expires_at'>,
): Pick<ApprovalRequest, 'reminders' | 'remind_at'> {
  const remind_at = plannedTimes({ ...request, reminders })[0]
  return remind_at === undefined ? {} : { reminders, remind_at }
}

/**
 * What to do with an automatic reminder that is due. Planned ones that no process took in time are made up for by this one; one
 * that comes too soon after another is left out, not put off.
 * @returns whether to remind now, and when to look again; no `next` when there is nothing more to come
 */
export function judgeReminder(request: ReminderFacts, now: Date): { remind: boolean; next?: Date } {
  const before = request.reminder_count ?? 0
  if (before >= ENOUGH_REMINDERS) return { remind: false }
  const last = request.reminded_at?.getTime() ?? Number.NEGATIVE_INFINITY
  const remind = now.getTime() - last >= REMINDER_GAP_MS
  if (remind && before + 1 >= ENOUGH_REMINDERS) return { remind }
  const silentUntil = remind ? now.getTime() + REMINDER_GAP_MS : now.getTime() + 1
  const next = plannedTimes(request).find((time) => time.getTime() >= silentUntil)
  return next === undefined ? { remind } : { remind, next }
}
