import { BOOTSTRAP_DAYS } from '../domain/bootstrap.ts'
import { PUSH_DAYS_AT_REST } from '../domain/push.ts'
import { DAYS_AT_REST } from '../domain/webhook.ts'
import type { FlowDeps } from './deps.ts'
import { deleteOverSessions, type EndDeps } from './people/sessions.ts'

type CleanUpDeps = EndDeps &
  Pick<FlowDeps, 'quotas' | 'webhooks' | 'deliveries' | 'bootstraps' | 'pushes' | 'pushDevices'>

/** Months for which the quota counters are kept, the running one included. */
const MONTHS_KEPT = 13

const DAY_MS = 86_400_000

/** Documents deleted in one go. */
const BATCH = 500

/**
 * Removes what is no longer needed: sessions that are over, counters of months long past, secrets that sign nothing any
 * more, deliveries and pushes that have rested for long, removed browsers, and old bootstraps. What merely expires (challenges, links, idempotency keys) the store's TTL
 * indexes remove.
 */
export async function cleanUp(deps: CleanUpDeps): Promise<void> {
  await deleteOverSessions(deps)
  const now = deps.clock.now()
  const oldest = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - (MONTHS_KEPT - 1), 1))
  await deps.quotas.prune(oldest.toISOString().slice(0, 7))
  await deps.webhooks.forgetPreviousSecrets(now)
  await deps.pushDevices.deleteRemoved()
  await deleteOldPushes(deps, new Date(now.getTime() - PUSH_DAYS_AT_REST * DAY_MS))
  await deleteOldDeliveries(deps, new Date(now.getTime() - DAYS_AT_REST * DAY_MS))
  await deleteOldBootstraps(deps, new Date(now.getTime() - BOOTSTRAP_DAYS * DAY_MS))
}

async function deleteOldBootstraps({ bootstraps }: CleanUpDeps, before: Date): Promise<void> {
  let deleted: number
  do deleted = await bootstraps.deleteOld(before, BATCH)
  while (deleted === BATCH)
}

async function deleteOldPushes({ pushes }: CleanUpDeps, before: Date): Promise<void> {
  let deleted: number
  do deleted = await pushes.deleteRested(before, BATCH)
  while (deleted === BATCH)
}

async function deleteOldDeliveries({ deliveries }: CleanUpDeps, before: Date): Promise<void> {
  let deleted: number
  do deleted = await deliveries.deleteRested(before, BATCH)
  while (deleted === BATCH)
}
