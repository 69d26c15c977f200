import { type Account, roleIn } from '../../domain/account.ts'
import { refusal } from '../../domain/errors.ts'
import { timeWords } from '../../domain/factor-notice.ts'
import {
  openRecovery,
  RECOVERY_MS,
  RECOVERY_NOTICE_MS,
  type Recovery,
  refusedRecovery,
  type User,
} from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { changeFresh } from '../people/person.ts'
import type { SignedIn } from '../people/sessions.ts'
import { proveFactor } from '../people/step-up.ts'
import { type EnrollmentLink, issueRecoveryLink } from './invite-user.ts'
import { type About, memberAudit, memberOf } from './members.ts'
import { PLATFORMS } from './take-over.ts'

/**
 * Lets a member who lost a device set up their sign-in anew. The person is told everywhere at once and can refuse; the link works a
 * day later (T93). Asking again while an offer lasts gives another link for it, and moves none of its times.
 * @throws Refusal `not_found` for all but members, `recovery_refused`, `recovery_declined`, and those of `proveFactor`
 */
export async function offerRecovery(
  deps: FlowDeps,
  who: SignedIn,
  { userId, proof }: About,
  address: string,
): Promise<EnrollmentLink & { opens_at: Date }> {
  const { id, account_id } = who.user
  await findRecoverable(deps, account_id, userId)
  await proveFactor(deps, who, { operation: 'member.recover', target: userId }, proof, address)
  const { account, user } = await findRecoverable(deps, account_id, userId)
  const now = deps.clock.now()
  const offered = openRecovery(user, now) ?? newRecovery(user, account_id, now)
  // The link first: without the offer at the person it is void, should the service stop in between.
  const link = await issueRecoveryLink(deps, { user_id: userId, account_id }, offered.expires_at)
  const actor = { kind: 'user', id, address } as const
  const changed = await changeFresh(deps.users, userId, (person) => {
    refuseOthers(person, account_id, now)
    const again = openRecovery(person, now) !== undefined
    const entry = memberAudit(deps, 'member.recovery_offered', account, memberOf(account, userId), actor)
    const detail = { ...entry.detail, ...(again ? { again } : {}) }
    const fields = again ? {} : { recovery: newRecovery(person, account_id, now) }
    return { fields, audit: [{ ...entry, detail }] }
  })
  const { opens_at, expires_at } = changed.recovery ?? offered
  return { ...link, opens_at, expires_at }
}

function newRecovery({ factor_epoch = 0 }: User, account_id: string, now: Date): Recovery {
  const after = (ms: number) => new Date(now.getTime() + ms)
  return { account_id, opens_at: after(RECOVERY_NOTICE_MS), expires_at: after(RECOVERY_MS), factor_epoch }
}

/** Takes the owner's offer back. @throws Refusal `not_found` without one */
export async function withdrawRecovery(
  deps: FlowDeps,
  { user: { id, account_id } }: SignedIn,
  userId: string,
  address: string,
): Promise<void> {
  const account = await deps.accounts.find(account_id)
  const member = memberOf(account, userId)
  await changeFresh(deps.users, userId, (person) => {
    if (openRecovery(person, deps.clock.now())?.account_id !== account_id) throw refusal('not_found')
    const actor = { kind: 'user', id, address } as const
    const about = { id: account_id }
    return {
      fields: { recovery: null },
      audit: [memberAudit(deps, 'member.recovery_ended', about, member, actor)],
    }
  })
}

/**
 * Refuses the offer, by any session and without a proof: whoever lost nothing must be able to at once. The refusal stays stored, so
 * that no owner asks day by day until the person misses one notice.
 * @throws Refusal `not_found` without an offer
 */
export async function refuseRecovery(
  deps: FlowDeps,
  { id }: Pick<User, 'id'>,
  address: string,
): Promise<void> {
  const account = await accountOfRecovery(deps, await deps.users.find(id))
  await changeFresh(deps.users, id, (person) => {
    const now = deps.clock.now()
    if (refusedRecovery(person, now)) return undefined
    const recovery = openRecovery(person, now)
    if (recovery === undefined || recovery.account_id !== account?.id) throw refusal('not_found')
    const actor = { kind: 'user', id, address } as const
    const entry = memberAudit(deps, 'member.recovery_ended', account, memberOf(account, id), actor)
    return { fields: { recovery: { ...recovery, refused_at: now } }, audit: [entry] }
  })
}

/** Finds the account whose owner made the offer, as long as the person is a member there. */
async function accountOfRecovery(deps: FlowDeps, user: User | undefined): Promise<Account | undefined> {
  const account = user?.recovery && (await deps.accounts.find(user.recovery.account_id))
  return account !== undefined && user !== undefined && roleIn(account, user.id) !== undefined
    ? account
    : undefined
}

/** @throws Refusal `not_found`, `recovery_refused`, `recovery_declined` */
async function findRecoverable(
  deps: FlowDeps,
  accountId: string,
  userId: string,
): Promise<{ account: Account; user: User }> {
  const account = await deps.accounts.find(accountId)
  const user = await deps.users.find(userId)
  if (account === undefined || user === undefined) throw refusal('not_found')
  if (memberOf(account, userId).state !== 'active') throw refusal('not_found')
  refuseOthers(user, accountId, deps.clock.now())
  if (!(await isOnlyIn(deps, user, accountId))) throw refusal('recovery_refused')
  return { account, user }
}

/** @throws Refusal `recovery_refused` for a person whom another account or the operator made or confirmed, `recovery_declined` */
function refuseOthers(user: User, accountId: string, now: Date): void {
  if (user.invited_by_account !== accountId) throw refusal('recovery_refused')
  if (refusedRecovery(user, now)) throw refusal('recovery_declined')
}

/**
 * Checks that whoever gets this person's sign-in gains nothing outside of the account: no role in another, nothing in their own
 * that asks, hears or decides, and no pending request elsewhere that still names them (T79). A delegate needs a role, too.
 */
async function isOnlyIn(deps: FlowDeps, user: User, accountId: string): Promise<boolean> {
  const { id, account_id: own } = user
  const [accounts, waits, ...owned] = await Promise.all([
    deps.accounts.ofPerson(id),
    deps.requests.waitElsewhere(id, accountId),
    deps.apiKeys.list(own),
    deps.webhooks.list(own),
    ...PLATFORMS.map((platform) => deps.installations.ofAccount(platform, own)),
  ])
  const others = accounts.filter((one) => one.id !== accountId)
  const inOthers = others.some((one) =>
    one.id === own ? one.members.length + one.channels.length > 0 : roleIn(one, id) !== undefined,
  )
  return !inOthers && !waits && owned.every(({ length }) => length === 0)
}

/**
 * Checks a link of recovery: the offer is open, and the person still is a member who is nobody outside of the account.
 * @throws Refusal `enrollment_invalid`
 */
export async function checkRecovery(deps: FlowDeps, user: User, account: Account): Promise<Recovery> {
  const recovery = openRecovery(user, deps.clock.now())
  const ours = recovery?.account_id === account.id && user.invited_by_account === account.id
  if (!ours || !(await isOnlyIn(deps, user, account.id))) throw refusal('enrollment_invalid')
  return recovery
}

/** @throws Refusal `enrollment_early`, saying from when on the link works */
export function refuseEarly({ opens_at }: Recovery, now: Date): void {
  if (opens_at > now)
    throw refusal('enrollment_early', { detail: `It works from ${timeWords(opens_at)} on.` })
}
