import type { AuditEntry } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import type { User } from '../../domain/user.ts'
import type { UserChange } from '../../store/users.ts'
import type { PeopleDeps } from './people-deps.ts'

/** Lost races in a row before giving up. */
const MAX_ATTEMPTS = 16

/**
 * Changes a person by one conditional write, decided anew on fresh data whenever somebody else was faster.
 * @param plan what to write; its refusals pass through
 * @throws Refusal `unavailable` after too many lost races, `not_found` when the person is gone
 */
export async function changeUser(
  deps: Pick<PeopleDeps, 'users'>,
  userId: string,
  plan: (user: User) => { fields: UserChange; audit: AuditEntry[] },
): Promise<User> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const user = await deps.users.find(userId)
    if (user === undefined) throw refusal('not_found')
    const { fields, audit } = plan(user)
    const changed = await deps.users.change(userId, user.version, fields, audit)
    if (changed !== undefined) return changed
  }
  throw refusal('unavailable')
}
