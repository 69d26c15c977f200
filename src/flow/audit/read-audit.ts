import type { AuditRecord } from '../../domain/audit.ts'
import type { User } from '../../domain/user.ts'
import { type AuditDeps, type AuditPosition, type AuditQuery, positionOf, walkAudit } from './walk-audit.ts'

/** Records looked at at most for one page: a rare word must not cost a whole trail. */
const MOST_LOOKED_AT = 10_000

/**
 * A page of what the trail tells of an account, newest first. It can hold fewer than `limit` and not be the last one: a search
 * looks at so many records only.
 * @throws Refusal `not_found` for malformed, unknown and foreign accounts
 */
export async function readAudit(
  deps: AuditDeps,
  person: User,
  query: AuditQuery & { limit: number },
): Promise<{ records: AuditRecord[]; next: AuditPosition | undefined }> {
  const { limit } = query
  const found: AuditRecord[] = []
  let looked = 0
  let next: AuditPosition | undefined
  // One more than asked for tells whether there is a next page.
  for await (const batch of walkAudit(deps, person, query, limit + 1)) {
    found.push(...batch.records)
    looked += batch.looked
    next = batch.next
    if (found.length > limit || looked >= MOST_LOOKED_AT) break
  }
  const records = found.slice(0, limit)
  return { records, next: found.length > limit ? positionOf(records.at(-1), query) : next }
}
