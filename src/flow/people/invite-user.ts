import type { AuditActor } from '../../domain/audit.ts'
import { invalidField, refusal } from '../../domain/errors.ts'
import { normaliseEmail, type User } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/encoding.ts'
import { drawId } from '../deps.ts'
import type { Enrollment } from '../people-ports.ts'
import { newPerson } from './new-person.ts'
import { personAudit } from './people-audit.ts'
import type { PeopleDeps } from './people-deps.ts'

/** A one-time link; it is shown once, only its token's hash is stored. */
export interface EnrollmentLink {
  url: string
  expires_at: Date
}

type InviteDeps = Pick<
  PeopleDeps,
  'users' | 'accounts' | 'enrollments' | 'vault' | 'clock' | 'random' | 'party'
>

const INVITE_MS = 7 * 86_400_000
const SETUP_MS = 86_400_000

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
  return { user: invited, link: await issueLink(deps, 'invite', INVITE_MS, user.id) }
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
  return { user, link: await issueLink(deps, 'invite', INVITE_MS, user.id) }
}

/**
 * The link by which the first owner signs up, made at every start while nobody exists; it ends the one before and after
 * 24 hours itself. @returns undefined when somebody exists
 */
export async function inviteFirstOwner(deps: InviteDeps): Promise<EnrollmentLink | undefined> {
  if ((await deps.users.count()) > 0) return undefined
  return issueLink(deps, 'setup', SETUP_MS)
}

async function issueLink(
  deps: InviteDeps,
  kind: Enrollment['kind'],
  lifetime: number,
  userId?: string,
): Promise<EnrollmentLink> {
  const token = toBase64Url(deps.random.bytes(32))
  const created_at = deps.clock.now()
  const expires_at = new Date(created_at.getTime() + lifetime)
  await deps.enrollments.revokeOpen(kind, userId)
  await deps.enrollments.insert({
    id: drawId(deps, 'enr'),
    kind,
    token_hash: deps.vault.hash('enrollment', token),
    tries: 0,
    created_at,
    expires_at,
    ...(userId === undefined ? {} : { user_id: userId }),
  })
  // In the fragment: it reaches neither a server's log nor a Referer header (T14).
  const path = kind === 'setup' ? 'setup' : 'enroll'
  return { url: `${deps.party.origin}/${path}#${token}`, expires_at }
}
