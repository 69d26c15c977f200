import { roleIn } from '../../domain/account.ts'
import type { AuditRecord } from '../../domain/audit.ts'
import { isId } from '../../domain/identifier.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'

/**
 * Details that hold an id, or several with spaces between. Nothing else is looked up: a text that somebody chose could be the
 * id of a stranger.
 */
const ID_DETAILS = ['user_id', 'recipient', 'delegate', 'on_behalf_of', 'key_id', 'approvers']

/**
 * What the people and API keys in these records are called now, by id. Names are no part of the trail, which keeps what
 * was, so they are looked up for whoever may read the records. Keys of other accounts stay without one, and so does whoever
 * is not in the account: what they call themself they tell by accepting. Somebody invited has the name the owner gave them.
 */
export async function nameParties(
  deps: Pick<FlowDeps, 'users' | 'apiKeys' | 'accounts'>,
  { account_id }: Pick<User, 'account_id'>,
  records: readonly AuditRecord[],
  accountId: string = account_id,
): Promise<Record<string, string>> {
  const ids = new Set(records.flatMap(idsIn))
  const account = [...ids].some((id) => isId('usr', id)) ? await deps.accounts.find(accountId) : undefined
  const inside = account === undefined ? [] : [...ids].filter((id) => roleIn(account, id) !== undefined)
  const invited = (account?.members ?? []).flatMap(({ user_id, state, name }) =>
    state === 'invited' && ids.has(user_id) && name !== undefined ? [{ id: user_id, name }] : [],
  )
  const someKey = [...ids].some((id) => isId('key', id))
  const [users, keys] = await Promise.all([
    inside.length === 0 ? [] : deps.users.findMany(inside),
    someKey ? deps.apiKeys.list(accountId) : [],
  ])
  const named = [...users, ...invited, ...keys.filter(({ id }) => ids.has(id))]
  return Object.fromEntries(named.map(({ id, name }) => [id, name]))
}

function idsIn({ entry }: AuditRecord): string[] {
  if (entry === undefined) return []
  const { actor, subject, detail = {} } = entry
  const facts = ID_DETAILS.flatMap((name) => {
    const value = detail[name]
    return typeof value === 'string' ? value.split(' ') : []
  })
  return ['id' in actor ? actor.id : '', subject, ...facts]
}
