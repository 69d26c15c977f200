import { type Account, MAX_MEMBERS, type Member } from '../../domain/account.ts'
import type { AuditActor } from '../../domain/audit.ts'
import { invalidField, Refusal, refusal } from '../../domain/errors.ts'
import { normaliseEmail, type User } from '../../domain/user.ts'
import type { PeopleDeps } from '../deps.ts'
import { changeFresh, newPerson, personAudit } from '../people/person.ts'
import type { SignedIn } from '../people/sessions.ts'
import { type Proof, proveFactor } from '../people/step-up.ts'
import { type EnrollmentLink, issueMemberLink } from './invite-user.ts'
import { memberAudit } from './members.ts'

/** Whom an owner invites, and in which role. */
export interface MemberInvitation {
  email: string
  name?: string
  role: Member['role']
}

/** The outcome of an invitation. Nothing in it tells whether the person was known before. */
export interface InvitedMember {
  member: Member
  user: User
  link: EnrollmentLink
}

/** Who invites: the owner of the account, or the operator of the machine. */
interface Inviter {
  kind: 'owner' | 'operator'
  accountId: string
  actor: AuditActor
}

/**
 * Invites a person into the owner's account. A person unknown to the service is made, and enrols by the link. For others the
 * link only leads to the invitation, which they answer signed in: an owner's link never puts a factor on an identity that
 * another account, or the operator, has made.
 * @throws Refusal `invalid_field`, `member_exists`, `member_limit` and those of `proveFactor`
 */
export async function inviteMember(
  deps: PeopleDeps,
  who: SignedIn,
  input: MemberInvitation & { proof: Proof | undefined },
  address: string,
): Promise<InvitedMember> {
  const { account_id: accountId, id } = who.user
  await refuseKnown(deps, accountId, input.email, 'owner')
  await proveFactor(deps, who, { operation: 'member.invite', target: input.email }, input.proof, address)
  return addMember(deps, input, { kind: 'owner', accountId, actor: { kind: 'user', id, address } })
}

/**
 * Invites on the operator's word, by the command line: as `inviteMember`, but the link enrols anyone who has not enrolled yet, and
 * an invited person can be invited again: an owner's new link would not enrol a person whom the operator made.
 * @throws Refusal `not_found` for an unknown account, `invalid_field`, `member_exists`, `member_limit`
 */
export async function inviteMemberByOperator(
  deps: PeopleDeps,
  accountId: string,
  input: MemberInvitation,
): Promise<InvitedMember> {
  await refuseKnown(deps, accountId, input.email, 'operator')
  return addMember(deps, input, { kind: 'operator', accountId, actor: { kind: 'cli' } })
}

/** Refuses a person who is in the account, and a full account, before a proof is used up or a person made. */
async function refuseKnown(
  deps: PeopleDeps,
  accountId: string,
  address: string,
  by: Inviter['kind'],
): Promise<void> {
  const account = await deps.accounts.find(accountId)
  if (account === undefined) throw refusal('not_found')
  const known = await deps.users.findByEmail(readEmail(address))
  othersIn(account, known, by)
}

/** Returns the members besides the person invited. @throws Refusal `member_exists`, `member_limit` */
function othersIn(account: Account, user: User | undefined, by: Inviter['kind']): Member[] {
  const others = account.members.filter(
    ({ user_id, state }) => !(by === 'operator' && state === 'invited' && user_id === user?.id),
  )
  const known = account.owner_id === user?.id || others.some(({ user_id }) => user_id === user?.id)
  if (known) throw refusal('member_exists')
  if (others.length >= MAX_MEMBERS) throw refusal('member_limit')
  return others
}

async function addMember(deps: PeopleDeps, input: MemberInvitation, by: Inviter): Promise<InvitedMember> {
  const email = readEmail(input.email)
  const given = input.name?.trim()
  const name = given || email.slice(0, email.indexOf('@'))
  const user = await findOrMake(deps, { email, name }, by)
  let member: Member = {
    user_id: user.id,
    role: input.role,
    state: 'invited',
    invited_at: deps.clock.now(),
    joined_at: null,
    name,
  }
  await changeFresh(deps.accounts, by.accountId, (account) => {
    const others = othersIn(account, user, by.kind)
    const before = account.members.find(({ user_id }) => user_id === user.id)
    member = { ...member, name: given || before?.name || name }
    const audit = [memberAudit(deps, 'member.invited', account, member, by.actor)]
    return { fields: { members: [...others, member] }, audit }
  })
  const link = await issueMemberLink(deps, { user_id: user.id, account_id: by.accountId }, by.kind)
  return { member, user, link }
}

/** Finds or makes the person of that address; a new one remembers which owner made them: no other owner's link may enrol them. */
async function findOrMake(
  deps: PeopleDeps,
  who: { email: string; name: string },
  { kind, accountId, actor }: Inviter,
): Promise<User> {
  const known = await deps.users.findByEmail(who.email)
  if (known !== undefined) return known
  const made = kind === 'owner' ? { invited_by_account: accountId } : {}
  // They own nothing until they make an account themselves.
  const { user } = newPerson(deps, { ...who, home_account_id: accountId, ...made })
  // This entry is for the new person, who must not learn the inviter's network address.
  const inviter = actor.kind === 'user' ? { kind: actor.kind, id: actor.id } : actor
  const audit = [personAudit(deps, 'user.invited', user, { actor: inviter })]
  const invited: User = { ...user, no_account: true, audit }
  try {
    await deps.users.insert(invited)
    return invited
  } catch (error) {
    const other = await deps.users.findByEmail(who.email)
    if (!(error instanceof Refusal) || error.code !== 'email_taken' || other === undefined) throw error
    return other
  }
}

function readEmail(address: string): string {
  const email = normaliseEmail(address)
  if (email === undefined) throw invalidField('email', 'is not an e-mail address')
  return email
}
