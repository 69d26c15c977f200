import { may, roleIn } from '../../domain/account.ts'
import type { AuditActor, AuditEntry } from '../../domain/audit.ts'
import { type Decider, isNamed, whoseVote } from '../../domain/eligibility.ts'
import { invalidField } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { isHeldBy } from '../../domain/restore.ts'
import {
  type Delegate,
  factorsOf,
  isVouchedFor,
  MAX_DELEGATION_DAYS,
  standsIn,
  type User,
} from '../../domain/user.ts'
import type { StandIn } from '../../domain/views.ts'
import type { InboxScope } from '../../store/requests/requests.ts'
import type { FlowDeps, PeopleDeps } from '../deps.ts'
import { accountsOf } from './accounts.ts'
import { changeFresh, changeOwn, personAudit } from './person.ts'
import type { SignedIn } from './sessions.ts'
import { type Proof, proveFactor } from './step-up.ts'

const DAY_MS = 86_400_000

/** Lists who could stand in for the person: all who decide in an account where the person does. Ordered by e-mail address. */
export async function delegateCandidates(deps: PeopleDeps, person: User): Promise<User[]> {
  const open = await accountsOf(deps, person)
  const deciders = open
    .filter(({ role }) => may(role, 'decide'))
    .flatMap(({ account: { owner_id, members } }) => [
      owner_id,
      ...members
        .filter(({ state, role }) => state === 'active' && may(role, 'decide'))
        .map(({ user_id }) => user_id),
    ])
  const found = await deps.users.findMany(deciders.filter((id) => id !== person.id))
  return found.sort((a, b) => (a.email < b.email ? -1 : 1))
}

/**
 * Lets a delegate decide for the person for a while, in place of any earlier delegate.
 * @throws Refusal `invalid_field` (for strangers and unknown ids alike), and those of `proveFactor`
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
    throw invalidField('user_id', 'must be another person who decides in an account where you decide')
  await proveFactor(deps, who, { operation: 'delegate.change', target: user_id }, proof, address)
  const detail = {
    delegate: user_id,
    starts_at: starts_at.toISOString(),
    ends_at: ends_at.toISOString(),
  }
  const others = await sharedAccounts(deps, who.user, user_id)
  return changeOwn(deps, who, (user) => ({
    fields: { delegate: { user_id, starts_at, ends_at } },
    audit: delegateAudit(deps, 'delegate.set', user, { address, detail, others }),
  }))
}

/** Ends the delegation of the person's decisions, from now on. Taking a right back needs no proof. */
export function removeDelegate(deps: PeopleDeps, person: User, by: Changing): Promise<User> {
  return changeFresh(deps.users, person.id, (user) => withoutDelegate(deps, user, by))
}

/** Returns the fields and audit entries of the write that removes the person's delegate; undefined when there is none. */
export async function withoutDelegate(deps: PeopleDeps, person: User, by: Changing) {
  if (person.delegate === undefined) return undefined
  const detail = { delegate: person.delegate.user_id }
  // Accounts that cannot be read must not delay taking a right back; the person's own trail has the entry in any case.
  const others = await sharedAccounts(deps, person, detail.delegate).catch((error: unknown) => {
    deps.log.error({ error, user_id: person.id }, 'notifying the accounts of a delegate failed')
    return []
  })
  const audit = delegateAudit(deps, 'delegate.removed', person, { ...by, detail, others })
  return { fields: { delegate: null }, audit }
}

/** Lists ids of the accounts, besides the person's own, where both decide: there the delegate's votes count for the person. */
async function sharedAccounts(deps: PeopleDeps, person: User, delegateId: string): Promise<string[]> {
  const open = await accountsOf(deps, person)
  return open
    .filter(({ account, role }) => {
      const theirs = roleIn(account, delegateId)
      return account.id !== person.account_id && may(role, 'decide') && may(theirs, 'decide')
    })
    .map(({ account }) => account.id)
}

/** Who changes a delegation: the person, from an address, or another actor. */
interface Changing {
  address?: string
  actor?: AuditActor
}

/** Makes an entry for the person's own account and for each other one concerned; only the first holds the network address. */
function delegateAudit(
  deps: PeopleDeps,
  type: 'delegate.set' | 'delegate.removed',
  user: User,
  more: Changing & { detail: NonNullable<AuditEntry['detail']>; others: readonly string[] },
): AuditEntry[] {
  const { others, address, ...about } = more
  const own = personAudit(deps, type, user, { ...about, ...given({ address }) })
  const elsewhere = others.map((account_id) => personAudit(deps, type, { id: user.id, account_id }, about))
  return [own, ...elsewhere.map((entry) => ({ ...entry, at: own.at }))]
}

