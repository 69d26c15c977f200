import { may, roleIn } from '../../domain/account.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { standsIn } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'

type WhomDeps = Pick<FlowDeps, 'users' | 'accounts'>

/**
 * Whom a pending request waits for at `at`: everybody named whose vote is missing, and whoever stands in for one of them
 * and decides in that account (`deciderFor` says the same of one person). Nobody who has voted, for whomever, is asked again.
 * @returns user ids
 */
export async function whomToPush(deps: WhomDeps, request: ApprovalRequest, at: Date): Promise<string[]> {
  const counted = new Set(request.votes.map(({ on_behalf_of }) => on_behalf_of))
  const acted = new Set(request.votes.map(({ user_id }) => user_id))
  const named = request.requirement.approvers.map(({ user_id }) => user_id)
  const missing = named.filter((id) => !counted.has(id))
  const people = missing.length === 0 ? [] : await deps.users.findMany(missing)
  const delegates = people.flatMap(({ delegate }) =>
    delegate !== undefined && standsIn(delegate, at) && !named.includes(delegate.user_id)
      ? [delegate.user_id]
      : [],
  )
  const account = delegates.length === 0 ? undefined : await deps.accounts.find(request.account_id)
  const able = delegates.filter((id) => account !== undefined && may(roleIn(account, id), 'decide'))
  return [...new Set([...missing, ...able])].filter((id) => !acted.has(id))
}
