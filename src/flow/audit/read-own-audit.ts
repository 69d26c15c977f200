import type { AuditRecord, AuditType } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'

/** Which part of the trail. */
export interface AuditQuery {
  type?: AuditType
  subject?: string
  /** Exclusive: only records with a smaller number. */
  before?: number
  limit: number
}

/**
 * What the trail tells of the account of this person, newest first.
 * @throws Refusal `not_found` for anybody but its owner
 */
export async function readOwnAudit(
  deps: Pick<FlowDeps, 'accounts' | 'trail'>,
  { id, account_id }: User,
  query: AuditQuery,
): Promise<{ records: AuditRecord[]; more: boolean }> {
  const account = await deps.accounts.find(account_id)
  if (account?.owner_id !== id) throw refusal('not_found')
  // One more than asked for tells whether there is a next page.
  const found = await deps.trail.list({ ...query, account_id, limit: query.limit + 1 })
  return { records: found.slice(0, query.limit), more: found.length > query.limit }
}
