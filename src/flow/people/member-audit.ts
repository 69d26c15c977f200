import type { Account, Member } from '../../domain/account.ts'
import type { AuditActor, AuditEntry, AuditType } from '../../domain/audit.ts'
import { drawId, type FlowDeps } from '../deps.ts'

/** An entry of the account's trail about somebody in it; it travels in the account's document. */
export function memberAudit(
  deps: Pick<FlowDeps, 'random' | 'clock'>,
  type: AuditType & `member.${string}`,
  account: Pick<Account, 'id'>,
  { user_id, role }: Pick<Member, 'user_id' | 'role'>,
  actor: AuditActor,
): AuditEntry {
  const at = deps.clock.now()
  const about = { account_id: account.id, subject: user_id, detail: { role } }
  return { eid: drawId(deps, 'evt'), type, at, actor, ...about }
}
