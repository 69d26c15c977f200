import { type Account, roleIn } from '../../domain/account.ts'
import { foldText } from '../../domain/search.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'

/**
 * What people are called who belong to the account, by the reference that stands for them in receipts: for those alone who
 * belong to it, too. To all others a reference stays a reference.
 */
export async function namesByReference(
  deps: Pick<FlowDeps, 'users' | 'accounts'>,
  person: Pick<User, 'id'>,
  accountId: string,
  references: Iterable<string>,
): Promise<Record<string, string>> {
  const wanted = new Set(references)
  const account = wanted.size === 0 ? undefined : await deps.accounts.find(accountId)
  if (account === undefined || roleIn(account, person.id) === undefined) return {}
  const people = (await peopleOf(deps, account)).filter(({ approver }) => wanted.has(approver))
  return Object.fromEntries(people.map(({ approver, name }) => [approver, name]))
}

/** Owner and members, without those who were only invited. */
function peopleOf({ users }: Pick<FlowDeps, 'users'>, { owner_id, members }: Account): Promise<User[]> {
  const active = members.filter(({ state }) => state === 'active')
  return users.findMany([owner_id, ...active.map(({ user_id }) => user_id)])
}

/** Ids of the people and API keys of the account whose names a text fits, in any case. */
export async function idsByName(
  deps: Pick<FlowDeps, 'users' | 'apiKeys'>,
  account: Account,
  fits: (folded: string) => boolean,
): Promise<Set<string>> {
  const [people, keys] = await Promise.all([peopleOf(deps, account), deps.apiKeys.list(account.id)])
  return new Set([...people, ...keys].filter(({ name }) => fits(foldText(name))).map(({ id }) => id))
}
