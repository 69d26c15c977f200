import { BOOTSTRAP_DAYS } from '../domain/bootstrap.ts'
import { PUSH_DAYS_AT_REST } from '../domain/push.ts'
import { DAYS_AT_REST } from '../domain/webhook.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { deleteOverSessions } from '../flow/people/sessions.ts'

/** Months for which the quota counters are kept, including the current one. */
const MONTHS_KEPT = 13

const DAY_MS = 86_400_000

/** Longer than any create lasts, whose attachments are written before its request. */
const UNCLAIMED_MS = 3_600_000

/**
 * Removes what is no longer needed: sessions that are over, counters of months long past, secrets that sign nothing any
 * more, attachments whose request was not made, deliveries and pushes that have rested for long, removed browsers, and old bootstraps. The store's TTL indexes
 * remove what merely expires (challenges, links). A step that fails does not stop the others.
 * @throws the error of the first step that failed
 */
export async function cleanUp(deps: FlowDeps): Promise<void> {
  const now = deps.clock.now()
  const daysAgo = (days: number) => new Date(now.getTime() - days * DAY_MS)
  const oldest = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - (MONTHS_KEPT - 1), 1))
  const steps: (() => Promise<unknown>)[] = [
    () => deleteOverSessions(deps),
    () => deps.attachments.sweep(new Date(now.getTime() - UNCLAIMED_MS)),
    () => deps.quotas.prune(oldest.toISOString().slice(0, 7)),
    () => deps.webhooks.forgetPreviousSecrets(now),
    () => deps.pushDevices.deleteRemoved(),
    () => deps.pushes.deleteRested(daysAgo(PUSH_DAYS_AT_REST)),
    () => deps.deliveries.deleteRested(daysAgo(DAYS_AT_REST)),
    () => deps.bootstraps.deleteOld(daysAgo(BOOTSTRAP_DAYS)),
  ]
  const failures: unknown[] = []
  for (const step of steps) await step().catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}
