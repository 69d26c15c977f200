import type { ApprovalRequest } from './request.ts'

/** What the rules of reminding ask of a request. */
export type ReminderFacts = Pick<
  ApprovalRequest,
  'created_at' | 'expires_at' | 'reminders' | 'reminder_count' | 'reminded_at'
>

/** After so many reminders, whoever asked for them, the service falls silent. */
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
 * What becomes of an automatic reminder that is due. Planned ones that nobody woke up for are made up for by this one; one
 * that comes too soon after another is left out, not put off.
 * @returns whether to remind now, and when to look again; no `next` when there is nothing more to come
 */
export function judgeReminder(request: ReminderFacts, now: Date): { remind: boolean; next?: Date } {
  const before = request.reminder_count ?? 0
  if (before >= ENOUGH_REMINDERS) return { remind: false }
  const last = request.reminded_at?.getTime() ?? Number.NEGATIVE_INFINITY
  const remind = now.getTime() - last >= REMINDER_GAP_MS
  if (remind && before + 1 >= ENOUGH_REMINDERS) return { remind }
  const quietUntil = remind ? now.getTime() + REMINDER_GAP_MS : now.getTime() + 1
  const next = plannedTimes(request).find((time) => time.getTime() >= quietUntil)
  return next === undefined ? { remind } : { remind, next }
}
