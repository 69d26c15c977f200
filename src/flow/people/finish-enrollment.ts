import { refusal } from '../../domain/errors.ts'
import { isVouchedFor, nextFactorEpoch, type User } from '../../domain/user.ts'
import type { UserChange } from '../../store/users.ts'
import { removeAllDevices } from '../push/manage-devices.ts'
import { joinByEnrolling } from './answer-invitation.ts'
import { changeUser } from './change-user.ts'
import { drawDevice, withDevice } from './device.ts'
import { type EmptyDeps, emptyAccount } from './empty-account.ts'
import { endAllSessions } from './end-sessions.ts'
import { newPerson } from './new-person.ts'
import { givesFactor, type OpenEnrollment } from './open-enrollment.ts'
import { personAudit } from './people-audit.ts'
import type { PeopleDeps } from './people-deps.ts'
import { type Client, type SessionGrant, startSession } from './start-session.ts'

/** A first session, and the token that makes this browser a known one. */
export interface EnrollmentGrant extends SessionGrant {
  device: string
}

/** What enrolling works with: whoever enrols instead of another also gets an account that is theirs alone. */
export type EnrollDeps = PeopleDeps & EmptyDeps

/** The first owner, as fixed when the ceremony began. */
export interface NewOwner {
  email: string
  name: string
  id?: string
  user_handle?: string
}

/**
 * Uses the link up and stores the person's new factor; signs in on a browser that codes may sign in on from now on.
 * The link goes first: were it last, two parallel enrolments by one link could both succeed. Sessions the person had end,
 * and so do notifications: a renewed invitation is how somebody gets rid of whoever slipped in (T23). Enrolling by an
 * invitation to an account accepts it; should the service stop before, the person is asked again when they sign in.
 * @param factor what to store, given what the person has
 * @throws Refusal `enrollment_invalid` when somebody else was faster, also with another set-up link
 */
export async function finishEnrollment(
  deps: EnrollDeps,
  { enrollment, user }: OpenEnrollment,
  owner: NewOwner | undefined,
  factor: { method: 'passkey' | 'totp'; change: (user: User) => UserChange },
  client: Client,
): Promise<EnrollmentGrant> {
  if (!(await deps.enrollments.consume(enrollment.id))) throw refusal('enrollment_invalid')
  const device = drawDevice(deps)
  const plan = (person: User) => {
    // Asked again of what is written on: by another link the person may have enrolled in between.
    if (user !== undefined && !givesFactor(enrollment, person)) throw refusal('enrollment_invalid')
    const anew = user !== undefined && replaces(enrollment, person)
    const before = anew ? { ...person, ...NOTHING } : person
    const more = { address: client.address }
    const added = factor.method === 'passkey' ? 'factor.passkey_added' : 'factor.totp_added'
    return {
      fields: {
        ...(anew ? { ...NOTHING, totp: null, totp_pending: null, delegate: null } : {}),
        ...factor.change(before),
        devices: withDevice(before.devices, device.entry),
        ...nextFactorEpoch(person),
        ...(person.enrolled_at === null ? { enrolled_at: deps.clock.now() } : {}),
      },
      audit: [
        personAudit(deps, 'user.enrolled', person, {
          ...more,
          detail: { method: factor.method, ...(anew && person.enrolled_at !== null ? { anew } : {}) },
        }),
        personAudit(deps, added, person, more),
      ],
    }
  }
  const enrolled =
    user === undefined ? await insertOwner(deps, owner, plan) : await changeUser(deps, user.id, plan)
  if (user !== undefined) {
    await endAllSessions(deps, user, client.address, 'enrolled_anew')
    await removeAllDevices(deps, user, client.address, 'enrolled_anew')
    if (replaces(enrollment, enrolled)) await takeOver(deps, enrolled, client.address)
  }
  const { account_id } = enrollment
  const joining = { userId: enrolled.id, address: client.address }
  if (account_id !== undefined) await joinByEnrolling(deps, account_id, joining)
  deps.log.info({ user_id: enrolled.id, method: factor.method }, 'enrolled')
  return { ...(await startSession(deps, enrolled, client, factor.method)), device: device.token }
}

/** The operator vouches for whom they hand the link to, not for whoever enrolled under that address before. */
function replaces({ account_id }: OpenEnrollment['enrollment'], person: User): boolean {
  return account_id === undefined && !isVouchedFor(person)
}

/**
 * What who had the address before set up in its account would read along, or ask. Only then does the address count for the
 * person: should the service stop before, nothing reaches them by it, and another link of the operator begins anew.
 */
async function takeOver(deps: EnrollDeps, person: User, address: string): Promise<void> {
  await emptyAccount(deps, person, address)
  await changeUser(deps, person.id, () => ({ fields: { invited_by_account: null }, audit: [] }))
}

/** What somebody who enrols instead of another begins with. */
const NOTHING = { passkeys: [], backup_codes: [], devices: [], chat: [] } satisfies Partial<User>

async function insertOwner(
  deps: PeopleDeps,
  owner: NewOwner | undefined,
  plan: (person: User) => { fields: UserChange; audit: User['audit'] },
): Promise<User> {
  if (owner === undefined) throw refusal('enrollment_invalid')
  const { user, account } = newPerson(deps, owner)
  const { fields, audit } = plan(user)
  const { totp, totp_pending: _none, delegate: _nobody, invited_by_account: _no, ...plain } = fields
  const enrolled: User = { ...user, ...plain, ...(totp ? { totp } : {}), founder: true, audit }
  // The account first: a person without one would count as "somebody exists" and end the set-up for good.
  await deps.accounts.insert(account)
  await deps.users.insert(enrolled)
  return enrolled
}
