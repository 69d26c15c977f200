import type { User } from '../../domain/user.ts'
import { changeUser } from './change-user.ts'
import { personAudit } from './people-audit.ts'
import type { PeopleDeps } from './people-deps.ts'

/** What people may change of themself without a proof: nothing that says who decides. */
export type ProfileChange = Partial<Pick<User, 'name' | 'default_ttl_seconds'>>

/** Writes what is given; nothing given, nothing written. */
export async function changeProfile(
  deps: Pick<PeopleDeps, 'users' | 'random' | 'clock'>,
  person: User,
  change: ProfileChange,
  address: string,
): Promise<User> {
  if (Object.keys(change).length === 0) return person
  return changeUser(deps, person.id, (user) => ({
    fields: change,
    audit: [personAudit(deps, 'user.changed', user, { address, detail: { ...change } })],
  }))
}
