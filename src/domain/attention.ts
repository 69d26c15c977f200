import type { ApprovalRequest } from './request.ts'

/*
 * Limits on how much may be asked of one person (T24). People who are asked all the time stop reading, and in the end approve
 * to be left alone. So one account cannot pile up requests for a person, and a key whose requests that person keeps rejecting
 * falls silent for a while. Only cards, pushes and reminders fall silent: the request is in the inbox and can be decided.
 */

/** Most pending requests of one account that may wait for one approver. Dry runs ask no person and do not count. */
export const MOST_PENDING = 250

/** A person's third rejection of one key's requests within 10 minutes makes the key silent towards them for 15 minutes. */
const QUIET_AFTER = 3
const QUIET_WITHIN_MS = 10 * 60_000
const QUIET_FOR_MS = 15 * 60_000

/** Returns the time before which rejections no longer silence a key at `at`. */
export function quietSince(at: Date): Date {
  return new Date(at.getTime() - QUIET_WITHIN_MS - QUIET_FOR_MS)
}

/**
 * Returns when the key's silence towards the person ends: 15 minutes after the last of any three rejections within 10 minutes.
 * @param rejections times at which this person rejected requests of this key, in any order
 * @returns undefined when the key is not silent at `at`
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

/** The longest wait asked of a caller, since the next decision may free a place among the pending requests at any time. */
const LONGEST_WAIT_SECONDS = 60

/** Returns the seconds after which asking again may help: until the next pending request lapses, but at most a minute. */
export function secondsUntilRoom(nextExpiry: Date | undefined, now: Date): number {
  if (nextExpiry === undefined) return 1
  const left = Math.ceil((nextExpiry.getTime() - now.getTime()) / 1000)
  return Math.min(LONGEST_WAIT_SECONDS, Math.max(1, left))
}

/** The fields of a request that the rules for reminders need. */
export type ReminderFacts = Pick<
  ApprovalRequest,
  'created_at' | 'expires_at' | 'reminders' | 'reminder_count' | 'reminded_at'
>

/** After this many reminders, automatic or asked for, the service sends no more by itself. */
export const ENOUGH_REMINDERS = 2

/** Least milliseconds between two reminders of one request (interface, "Limits"). */
export const REMINDER_GAP_MS = 60_000

/** Lists the times of the automatic reminders, in order; times outside the request's lifetime are dropped. */
function plannedTimes(request: ReminderFacts): Date[] {
  const start = request.created_at.getTime()
  const end = request.expires_at.getTime()
  const times = (request.reminders ?? []).map((fraction) => Math.floor(start + fraction * (end - start)))
  const inside = times.filter((time) => time > start && time < end)
  return inside.sort((a, b) => a - b).map((time) => new Date(time))
}

/** Builds the reminder fields of a new request: the policy's fractions as they are now, and when the first reminder is due. */
export function planReminders(
  reminders: number[],
  request: Pick<ApprovalRequest, 'created_at' | 'expires_at'>,
): Pick<ApprovalRequest, 'reminders' | 'remind_at'> {
  const remind_at = plannedTimes({ ...request, reminders })[0]
  return remind_at === undefined ? {} : { reminders, remind_at }
}

/**
 * Decides what to do with an automatic reminder that is due. It also stands for planned ones that no process sent in time;
 * a reminder too soon after another is skipped, not put off.
 * @returns whether to remind now, and when to look again; no `next` when no further reminder is planned
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