/** Returns who stands in for the person now or later; undefined when there is no delegate, or their time is over. */
export async function delegateOf(
  deps: PeopleDeps,
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

/**
 * Returns the person as a decider on this request, with those for whom they stand in now. A delegate must themself
 * be able to decide in that account, or an approver could hand the account's say to an outsider. Where the request counts only
 * people whom the operator vouched for, any other delegate may look at it and is told so.
 */
export async function deciderFor(deps: FlowDeps, person: User, request: Asked): Promise<Decider> {
  return (await decidersFor(deps, person, [request]))(request)
}

type Asked = Pick<ApprovalRequest, 'account_id' | 'requirement' | 'made_after' | 'released'>

/** As `deciderFor`, for many requests that were read together: one query for the principals, one for each account. */
export async function decidersFor(
  deps: FlowDeps,
  person: User,
  requests: readonly Asked[],
): Promise<(request: Asked) => Decider> {
  await deps.restores.isHeld(...requests)
  const deciding = ({ requirement, ...asked }: Asked): Decider => ({
    user_id: person.id,
    ...factorsOf(person, requirement.authenticators),
    ...(isHeldBy(asked, deps.restores.last()) ? { held: true } : {}),
  })
  const foreign = requests.filter((request) => !isNamed(request, person.id))
  if (foreign.length === 0) return deciding
  const principals = await deps.users.principalsOf(person.id, deps.clock.now())
  const namedIn = (request: Asked) => principals.filter(({ id }) => isNamed(request, id)).map(({ id }) => id)
  const wanted = foreign.filter((request) => namedIn(request).length > 0)
  const open = await whereTheyDecide(deps, person, new Set(wanted.map(({ account_id }) => account_id)))
  return (request) => {
    const decider = deciding(request)
    if (isNamed(request, person.id) || !open.has(request.account_id)) return decider
    const named = namedIn(request)
    if (named.length === 0) return decider
    const barred = request.requirement.confirmed_only && !isVouchedFor(person)
    return { ...decider, stands_in_for: named, ...(barred ? { not_confirmed: true } : {}) }
  }
}

async function whereTheyDecide(
  deps: PeopleDeps,
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
 * Returns how a request concerns a person: they are named, voted, or stand in now for a named approver. `principalId`: for whom
 * their vote counts, or would count, if not for themself; one of their principals even when the votes of all have been counted.
 * @returns undefined when the request does not concern them
 */
export async function partIn(
  deps: FlowDeps,
  person: User,
  request: ApprovalRequest,
): Promise<{ principalId?: string } | undefined> {
  return (await partsIn(deps, person, [request]))[0]
}

/** As `partIn`, for requests that were read together. */
export async function partsIn(
  deps: FlowDeps,
  person: User,
  requests: readonly ApprovalRequest[],
): Promise<({ principalId?: string } | undefined)[]> {
  const own = ({ votes }: ApprovalRequest) => votes.find(({ user_id }) => user_id === person.id)
  const others = requests.filter((request) => !isNamed(request, person.id) && own(request) === undefined)
  const deciderOf = others.length === 0 ? undefined : await decidersFor(deps, person, others)
  return requests.map((request) => {
    if (isNamed(request, person.id)) return {}
    const principal = own(request)?.on_behalf_of
    if (principal !== undefined) return { principalId: principal }
    const decider = deciderOf?.(request)
    if (decider === undefined || decider.not_confirmed) return undefined
    const principalId = whoseVote(request, decider)?.user_id ?? decider.stands_in_for?.[0]
    return principalId === undefined ? undefined : { principalId }
  })
}

/** As `deciderFor`, for all pending requests at once: which of them wait for the person. */
export async function inboxScopeOf(
  deps: FlowDeps,
  person: Pick<User, 'id' | 'account_id' | 'home_account_id'>,
): Promise<InboxScope> {
  const principals = await deps.users.principalsOf(person.id, deps.clock.now())
  if (principals.length === 0) return { user_id: person.id, principals: [], accounts: [] }
  const open = await accountsOf(deps, person)
  const accounts = open.filter(({ role }) => may(role, 'decide')).map(({ account }) => account.id)
  return { user_id: person.id, principals: principals.map(({ id }) => id), accounts }
}

/**
 * Returns those who may still decide a pending request at `at`: all approvers named whose vote is missing, and the delegates who stand in for one of
 * them and decide in that account (`deciderFor` says the same of one person). A person who has voted, for any approver, is
 * not asked again.
 * @returns user ids
 */
export async function pendingApprovers(
  deps: PeopleDeps,
  request: ApprovalRequest,
  at: Date,
): Promise<string[]> {
  const counted = new Set(request.votes.map(({ on_behalf_of }) => on_behalf_of))
  const acted = new Set(request.votes.map(({ user_id }) => user_id))
  const named = request.requirement.approvers.map(({ user_id }) => user_id)
  const missing = named.filter((id) => !counted.has(id))
  const people = await deps.users.findMany(missing)
  const delegates = people.flatMap(({ delegate }) =>
    delegate !== undefined && standsIn(delegate, at) && !named.includes(delegate.user_id)
      ? [delegate.user_id]
      : [],
  )
  const account = delegates.length === 0 ? undefined : await deps.accounts.find(request.account_id)
  const able = delegates.filter((id) => account !== undefined && may(roleIn(account, id), 'decide'))
  return [...new Set([...missing, ...able])].filter((id) => !acted.has(id))
}
