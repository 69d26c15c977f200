import type { AuditRecord } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import type { FlowDeps } from '../deps.ts'
import { accessTo } from '../people/accounts.ts'
import type { SignedIn } from '../people/sessions.ts'
import { type AuditDeps, type AuditQuery, walkAudit } from './walk-audit.ts'

/** Records read at once: what is held in memory, whatever the length of the trail. */
const BATCH = 500

/**
 * Everything the trail tells of an account that fits, newest first, one batch after the other as they are consumed. Before each
 * of them it is asked anew whether the person may.
 * @throws Refusal `not_found` for malformed, unknown and foreign accounts, `not_signed_in` when the session ended meanwhile,
 * `unavailable` when the service stops
 */
export async function* exportAudit(
  deps: AuditDeps & Pick<FlowDeps, 'sessions' | 'clock' | 'changes'>,
  { session, user }: SignedIn,
  query: AuditQuery,
): AsyncGenerator<AuditRecord[], void, undefined> {
  const { role } = await accessTo(deps, user, 'read_own', query.account)
  for await (const { records } of walkAudit(deps, user, query, BATCH)) {
    if (records.length > 0) yield records
    if (deps.changes.stopped()) throw refusal('unavailable')
    const now = await accessTo(deps, user, 'read_own', query.account)
    if (now.role !== role) throw refusal('not_found')
    if ((await deps.sessions.findLive(session.id, deps.clock.now())) === undefined)
      throw refusal('not_signed_in')
  }
}
