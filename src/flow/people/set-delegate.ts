import { may, roleIn } from '../../domain/account.ts'
import type { AuditEntry } from '../../domain/audit.ts'
import { invalidField } from '../../domain/errors.ts'
import type { User } from '../../domain/user.ts'
import { type Delegate, MAX_DELEGATION_DAYS } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { accountsOf } from './account-access.ts'
import { changeUser } from './change-user.ts'
import { personAudit } from './people-audit.ts'
import type { PeopleDeps } from './people-deps.ts'
import type { SignedIn } from './read-session.ts'
import { type Proof, proveFactor } from './step-up.ts'

/** Whom somebody asks to decide for them, and until when. */
export interface StandIn {
  user: User
  starts_at: Date
  ends_at: Date
}

const DAY_MS = 86_400_000

/** Who could stand in for the person: everybody who decides in an account where the person does. Ordered by e-mail address. */
export async function delegateCandidates(
  deps: Pick<FlowDeps, 'users' | 'accounts'>,
  person: User,
): Promise<User[]> {
  const open = await accountsOf(deps, person)
  const deciders = open
    .filter(({ role }) => may(role, 'decide'))
    .flatMap(({ account: { owner_id, members } }) => [
      owner_id,
      ...members
        .filter(({ state, role }) => state === 'active' && may(role, 'decide'))
        .map(({ user_id }) => user_id),
    ])
  const others = [...new Set(deciders)].filter((id) => id !== person.id)
  const found = others.length === 0 ? [] : await deps.users.findMany(others)
  return found.sort((a, b) => (a.email < b.email ? -1 : 1))
}

/**
 * Has somebody decide for the person for a while; whoever did before does no more.
 * @throws Refusal `invalid_field` (strangers and unknown ids alike), and those of `proveFactor`
 */
export async function setDelegate(
  deps: PeopleDeps,
  who: SignedIn,
  { delegate, proof }: { delegate: Delegate; proof: Proof | undefined },
  address: string,
): Promise<User> {
  checkTimes(delegate, deps.clock.now())
  const { user_id, starts_at, ends_at } = delegate
  const candidates = await delegateCandidates(deps, who.user)
  if (!candidates.some(({ id }) => id === user_id))
    throw invalidField('user_id', 'must be somebody else who decides in an account where you decide')
  await proveFactor(deps, who, { operation: 'delegate.change', target: user_id }, proof, address)
  const detail = {
    delegate: user_id,
    starts_at: starts_at.toISOString(),
    ends_at: ends_at.toISOString(),
  }
  const others = await sharedAccounts(deps, who.user, user_id)
  return changeUser(deps, who.user.id, (user) => ({
    fields: { delegate: { user_id, starts_at, ends_at } },
    audit: delegateAudit(deps, 'delegate.set', user, { address, detail, others }),
  }))
}

/** Nobody stands in for the person any more, from now on. Taking a right back needs no proof. */
export async function removeDelegate(deps: PeopleDeps, person: User, address: string): Promise<User> {
  if (person.delegate === undefined) return person
  const detail = { delegate: person.delegate.user_id }
  const others = await sharedAccounts(deps, person, detail.delegate)
  return changeUser(deps, person.id, (user) => ({
    fields: { delegate: null },
    audit: delegateAudit(deps, 'delegate.removed', user, { address, detail, others }),
  }))
}

/** Ids of the accounts besides the person's own in which both decide: there the delegate's votes count for the person. */
async function sharedAccounts(
  deps: Pick<FlowDeps, 'accounts'>,
  person: User,
  delegateId: string,
): Promise<string[]> {
  const open = await accountsOf(deps, person)
  return open
    .filter(({ account, role }) => {
      const theirs = roleIn(account, delegateId)
      return account.id !== person.account_id && may(role, 'decide') && may(theirs, 'decide')
    })
    .map(({ account }) => account.id)
}

/** One entry for the person's own trail and one for each account it concerns; where from is told in their own alone. */
function delegateAudit(
  deps: PeopleDeps,
  type: 'delegate.set' | 'delegate.removed',
  user: User,
  more: { address: string; detail: NonNullable<AuditEntry['detail']>; others: readonly string[] },
): AuditEntry[] {
  const { address, detail, others } = more
  const own = personAudit(deps, type, user, { address, detail })
  const elsewhere = others.map((account_id) =>
    personAudit(deps, type, { id: user.id, account_id }, { detail }),
  )
  return [own, ...elsewhere.map((entry) => ({ ...entry, at: own.at }))]
}

/** Who stands in for the person now or later; undefined when nobody does, or their time is over. */
export async function standInOf(
  deps: Pick<FlowDeps, 'users' | 'clock'>,
  { delegate }: Pick<User, 'delegate'>,
): Promise<StandIn | undefined> {
  if (delegate === undefined || delegate.ends_at <= deps.clock.now()) return undefined
  const user = await deps.users.find(delegate.user_id)
  return user && { user, starts_at: delegate.starts_at, ends_at: delegate.ends_at }
}

function checkTimes({ starts_at, ends_at }: Delegate, now: Date): void {
  if (ends_at <= starts_at) throw invalidField('ends_at', 'must be later than starts_at')
  if (ends_at <= now) throw invalidField('ends_at', 'must be in the future')
  if (ends_at.getTime() - starts_at.getTime() > MAX_DELEGATION_DAYS * DAY_MS)
    throw invalidField('ends_at', `must be at most ${MAX_DELEGATION_DAYS} days after starts_at`)
}
