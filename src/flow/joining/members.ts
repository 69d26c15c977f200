import type { Account, Member } from '../../domain/account.ts'
import type { AuditActor, AuditEntry, AuditType } from '../../domain/audit.ts'
import { Refusal, refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { isId } from '../../domain/identifier.ts'
import { openRecovery, refusedRecovery, type User } from '../../domain/user.ts'
import type { Colleague } from '../../domain/views.ts'
import type { PeopleDeps } from '../deps.ts'
import { changeFresh, personAudit } from '../people/person.ts'
import type { SignedIn } from '../people/sessions.ts'
import { type Proof, proveFactor } from '../people/step-up.ts'
import { type EnrollmentLink, issueMemberLink } from './invite-user.ts'

/** The person whom an operation on a member concerns, and the owner's fresh proof for it. */
export interface About {
  userId: string
  proof: Proof | undefined
}

/** Lists all people in the account, its owner first, then in the order they were invited. */
export async function listMembers(deps: PeopleDeps, account: Account): Promise<Colleague[]> {
  const found = await deps.users.findMany([
    account.owner_id,
    ...account.members.map(({ user_id }) => user_id),
  ])
  const byId = new Map(found.map((user) => [user.id, user]))
  const owner = byId.get(account.owner_id)
  const now = deps.clock.now()
  const members = account.members.flatMap((member) => {
    const user = byId.get(member.user_id)
    if (user === undefined) return []
    const lasts = openRecovery(user, now) !== undefined || refusedRecovery(user, now)
    const ours = lasts && user.recovery?.account_id === account.id
    return [{ user, member, ...given({ recovery: ours ? user.recovery : undefined }) }]
  })
  return [...(owner === undefined ? [] : [{ user: owner }]), ...members]
}

/**
 * Issues a new link for a person who has not answered yet; the previous link ends.
 * @throws Refusal `not_found` for strangers and people who have answered, and those of `proveFactor`
 */
export async function renewMemberLink(
  deps: PeopleDeps,
  who: SignedIn,
  { userId, proof }: About,
  address: string,
): Promise<EnrollmentLink> {
  const { account_id } = who.user
  if (memberOf(await deps.accounts.find(account_id), userId).state !== 'invited') throw refusal('not_found')
  await proveFactor(deps, who, { operation: 'member.invite', target: userId }, proof, address)
  const actor = { kind: 'user', id: who.user.id, address } as const
  await changeFresh(deps.accounts, account_id, (account) => {
    const member = memberOf(account, userId)
    if (member.state !== 'invited') throw refusal('not_found')
    return { fields: {}, audit: [memberAudit(deps, 'member.invited', account, member, actor)] }
  })
  return issueMemberLink(deps, { user_id: userId, account_id }, 'owner')
}

/**
 * Gives a member, or an invited person, another role, effective at once, also in their open sessions.
 * @throws Refusal `not_found`, and those of `proveFactor`
 */
export async function changeMemberRole(
  deps: PeopleDeps,
  who: SignedIn,
  { userId, proof, role }: About & { role: Member['role'] },
  address: string,
): Promise<Colleague> {
  const account = await changeByOwner(deps, who, { userId, proof }, address, (member) =>
    member.role === role ? undefined : { type: 'member.changed', as: { ...member, role } },
  )
  const user = await deps.users.find(userId)
  if (user === undefined) throw refusal('not_found')
  return { user, member: memberOf(account, userId) }
}

/**
 * Removes a member, or an invitation, from the account. Open requests that name the person stand, and the person still
 * decides on them (T79); new requests do not name the person, who no longer stands in for anyone there. The policy still
 * names them: if the removal emptied its list, the list would mean the owner alone.
 * @throws Refusal `not_found`, and those of `proveFactor`
 */
export async function removeMember(
  deps: PeopleDeps,
  who: SignedIn,
  about: About,
  address: string,
): Promise<void> {
  await changeByOwner(deps, who, about, address, () => ({ type: 'member.removed' }))
  await endInvitation(deps, who.user.account_id, about.userId)
}

/** As `removeMember`, by the operator: from every account that still has, or has invited, the person. */
export async function removeFromAccounts(
  deps: PeopleDeps,
  person: Pick<User, 'id' | 'account_id'>,
  actor: AuditActor,
): Promise<void> {
  for (const { id } of await deps.accounts.ofPerson(person.id)) {
    if (id === person.account_id) continue
    const about = { accountId: id, userId: person.id }
    await unlessGone(changeMember(deps, about, actor, () => ({ type: 'member.removed' })))
  }
}

/** Ends the open links by which the account invited the person. */
async function endInvitation(deps: PeopleDeps, accountId: string, userId: string): Promise<void> {
  await deps.enrollments.revokeOpen('invite', { user_id: userId, account_id: accountId })
}

/** The change of one member; without `as` the member is removed. */
interface MemberChange {
  type: 'member.joined' | 'member.declined' | 'member.changed' | 'member.removed' | 'member.left'
  as?: Member
}

/**
 * Changes one member in one write. @param decide returns undefined if nothing is to change
 * @throws Refusal `not_found` when the account has no person of that id, and those of `decide`
 */
function changeMember(
  deps: PeopleDeps,
  { accountId, userId }: { accountId: string; userId: string },
  actor: AuditActor,
  decide: (member: Member) => MemberChange | undefined,
): Promise<Account> {
  return changeFresh(deps.accounts, accountId, (account) => {
    const member = memberOf(account, userId)
    const change = decide(member)
    if (change === undefined) return undefined
    const { type, as } = change
    const members = account.members.flatMap((other) =>
      other.user_id !== userId ? [other] : as === undefined ? [] : [as],
    )
    return { fields: { members }, audit: [memberAudit(deps, type, account, as ?? member, actor)] }
  })
}

async function changeByOwner(
  deps: PeopleDeps,
  who: SignedIn,
  { userId, proof }: About,
  address: string,
  decide: (member: Member) => MemberChange | undefined,
): Promise<Account> {
  const { id, account_id: accountId } = who.user
  memberOf(await deps.accounts.find(accountId), userId)
  await proveFactor(deps, who, { operation: 'member.change', target: userId }, proof, address)
  return changeMember(deps, { accountId, userId }, { kind: 'user', id, address }, decide)
}

/** @throws Refusal `not_found` */
export function memberOf(account: Account | undefined, userId: string): Member {
  const member = account?.members.find(({ user_id }) => user_id === userId)
  if (member === undefined) throw refusal('not_found')
  return member
}

/** The person who answers, and from where. */
interface Answering {
  userId: string
  address: string
}

/**
 * Makes the invited person a member; accepting twice is one acceptance. It takes the token of that account's own link: e-mail
 * addresses are not proven here, so a person who took `bob@example.com` before Bob did must not get what another owner offers
 * Bob by handing him a link.
 * @throws Refusal `not_found`: unknown accounts, and those that have not invited the person, answer alike;
 * `enrollment_invalid` without an open link from that account to this person
 */
export async function acceptInvitation(
  deps: PeopleDeps,
  accountId: string,
  who: Answering,
  token: string,
): Promise<void> {
  const account = isId('acc', accountId) ? await deps.accounts.find(accountId) : undefined
  const member = memberOf(account, who.userId)
  if (member.state === 'active') return
  const link = await deps.enrollments.find(deps.vault.hash('enrollment', token))
  if (link?.account_id !== accountId || link.user_id !== who.userId) throw refusal('enrollment_invalid')
  await join(deps, accountId, who)
}

async function join(deps: PeopleDeps, accountId: string, who: Answering): Promise<void> {
  await answer(deps, accountId, who, (member) => {
    if (member.state === 'active') return undefined
    return { type: 'member.joined', as: joined(member, deps.clock.now()) }
  })
  await endInvitation(deps, accountId, who.userId)
}

/** @throws Refusal `not_found` as `acceptInvitation`, and for members */
export async function declineInvitation(deps: PeopleDeps, accountId: string, who: Answering): Promise<void> {
  await answer(deps, accountId, who, (member) => {
    if (member.state !== 'invited') throw refusal('not_found')
    return { type: 'member.declined' }
  })
  await endInvitation(deps, accountId, who.userId)
}

/** Lets a member leave; an owner cannot leave their own account. @throws Refusal `not_found` for all but members */
export async function leaveAccount(deps: PeopleDeps, accountId: string, who: Answering): Promise<void> {
  await answer(deps, accountId, who, (member) => {
    if (member.state !== 'active') throw refusal('not_found')
    return { type: 'member.left' }
  })
}

/** Accepts the invitation by whose link the person enrolled; does nothing if it was taken back meanwhile. */
export async function joinByEnrolling(deps: PeopleDeps, accountId: string, who: Answering): Promise<void> {
  await unlessGone(join(deps, accountId, who))
}

async function answer(
  deps: PeopleDeps,
  accountId: string,
  { userId, address }: Answering,
  decide: Parameters<typeof changeMember>[3],
): Promise<void> {
  if (!isId('acc', accountId)) throw refusal('not_found')
  await changeMember(deps, { accountId, userId }, { kind: 'user', id: userId, address }, decide)
}

/** Drops the name that the owner gave: from now on the person goes by their own. */
function joined({ name: _called, ...member }: Member, at: Date): Member {
  return { ...member, state: 'active', joined_at: at }
}

/**
 * Makes an entry for the account's trail about a person in it; the account's document carries it there. An owner's change to
 * a person who has not accepted is marked `invited`: it does not concern that person yet.
 */
export function memberAudit(
  deps: PeopleDeps,
  type: AuditType & `member.${string}`,
  account: Pick<Account, 'id'>,
  { user_id, role, state }: Pick<Member, 'user_id' | 'role' | 'state'>,
  actor: AuditActor,
): AuditEntry {
  const early = state === 'invited' && (type === 'member.changed' || type === 'member.removed')
  const detail = { role, ...(early ? { invited: true } : {}) }
  return personAudit(deps, type, { id: user_id, account_id: account.id }, { actor, detail })
}

/** Ignores `not_found`, which means that another process ended the same thing at that moment. */
export async function unlessGone(ending: Promise<unknown>): Promise<void> {
  try {
    await ending
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'not_found') throw error
  }
}
