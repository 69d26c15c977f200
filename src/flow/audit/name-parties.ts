import type { AuditRecord } from '../../domain/audit.ts'
import { isId } from '../../domain/identifier.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'

/**
 * What the people and API keys in these records are called now, by id. Names are no part of the trail, which keeps what
 * was, so they are looked up for whoever may read the records; keys of other accounts stay without one.
 */
export async function nameParties(
  deps: Pick<FlowDeps, 'users' | 'apiKeys'>,
  { account_id }: Pick<User, 'account_id'>,
  records: readonly AuditRecord[],
  account: string = account_id,
): Promise<Record<string, string>> {
  const ids = new Set(records.flatMap(idsIn))
  const people = [...ids].filter((id) => isId('usr', id))
  const someKey = [...ids].some((id) => isId('key', id))
  const [users, keys] = await Promise.all([
    people.length === 0 ? [] : deps.users.findMany(people),
    someKey ? deps.apiKeys.list(account) : [],
  ])
  const named = [...users, ...keys.filter(({ id }) => ids.has(id))]
  return Object.fromEntries(named.map(({ id, name }) => [id, name]))
}

function idsIn({ entry }: AuditRecord): string[] {
  if (entry === undefined) return []
  const { actor, subject, detail = {} } = entry
  const facts = Object.values(detail).filter((value) => typeof value === 'string')
  return ['id' in actor ? actor.id : '', subject, ...facts]
}
