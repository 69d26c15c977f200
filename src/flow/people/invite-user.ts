import type { AuditActor } from '../../domain/audit.ts'
import { invalidField, refusal } from '../../domain/errors.ts'
import { normaliseEmail, type User } from '../../domain/user.ts'
import { type EnrollmentLink, issueOperatorLink, issueSetupLink, type LinkDeps } from './enrollment-link.ts'
import { newPerson } from './new-person.ts'
import { personAudit } from './people-audit.ts'
import type { PeopleDeps } from './people-deps.ts'

type InviteDeps = LinkDeps & Pick<PeopleDeps, 'users' | 'accounts'>

/**
 * Makes a person with an account of their own and a link, good for seven days, by which they enrol.
 * @throws Refusal `invalid_field`, `email_taken`
 */
export async function inviteUser(
  deps: InviteDeps,
  input: { email: string; name?: string },
  actor: AuditActor,
): Promise<{ user: User; link: EnrollmentLink }> {
  const email = normaliseEmail(input.email)
  if (email === undefined) throw invalidField('email', 'is not an e-mail address')
  if ((await deps.users.findByEmail(email)) !== undefined) throw refusal('email_taken')
  const name = input.name?.trim() || email.slice(0, email.indexOf('@'))
  const { user, account } = newPerson(deps, { email, name })
  // The account first: should the service stop in between, an account nobody owns harms nobody.
  await deps.accounts.insert(account)
  const invited = { ...user, audit: [personAudit(deps, 'user.invited', user, { actor })] }
  await deps.users.insert(invited)
  return { user: invited, link: await issueOperatorLink(deps, user.id) }
}

/**
 * A new link for somebody who exists: the old one expired, or every factor is lost. What they enrol then is added to what
 * they have. Only the operator of the machine may ask for it (command line); open links of the person end.
 * @throws Refusal `not_found`
 */
export async function renewInvitation(
  deps: InviteDeps,
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
 * The link by which the first owner signs up, made at every start while nobody exists; it ends the one before and after
 * 24 hours itself. @returns undefined when somebody exists
 */
export async function inviteFirstOwner(deps: InviteDeps): Promise<EnrollmentLink | undefined> {
  if ((await deps.users.count()) > 0) return undefined
  return issueSetupLink(deps)
}
