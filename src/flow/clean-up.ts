import type { FlowDeps } from './deps.ts'
import { deleteOverSessions, type EndDeps } from './people/end-sessions.ts'

/** Months for which the quota counters are kept, the running one included. */
const MONTHS_KEPT = 13

/**
 * Removes what nobody needs any more: sessions that are over, and counters of months long past. What merely expires
 * (challenges, links, idempotency keys) the store's TTL indexes remove.
 */
export async function cleanUp(deps: EndDeps & Pick<FlowDeps, 'quotas'>): Promise<void> {
  await deleteOverSessions(deps)
  const now = deps.clock.now()
  const oldest = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - (MONTHS_KEPT - 1), 1))
  await deps.quotas.prune(oldest.toISOString().slice(0, 7))
}
