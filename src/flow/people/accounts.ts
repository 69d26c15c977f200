import { type Account, type Member, may, type Permission, type Role, roleIn } from '../../domain/account.ts'
import type { AuditEntry } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import { isId } from '../../domain/identifier.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'

type AccessDeps = Pick<FlowDeps, 'accounts'>

/** An account, and what the person is in it. */
export interface Access {
  account: Account
  role: Role
}

/**
 * The account for a person who may do that in it; without an id, their own.
 * @throws Refusal `not_found`: malformed, unknown and foreign ids, and what the role does not allow, answer alike (T55)
 */
export async function accessTo(
  deps: AccessDeps,
  person: Pick<User, 'id' | 'account_id'>,
  what: Permission,
  accountId: string = person.account_id,
): Promise<Access> {
  const account = isId('acc', accountId) ? await deps.accounts.find(accountId) : undefined
  const role = account === undefined ? undefined : roleIn(account, person.id)
  if (account === undefined || role === undefined || !may(role, what)) throw refusal('not_found')
  return { account, role }
}

/** Every account in which the person is something: the one that invited them first, else their own first. */
export async function accountsOf(
  deps: AccessDeps,
  person: Pick<User, 'id' | 'account_id' | 'home_account_id'>,
): Promise<Access[]> {
  return openTo(person, await deps.accounts.ofPerson(person.id))
}

/** Those of the accounts in which the person is something, in the order of `accountsOf`. */
function openTo(
  person: Pick<User, 'id' | 'account_id' | 'home_account_id'>,
  found: readonly Account[],
): Access[] {
  const open = found.flatMap((account) => {
    const role = roleIn(account, person.id)
    return role === undefined ? [] : [{ account, role }]
  })
  const home = open.some(({ account }) => account.id === person.home_account_id)
    ? person.home_account_id
    : person.account_id
  return open.sort((a, b) => Number(b.account.id === home) - Number(a.account.id === home))
}

/** Where a person is something, and where they are asked to be. */
export interface Memberships {
  accounts: Access[]
  /** The latest first. */
  invitations: { account: Account; member: Member }[]
}

/** Invitations shown at once: any owner may invite any address. */
const MOST_INVITATIONS = 50

/** Both by one look at the store. */
export async function membershipsOf(deps: Pick<FlowDeps, 'accounts'>, person: User): Promise<Memberships> {
  const found = await deps.accounts.ofPerson(person.id)
  const invitations = found
    .flatMap((account) =>
      account.members
        .filter(({ user_id, state }) => user_id === person.id && state === 'invited')
        .map((member) => ({ account, member })),
    )
    .sort((a, b) => b.member.invited_at.getTime() - a.member.invited_at.getTime())
  return { accounts: openTo(person, found), invitations: invitations.slice(0, MOST_INVITATIONS) }
}

/** What an account's document may be given in one write. */
interface AccountPlan {
  fields: Partial<Pick<Account, 'name' | 'policy' | 'members'>>
  audit: AuditEntry[]
}

/** Lost races in a row before giving up. */
const MAX_ATTEMPTS = 16

/**
 * Changes an account by one conditional write; when another process was faster, it is decided again on fresh data.
 * @param plan what to write; undefined: nothing is to be done. Its refusals pass through
 * @throws Refusal `unavailable` after too many lost races, `not_found` when there is no such account
 */
export async function changeAccount(
  deps: Pick<FlowDeps, 'accounts'>,
  accountId: string,
  plan: (account: Account) => AccountPlan | undefined | Promise<AccountPlan | undefined>,
): Promise<Account> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const account = await deps.accounts.find(accountId)
    if (account === undefined) throw refusal('not_found')
    const planned = await plan(account)
    if (planned === undefined) return account
    const changed = await deps.accounts.change(account.id, account.version, planned.fields, planned.audit)
    if (changed !== undefined) return changed
  }
  throw refusal('unavailable')
}
