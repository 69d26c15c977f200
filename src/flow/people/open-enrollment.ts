import type { Account, Member } from '../../domain/account.ts'
import { fieldRequired, invalidField, refusal } from '../../domain/errors.ts'
import { normaliseEmail, type User } from '../../domain/user.ts'
import type { Enrollment } from '../../store/enrollments.ts'
import type { PeopleDeps } from './people-deps.ts'

/** An open link and, for an invitation, the person it is for. */
export interface OpenEnrollment {
  enrollment: Enrollment
  user?: User
  /** What the person is asked to join. */
  invitation?: { account: Account; member: Member }
}

type EnrollmentDeps = Pick<PeopleDeps, 'enrollments' | 'users' | 'accounts' | 'vault'>

/**
 * Finds the link of a token. A set-up link is worth nothing once anybody exists, an invitation to an account once it was
 * answered or taken back.
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
  if (enrollment.account_id === undefined) return { enrollment, user }
  const account = await deps.accounts.find(enrollment.account_id)
  const member = account?.members.find(({ user_id }) => user_id === user.id)
  if (account === undefined || member?.state !== 'invited') throw refusal('enrollment_invalid')
  return { enrollment, user, invitation: { account, member } }
}

/** As `openEnrollment`, for a link that shall give its person a factor. @throws Refusal `enrollment_invalid` for one that must not */
export async function openForEnrolling(deps: EnrollmentDeps, token: string): Promise<OpenEnrollment> {
  const open = await openEnrollment(deps, token)
  if (!givesFactor(open.enrollment, open.user)) throw refusal('enrollment_invalid')
  return open
}

/**
 * May somebody enrol a factor by this link? By the set-up link and the operator's own always. By an invitation to an account
 * only whoever has no factor, and from an owner only whom that same owner's invitation made: anybody may invite any address,
 * and would otherwise take over whoever has it.
 */
export function givesFactor(
  { account_id, by_operator }: Pick<Enrollment, 'account_id' | 'by_operator'>,
  user: Pick<User, 'enrolled_at' | 'invited_by_account'> | undefined,
): boolean {
  if (account_id === undefined || user === undefined) return true
  return user.enrolled_at === null && (by_operator === true || user.invited_by_account === account_id)
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
