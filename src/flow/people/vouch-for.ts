import type { AuditActor } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import { isVouchedFor, normaliseEmail, type User } from '../../domain/user.ts'
import { changeUser } from './change-user.ts'
import { personAudit } from './people-audit.ts'
import type { PeopleDeps } from './people-deps.ts'

/**
 * The operator's word that whoever enrolled under this address is that person: from now on the internal token and agents that
 * ask for a key reach them by it.
 * @throws Refusal `not_found`
 */
export async function vouchFor(
  deps: Pick<PeopleDeps, 'users' | 'random' | 'clock'>,
  address: string,
  actor: AuditActor,
): Promise<User> {
  const email = normaliseEmail(address)
  const user = email === undefined ? undefined : await deps.users.findByEmail(email)
  if (user === undefined) throw refusal('not_found')
  if (isVouchedFor(user)) return user
  return changeUser(deps, user.id, (person) => ({
    fields: { invited_by_account: null },
    audit: [personAudit(deps, 'user.changed', person, { actor, detail: { confirmed: true } })],
  }))
}
