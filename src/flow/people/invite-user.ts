import type { AuditActor } from '../../domain/audit.ts'
import { invalidField, refusal } from '../../domain/errors.ts'
import { drawId } from '../../domain/identifier.ts'
import { normaliseEmail, type User } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/encoding.ts'
import type { Enrollment } from '../../store/enrollments.ts'
import type { PeopleDeps } from '../deps.ts'
import { newPerson, personAudit } from './person.ts'

/**
 * Makes a person with an account of their own and a link, good for seven days, by which they enrol.
 * @throws Refusal `invalid_field`, `email_taken`
 */
export async function inviteUser(
  deps: PeopleDeps,
  input: { email: string; name?: string },
  actor: AuditActor,
): Promise<{ user: User; link: EnrollmentLink }> {
  const email = normaliseEmail(input.email)
  if (email === undefined) throw invalidField('email', 'is not an e-mail address')
  if ((await deps.users.findByEmail(email)) !== undefined) throw refusal('email_taken')
  const name = input.name?.trim() || email.slice(0, email.indexOf('@'))
  const { user, account } = newPerson(deps, { email, name })
  // The account first: should the service stop in between, an account without an owner does no harm.
  await deps.accounts.insert(account)
  const invited = { ...user, audit: [personAudit(deps, 'user.invited', user, { actor })] }
  await deps.users.insert(invited)
  return { user: invited, link: await issueOperatorLink(deps, user.id) }
}

/**
 * A new link for a person who exists: the old one expired, or every factor is lost. What they enrol then is added to what
 * they have. Only the operator of the machine may ask for it (command line); open links of the person end.
 * @throws Refusal `not_found`
 */
export async function renewInvitation(
  deps: PeopleDeps,
  input: { email: string },
  actor: AuditActor,
): Promise<{ user: User; link: EnrollmentLink }> {
  const email = normaliseEmail(input.email)
  const user = email === undefined ? undefined : await deps.users.findByEmail(email)
  if (user === undefined) throw refusal('not_found')
  await deps.users.addAudit(user.id, personAudit(deps, 'user.invited', user, { actor }))
  return { user, link: await issueOperatorLink(deps, user.id) }
}

/**
 * The link by which the first owner signs up, made at every start while no person exists; it ends the one before and after
 * 24 hours itself. @returns undefined when a person exists
 */
export async function inviteFirstOwner(deps: PeopleDeps): Promise<EnrollmentLink | undefined> {
  if (await deps.users.any()) return undefined
  return issue(deps, { kind: 'setup' }, () => deps.enrollments.revokeOpen('setup'))
}

/** A one-time link; it is shown once, only its token's hash is stored. */
export interface EnrollmentLink {
  url: string
  expires_at: Date
}

const LIFETIME_MS = { invite: 7 * 86_400_000, setup: 86_400_000 } as const

/** The operator's word that this person may enrol a factor. Every other open link of theirs ends. */
function issueOperatorLink(deps: PeopleDeps, userId: string): Promise<EnrollmentLink> {
  const of = { user_id: userId }
  return issue(deps, { kind: 'invite', ...of }, () => deps.enrollments.revokeOpen('invite', of))
}

/**
 * An invitation to become a member. It ends those the account gave out before: an owner's link leaves one that the operator
 * gave out, which may do more than it.
 */
export function issueMemberLink(
  deps: PeopleDeps,
  invited: { user_id: string; account_id: string },
  by: 'owner' | 'operator',
): Promise<EnrollmentLink> {
  const mark = by === 'operator' ? { by_operator: true as const } : {}
  const replaced = by === 'operator' ? invited : { ...invited, by_operator: null }
  const end = () => deps.enrollments.revokeOpen('invite', replaced)
  return issue(deps, { kind: 'invite', ...invited, ...mark }, end)
}

async function issue(
  deps: PeopleDeps,
  facts: Pick<Enrollment, 'kind' | 'user_id' | 'account_id' | 'by_operator'>,
  endOthers: () => Promise<void>,
): Promise<EnrollmentLink> {
  const token = toBase64Url(deps.random.bytes(32))
  const created_at = deps.clock.now()
  const expires_at = new Date(created_at.getTime() + LIFETIME_MS[facts.kind])
  await endOthers()
  await deps.enrollments.insert({
    id: drawId(deps, 'enr'),
    ...facts,
    token_hash: deps.vault.hash('enrollment', token),
    tries: 0,
    created_at,
    expires_at,
  })
  // In the fragment: it reaches neither a server's log nor a Referer header (T14).
  const path = facts.kind === 'setup' ? 'setup' : 'enroll'
  return { url: `${deps.party.origin}/${path}#${token}`, expires_at }
}
