import { may, roleIn } from '../../domain/account.ts'
import { type Decider, isNamed, whoseVote } from '../../domain/eligibility.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { factorsOf, type User } from '../../domain/user.ts'
import type { Waiter } from '../../store/requests.ts'
import type { FlowDeps } from '../deps.ts'
import { accountsOf } from './account-access.ts'

type StandInDeps = Pick<FlowDeps, 'users' | 'accounts' | 'clock'>

/**
 * The person as somebody who wants to decide on this request: with those for whom they stand in now. A delegate must
 * themself be somebody who decides in that account, or an approver could hand the account's say to an outsider.
 */
export async function deciderFor(deps: StandInDeps, person: User, request: Asked): Promise<Decider> {
  return (await decidersFor(deps, person, [request]))(request)
}

type Asked = Pick<ApprovalRequest, 'account_id' | 'requirement'>

/** As `deciderFor`, for many requests that were read together: one look at whom they stand in for, one at each account. */
export async function decidersFor(
  deps: StandInDeps,
  person: User,
  requests: readonly Asked[],
): Promise<(request: Asked) => Decider> {
  const decider = { user_id: person.id, ...factorsOf(person) }
  const foreign = requests.filter((request) => !isNamed(request, person.id))
  if (foreign.length === 0) return () => decider
  const principals = await deps.users.principalsOf(person.id, deps.clock.now())
  const namedIn = (request: Asked) => principals.filter(({ id }) => isNamed(request, id)).map(({ id }) => id)
  const wanted = foreign.filter((request) => namedIn(request).length > 0)
  const open = await whereTheyDecide(deps, person, new Set(wanted.map(({ account_id }) => account_id)))
  return (request) => {
    if (isNamed(request, person.id) || !open.has(request.account_id)) return decider
    const named = namedIn(request)
    return named.length === 0 ? decider : { ...decider, stands_in_for: named }
  }
}

async function whereTheyDecide(
  deps: Pick<FlowDeps, 'accounts'>,
  person: Pick<User, 'id'>,
  accountIds: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const found = await Promise.all([...accountIds].map((id) => deps.accounts.find(id)))
  const open = found.flatMap((account) =>
    account !== undefined && may(roleIn(account, person.id), 'decide') ? [account.id] : [],
  )
  return new Set(open)
}

/**
 * What a request is to a person: they are named, acted, or stand in now for somebody named. `principalId`: whose vote theirs
 * is, or would be, when it is not their own; of whom they stand in for, somebody even when all have been counted.
 * @returns undefined when it does not concern them
 */
export async function partIn(
  deps: StandInDeps,
  person: User,
  request: ApprovalRequest,
): Promise<{ principalId?: string } | undefined> {
  if (isNamed(request, person.id)) return {}
  const own = request.votes.find(({ user_id }) => user_id === person.id)
  if (own !== undefined) return { principalId: own.on_behalf_of }
  const decider = await deciderFor(deps, person, request)
  const principalId = whoseVote(request, decider)?.user_id ?? decider.stands_in_for?.[0]
  return principalId === undefined ? undefined : { principalId }
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
