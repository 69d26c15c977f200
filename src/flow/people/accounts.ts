import { type Account, may, type Permission, roleIn } from '../../domain/account.ts'
import type { AuditActor } from '../../domain/audit.ts'
import { type Authenticators, narrower } from '../../domain/authenticator.ts'
import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { isId } from '../../domain/identifier.ts'
import { openRecovery, type User } from '../../domain/user.ts'
import type { Access, Memberships } from '../../domain/views.ts'
import type { FlowDeps, PeopleDeps } from '../deps.ts'
import type { SignedIn } from './sessions.ts'

/** Who manages an account's webhooks and open requests. */
export interface Owner {
  accountId: string
  actor: AuditActor
}

/**
 * Reads the account, if the person's role there allows `what`; without an id, the person's own account.
 * @throws Refusal `not_found`: malformed, unknown and foreign ids, and a role that does not allow it, answer alike (T55)
 */
export async function accessTo(
  deps: PeopleDeps,
  person: Pick<User, 'id' | 'account_id'>,
  what: Permission,
  accountId: string = person.account_id,
): Promise<Access> {
  const account = isId('acc', accountId) ? await deps.accounts.find(accountId) : undefined
  const role = account === undefined ? undefined : roleIn(account, person.id)
  if (account === undefined || role === undefined || !may(role, what)) throw refusal('not_found')
  return { account, role }
}

/**
 * Checks access before a long read of an account.
 * @returns a check for between its steps: it throws when the person may no longer read, or no longer in the same role
 * @throws Refusal `not_found` as `accessTo`; later also `not_signed_in`, and `unavailable` when the service stops
 */
export async function exportGuard(
  deps: FlowDeps,
  { session, user }: SignedIn,
  accountId?: string,
): Promise<() => Promise<void>> {
  const { role } = await accessTo(deps, user, 'read_own', accountId)
  return async () => {
    if (deps.changes.stopped()) throw refusal('unavailable')
    if ((await accessTo(deps, user, 'read_own', accountId)).role !== role) throw refusal('not_found')
    if ((await deps.sessions.findLive(session.id, deps.clock.now())) === undefined)
      throw refusal('not_signed_in')
  }
}

/** Lists every account in which the person has a role. The account whose invitation made them leads the list, else their own. */
export async function accountsOf(
  deps: PeopleDeps,
  person: Pick<User, 'id' | 'account_id' | 'home_account_id'>,
): Promise<Access[]> {
  return openTo(person, await deps.accounts.ofPerson(person.id))
}

/** Picks the accounts in which the person has a role, in the order of `accountsOf`. */
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

/** Invitations shown at once. A limit is needed because any owner may invite any address. */
const MOST_INVITATIONS = 50

/** Reads the person's accounts and open invitations in one query. */
export async function membershipsOf(deps: PeopleDeps, person: User): Promise<Memberships> {
  const found = await deps.accounts.ofPerson(person.id)
  const invitations = found
    .flatMap((account) =>
      account.members
        .filter(({ user_id, state }) => user_id === person.id && state === 'invited')
        .map((member) => ({ account, member })),
    )
    .sort((a, b) => b.member.invited_at.getTime() - a.member.invited_at.getTime())
  const accounts = openTo(person, found)
  const offer = openRecovery(person, deps.clock.now())
  const account = accounts.find(({ account: { id } }) => id === offer?.account_id)?.account
  const recovery = offer && account && { ...offer, account }
  return { accounts, invitations: invitations.slice(0, MOST_INVITATIONS), ...given({ recovery }) }
}

/** Returns which authenticators the person's own account counts, when something is confirmed for that account. */
export async function ownRule(
  deps: PeopleDeps,
  { account_id }: Pick<User, 'account_id'>,
): Promise<Authenticators | undefined> {
  return (await deps.accounts.find(account_id))?.policy.authenticators
}

/**
 * Returns what a new passkey must satisfy: the rules of the person's own account, of the one that made them as long as they
 * belong to it, and of the one whose invitation they follow. Other accounts choose what counts for decisions there, but have
 * no say in what a person signs in with.
 */
export async function enrollingRule(
  deps: PeopleDeps,
  person: Pick<User, 'id' | 'account_id' | 'home_account_id'>,
  invitedTo?: string,
): Promise<Authenticators | undefined> {
  const { id, account_id, home_account_id: home } = person
  const wanted = [...new Set([account_id, home, invitedTo])].flatMap((one) => one ?? [])
  const found = await Promise.all(wanted.map((one) => deps.accounts.find(one)))
  return found
    .filter((account) => account !== undefined)
    .filter((account) => account.id === invitedTo || roleIn(account, id) !== undefined)
    .map(({ policy }) => policy.authenticators)
    .reduce(narrower, undefined)
}

/** Returns the combined rule of all accounts in which the person decides. */
export async function decidingRule(
  deps: PeopleDeps,
  person: Pick<User, 'id' | 'account_id' | 'home_account_id'>,
): Promise<Authenticators | undefined> {
  const open = await accountsOf(deps, person)
  return open
    .filter(({ role }) => may(role, 'decide'))
    .map(({ account }) => account.policy.authenticators)
    .reduce(narrower, undefined)
}
