import { type Account, roleIn } from '../../domain/account.ts'
import { foldText } from '../../domain/search.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps, PeopleDeps } from '../deps.ts'

/**
 * Returns the names of people in the account, by the reference that stands for them in receipts, if the person who asks
 * belongs to the account as well. For all others a reference stays a reference.
 */
export async function namesByReference(
  deps: PeopleDeps,
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

/** Reads the owner and the members, without those who were only invited. */
export function peopleOf({ users }: PeopleDeps, { owner_id, members }: Account): Promise<User[]> {
  const active = members.filter(({ state }) => state === 'active')
  return users.findMany([owner_id, ...active.map(({ user_id }) => user_id)])
}

/** Returns the ids of the account's people and API keys whose names fit, ignoring case. */
export async function idsByName(
  deps: FlowDeps,
  account: Account,
  fits: (folded: string) => boolean,
): Promise<Set<string>> {
  const [people, keys] = await Promise.all([peopleOf(deps, account), deps.apiKeys.list(account.id)])
  return new Set([...people, ...keys].filter(({ name }) => fits(foldText(name))).map(({ id }) => id))
}
