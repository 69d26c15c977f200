import type { AuditActor, AuditEntry, AuditType } from '../../domain/audit.ts'
import { ID_BYTES, newId } from '../../domain/identifier.ts'
import type { User } from '../../domain/user.ts'
import type { PeopleDeps } from './people-deps.ts'

/** Makes an audit entry about a person; by the person, unless somebody else is named. */
export function personAudit(
  deps: Pick<PeopleDeps, 'random' | 'clock'>,
  type: AuditType,
  user: Pick<User, 'id'> & Partial<Pick<User, 'account_id'>>,
  more: { actor?: AuditActor; address?: string; subject?: string; detail?: AuditEntry['detail'] } = {},
): AuditEntry {
  const self: AuditActor = {
    kind: 'user',
    id: user.id,
    ...(more.address === undefined ? {} : { address: more.address }),
  }
  return {
    eid: newId('evt', deps.random.bytes(ID_BYTES)),
    type,
    at: deps.clock.now(),
    actor: more.actor ?? self,
    ...(user.account_id === undefined ? {} : { account_id: user.account_id }),
    subject: more.subject ?? user.id,
    ...(more.detail === undefined ? {} : { detail: more.detail }),
  }
}
