import type { Account, Member } from '../../domain/account.ts'
import type { AuditActor, AuditEntry, AuditType } from '../../domain/audit.ts'
import { drawId } from '../../domain/identifier.ts'
import type { FlowDeps } from '../deps.ts'

/**
 * An entry of the account's trail about somebody in it; it travels in the account's document. What an owner changes about
 * somebody who has not accepted is marked `invited`: it is no matter of theirs yet.
 */
export function memberAudit(
  deps: Pick<FlowDeps, 'random' | 'clock'>,
  type: AuditType & `member.${string}`,
  account: Pick<Account, 'id'>,
  { user_id, role, state }: Pick<Member, 'user_id' | 'role' | 'state'>,
  actor: AuditActor,
): AuditEntry {
  const at = deps.clock.now()
  const early = state === 'invited' && (type === 'member.changed' || type === 'member.removed')
  const detail = { role, ...(early ? { invited: true } : {}) }
  const about = { account_id: account.id, subject: user_id, detail }
  return { eid: drawId(deps, 'evt'), type, at, actor, ...about }
}
