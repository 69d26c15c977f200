import { type Decider, isNamed } from '../../domain/eligibility.ts'
import { may, roleIn } from '../../domain/permission.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { factorsOf, type User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { accountsOf } from './account-access.ts'

type StandInDeps = Pick<FlowDeps, 'users' | 'accounts' | 'clock'>

/**
 * The person as somebody who wants to decide on this request: with those for whom they stand in now. A delegate must
 * themself be somebody who decides in that account, or an approver could hand the account's say to an outsider.
 */
export async function deciderFor(
  deps: StandInDeps,
  person: User,
  request: Pick<ApprovalRequest, 'account_id' | 'requirement'>,
): Promise<Decider> {
  const decider = { user_id: person.id, ...factorsOf(person) }
  if (isNamed(request, person.id)) return decider
  const principals = await deps.users.principalsOf(person.id, deps.clock.now())
  const named = principals.filter(({ id }) => isNamed(request, id)).map(({ id }) => id)
  if (named.length === 0) return decider
  const account = await deps.accounts.find(request.account_id)
  const role = account && roleIn(account, person.id)
  return may(role, 'decide') ? { ...decider, stands_in_for: named } : decider
}

/** Whose requests wait for a person: their own, and in the accounts where they decide those of whom they stand in for. */
export interface Waiter {
  user_id: string
  principals: readonly string[]
  /** Where they may act for those. */
  accounts: readonly string[]
}

/** As `deciderFor`, for everything that waits at once. */
export async function waiterFor(
  deps: StandInDeps,
  person: Pick<User, 'id' | 'account_id' | 'home_account_id'>,
): Promise<Waiter> {
  const principals = await deps.users.principalsOf(person.id, deps.clock.now())
  if (principals.length === 0) return { user_id: person.id, principals: [], accounts: [] }
  const open = await accountsOf(deps, person)
  const accounts = open.filter(({ role }) => may(role, 'decide')).map(({ account }) => account.id)
  return { user_id: person.id, principals: principals.map(({ id }) => id), accounts }
}
