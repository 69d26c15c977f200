import { fieldRequired, invalidField, refusal } from '../../domain/errors.ts'
import { normaliseEmail, type User } from '../../domain/user.ts'
import type { Enrollment } from '../people-ports.ts'
import type { PeopleDeps } from './people-deps.ts'

/** An open link and, for an invitation, the person it is for. */
export interface OpenEnrollment {
  enrollment: Enrollment
  user?: User
}

type EnrollmentDeps = Pick<PeopleDeps, 'enrollments' | 'users' | 'vault'>

/**
 * Finds the link of a token. A set-up link is worth nothing once anybody exists.
 * @throws Refusal `enrollment_invalid`: unknown, used, replaced and expired answer alike
 */
export async function openEnrollment(deps: EnrollmentDeps, token: string): Promise<OpenEnrollment> {
  const enrollment = await deps.enrollments.find(deps.vault.hash('enrollment', token))
  if (enrollment === undefined) throw refusal('enrollment_invalid')
  if (enrollment.kind === 'setup') {
    if ((await deps.users.count()) > 0) throw refusal('enrollment_invalid')
    return { enrollment }
  }
  const user = enrollment.user_id === undefined ? undefined : await deps.users.find(enrollment.user_id)
  if (user === undefined) throw refusal('enrollment_invalid')
  return { enrollment, user }
}

/** Who enrols: the invited person, or what the first owner typed. @throws Refusal `<field> required`, `invalid_field`, `email_taken` */
export async function profileFor(
  deps: EnrollmentDeps,
  { user }: OpenEnrollment,
  typed: { email?: string | undefined; name?: string | undefined },
): Promise<{ email: string; name: string }> {
  if (user !== undefined) return { email: user.email, name: user.name }
  if (typed.email === undefined) throw fieldRequired('email')
  if (typed.name === undefined) throw fieldRequired('name')
  const email = normaliseEmail(typed.email)
  if (email === undefined) throw invalidField('email', 'is not an e-mail address')
  if ((await deps.users.findByEmail(email)) !== undefined) throw refusal('email_taken')
  return { email, name: typed.name }
}
