import { type Account, may, type Role } from '../domain/account.ts'
import { drawId } from '../domain/identifier.ts'
import { type Month, monthAt } from '../domain/limits.ts'
import type { User } from '../domain/user.ts'
import type { FlowDeps } from './deps.ts'
import { accessTo, changeAccount } from './people/accounts.ts'
import { type PolicyView, readPolicy } from './people/policy.ts'

type ViewDeps = Pick<FlowDeps, 'accounts' | 'users' | 'quotas' | 'clock'>

/** An account as a person in it may see it. */
export interface AccountView {
  account: Account
  role: Role
  owner: User
  /** Requests made this month. */
  used: number
  month: Month
  /** For its owner alone. */
  policy?: PolicyView
}

/** @throws Refusal `not_found` for malformed, unknown and foreign accounts */
export async function viewAccount(deps: ViewDeps, person: User, wanted?: string): Promise<AccountView> {
  const { account, role } = await accessTo(deps, person, 'read_own', wanted)
  const month = monthAt(deps.clock.now())
  const [owner, used, policy] = await Promise.all([
    deps.users.find(account.owner_id),
    deps.quotas.used(account.id, month.name),
    may(role, 'manage') ? readPolicy(deps, account) : undefined,
  ])
  if (owner === undefined) throw new Error(`account ${account.id} has no owner`)
  return { account, role, owner, used, month, ...(policy === undefined ? {} : { policy }) }
}

/**
 * Gives the person's own account another name: for requests made from now on.
 * @throws Refusal `not_found` unless the person manages it
 */
export async function renameAccount(
  deps: ViewDeps & Pick<FlowDeps, 'random'>,
  person: User,
  name: string,
  address: string,
): Promise<AccountView> {
  await accessTo(deps, person, 'manage')
  await changeAccount(deps, person.account_id, (account) => {
    if (account.name === name) return undefined
    const entry = {
      eid: drawId(deps, 'evt'),
      type: 'account.changed',
      at: deps.clock.now(),
      actor: { kind: 'user', id: person.id, address },
      account_id: account.id,
      subject: account.id,
      detail: { name },
    } as const
    return { fields: { name }, audit: [entry] }
  })
  return viewAccount(deps, person)
}
