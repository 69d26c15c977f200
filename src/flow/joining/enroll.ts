import type { PublicKeyCredentialCreationOptionsJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { Account, Member } from '../../domain/account.ts'
import type { Authenticators } from '../../domain/authenticator.ts'
import { fieldRequired, invalidField, refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { drawId } from '../../domain/identifier.ts'
import {
  isVouchedFor,
  nextFactorEpoch,
  normaliseEmail,
  openRecovery,
  type Recovery,
  type User,
} from '../../domain/user.ts'
import type { Enrollment } from '../../store/people/enrollments.ts'
import type { UserChange } from '../../store/people/users.ts'
import type { FlowDeps, PeopleDeps } from '../deps.ts'
import { enrollingRule } from '../people/accounts.ts'
import { drawChallenge, takeChallenge } from '../people/ceremony.ts'
import { confirmTotp, drawBackupCodes, drawSeed, isCodeShaped, type TotpSetUp } from '../people/codes.ts'
import { withoutDelegate } from '../people/delegates.ts'
import { changeFresh, drawUserHandle, newPerson, personAudit, sameFactors } from '../people/person.ts'
import { registerPasskey, registrationOptions, subjectOfPasskey } from '../people/register-passkey.ts'
import { type Client, type EnrollmentGrant, endAllSessions, startSession } from '../people/sessions.ts'
import { drawDevice, withDevice } from '../people/sign-in.ts'
import { removeAllDevices } from '../tell/manage-devices.ts'
import { joinByEnrolling, memberAudit } from './members.ts'
import { checkRecovery, refuseEarly } from './recover-member.ts'
import { takeOver } from './take-over.ts'

/** An open link and, for an invitation, the person it is for. */
export interface OpenEnrollment {
  enrollment: Enrollment
  user?: User
  /** The account that the person is asked to join, or, with `recovery`, is in. */
  invitation?: { account: Account; member: Member }
  /** The link is for a member who lost a device. */
  recovery?: Recovery
}

/**
 * Finds the link of a token. A set-up link is void once any person exists, an invitation to an account once it was answered
 * or taken back.
 * @throws Refusal `enrollment_invalid`: unknown, used, replaced and expired links answer alike
 */
export async function openEnrollment(deps: FlowDeps, token: string): Promise<OpenEnrollment> {
  const enrollment = await deps.enrollments.find(deps.vault.hash('enrollment', token))
  if (enrollment === undefined) throw refusal('enrollment_invalid')
  if (enrollment.kind === 'setup') {
    if (await deps.users.any()) throw refusal('enrollment_invalid')
    return { enrollment }
  }
  const user = enrollment.user_id === undefined ? undefined : await deps.users.find(enrollment.user_id)
  if (user === undefined) throw refusal('enrollment_invalid')
  if (enrollment.account_id === undefined) return { enrollment, user }
  const account = await deps.accounts.find(enrollment.account_id)
  const member = account?.members.find(({ user_id }) => user_id === user.id)
  if (account === undefined || member?.state !== (enrollment.recovery ? 'active' : 'invited'))
    throw refusal('enrollment_invalid')
  const recovery = enrollment.recovery ? await checkRecovery(deps, user, account) : undefined
  return { enrollment, user, invitation: { account, member }, ...given({ recovery }) }
}

/**
 * As `openEnrollment`, for a link that must allow enrolling a factor.
 * @throws Refusal `enrollment_invalid` if it does not, `enrollment_early` if it does not yet
 */
export async function openForEnrolling(deps: FlowDeps, token: string): Promise<OpenEnrollment> {
  const open = await openEnrollment(deps, token)
  const now = deps.clock.now()
  if (open.recovery !== undefined) refuseEarly(open.recovery, now)
  if (!givesFactor(open.enrollment, open.user, now)) throw refusal('enrollment_invalid')
  return open
}

/**
 * Checks whether a person may enrol a factor by this link. The set-up link and a link issued by the operator always allow it.
 * An invitation to an account allows it only to a person who has not enrolled, and if it comes from an owner, only to a person
 * whom that same owner's invitation made: any owner may invite any address, and could otherwise take over its holder. The same holds
 * for a link of recovery, which works only while its offer is open at the person.
 */
export function givesFactor(
  { account_id, by_operator, recovery }: Pick<Enrollment, 'account_id' | 'by_operator' | 'recovery'>,
  user: Pick<User, 'enrolled_at' | 'invited_by_account' | 'recovery' | 'factor_epoch'> | undefined,
  now: Date,
): boolean {
  if (account_id === undefined || user === undefined) return true
  if (recovery)
    return user.invited_by_account === account_id && openRecovery(user, now)?.account_id === account_id
  return user.enrolled_at === null && (by_operator === true || user.invited_by_account === account_id)
}

/** What a person types when they enrol; those invited type nothing. */
interface Typed {
  email?: string | undefined
  name?: string | undefined
  account_name?: string | undefined
}

/** Returns who enrols: the person, or the owner as typed. @throws Refusal `<field> required`, `invalid_field`, `email_taken` */
async function profileFor(
  deps: PeopleDeps,
  { user }: OpenEnrollment,
  typed: Typed,
): Promise<{ email: string; name: string; account_name?: string }> {
  if (user !== undefined) return { email: user.email, name: user.name }
  if (typed.email === undefined) throw fieldRequired('email')
  if (typed.name === undefined) throw fieldRequired('name')
  const email = normaliseEmail(typed.email)
  if (email === undefined) throw invalidField('email', 'is not an e-mail address')
  if ((await deps.users.findByEmail(email)) !== undefined) throw refusal('email_taken')
  return { email, name: typed.name, ...given({ account_name: typed.account_name }) }
}

/**
 * Starts the registration under a link. The first owner's e-mail and names are fixed here, with the challenge.
 * @throws Refusal `enrollment_invalid`, `<field> required`, `invalid_field`, `email_taken`
 */
export async function startPasskeyEnrollment(
  deps: FlowDeps,
  input: Typed & { token: string },
): Promise<{ options: PublicKeyCredentialCreationOptionsJSON }> {
  const open = await openForEnrolling(deps, input.token)
  const typed = await profileFor(deps, open, input)
  const profile = { ...typed, user_handle: open.user?.user_handle ?? drawUserHandle(deps) }
  const subject = open.enrollment.id
  const challenge = await drawChallenge(deps, { purpose: 'enroll', subject, profile })
  const existing = open.user?.passkeys ?? []
  const attested = (await ruleOf(deps, open)) !== undefined
  const options = { party: deps.party, challenge, person: profile, existing, attested }
  return { options: await registrationOptions(options) }
}

/** No rule for the first owner, who has no account yet, nor for a person whom an earlier holder's policy could keep out. */
async function ruleOf(
  deps: PeopleDeps,
  { user, enrollment }: OpenEnrollment,
): Promise<Authenticators | undefined> {
  if (user === undefined || replaces(enrollment, user)) return undefined
  return enrollingRule(deps, user, enrollment.account_id)
}

/**
 * Finishes the enrolment: the person has a passkey and is signed in.
 * @throws Refusal `enrollment_invalid`, `challenge_invalid`, `passkey_refused`, `authenticator_refused`, `passkey_exists`,
 * `email_taken`
 */
export async function enrollWithPasskey(
  deps: FlowDeps,
  input: { token: string; passkey_name: string; credential: RegistrationResponseJSON },
  client: Client,
): Promise<EnrollmentGrant> {
  const open = await openForEnrolling(deps, input.token)
  const subject = open.enrollment.id
  const { expectedChallenge, challenge } = await takeChallenge(deps, input.credential, 'enroll', { subject })
  if (challenge.profile === undefined) throw refusal('challenge_invalid')
  const passkey = await registerPasskey(deps, {
    name: input.passkey_name,
    response: input.credential,
    expectedChallenge,
    authenticators: await ruleOf(deps, open),
  })
  const change = (user: { passkeys: (typeof passkey)[] }) => ({ passkeys: [...user.passkeys, passkey] })
  const factor = { method: 'passkey', by: passkey.credential_id, change } as const
  return finishEnrollment(deps, open, challenge.profile, factor, client)
}

/**
 * Draws a seed under a link and shows it; the seed counts only after one right code (T28).
 * @throws Refusal `enrollment_invalid`, `<field> required`, `invalid_field`, `email_taken`
 */
export async function startTotpEnrollment(
  deps: FlowDeps,
  input: Typed & { token: string },
): Promise<TotpSetUp> {
  const open = await openForEnrolling(deps, input.token)
  const profile = await profileFor(deps, open, input)
  const user_id = open.user?.id ?? drawId(deps, 'usr')
  const { sealed_seed, shown } = drawSeed(deps, { id: user_id, email: profile.email })
  await deps.enrollments.setPending(open.enrollment.id, { ...profile, user_id, sealed_seed })
  return shown
}

/**
 * Finishes the enrolment with the first code. Five wrong codes end the link.
 * @returns the grant, and ten backup codes, shown once
 * @throws Refusal `enrollment_invalid`, `totp_not_started`, `totp_refused`, `email_taken`
 */
export async function enrollWithTotp(
  deps: FlowDeps,
  input: { token: string; code: string },
  client: Client,
): Promise<EnrollmentGrant & { backup_codes: string[] }> {
  const open = await openForEnrolling(deps, input.token)
  const { pending } = open.enrollment
  if (pending === undefined) throw refusal('totp_not_started')
  if (!isCodeShaped(input.code)) throw refusal('totp_refused')
  if (!(await deps.enrollments.takeTry(open.enrollment.id))) throw refusal('enrollment_invalid')
  const totp = confirmTotp(deps, pending, input.code, deps.clock.now())
  const backup = drawBackupCodes(deps, pending.user_id)
  const { email, name, account_name, user_id: id } = pending
  const owner = { email, name, id, ...given({ account_name }) }
  const change = () => ({ totp, totp_pending: null, backup_codes: backup.hashes })
  const grant = await finishEnrollment(deps, open, owner, { method: 'totp', by: 'totp', change }, client)
  return { ...grant, backup_codes: backup.codes }
}

/** The first owner, as fixed when the ceremony began. */
interface NewOwner {
  email: string
  name: string
  account_name?: string
  id?: string
  user_handle?: string
}

/**
 * Stores the person's new factor and signs them in; from now on codes may sign in on this browser. A link enrols once. Of parallel
 * enrolments by a set-up link or an account's invitation, the write on the person lets one pass, so such a link outlasts a failure
 * before it. The operator's link would let both pass, and is used up first. The person's earlier sessions and
 * notifications end: a renewed invitation is how a person gets rid of an intruder (T23). Enrolling by an
 * invitation to an account accepts it; should the service stop before that, the person signs in and accepts by the same link.
 * @throws Refusal `enrollment_invalid` when another enrolment was faster, even one by another set-up link
 */
export async function finishEnrollment(
  deps: FlowDeps,
  open: OpenEnrollment,
  owner: NewOwner | undefined,
  factor: NewFactor,
  client: Client,
): Promise<EnrollmentGrant> {
  const { enrollment, user } = open
  if (user !== undefined && enrollment.account_id === undefined)
    await useUp(deps, enrollment, user, client.address)
  const device = drawDevice(deps)
  const plan = planEnrolment(deps, open, factor, { client, device: device.entry })
  const enrolled =
    user === undefined ? await insertOwner(deps, owner, plan) : await changeFresh(deps.users, user.id, plan)
  await afterEnrolling(deps, enrollment, enrolled, client.address)
  deps.log.info({ user_id: enrolled.id, method: factor.method }, 'enrolled')
  return { ...(await startSession(deps, enrolled, client, factor.method, factor.by)), device: device.token }
}

/** The factor to store, given what the person has. */
interface NewFactor {
  method: 'passkey' | 'totp'
  /** Its name in `Session.proven_by`. */
  by: string
  change: (user: User) => UserChange
}

/** Plans the write on the person. Where they replace somebody, or set up anew after a loss, every earlier factor goes with it. */
function planEnrolment(
  deps: FlowDeps,
  { enrollment, user, invitation }: OpenEnrollment,
  factor: NewFactor,
  { client, device }: { client: Client; device: User['devices'][number] },
) {
  const { address } = client
  return async (person: User): Promise<{ fields: UserChange; audit: User['audit'] }> => {
    // Checked again on the version being changed: the person may have enrolled by another link in between.
    const now = deps.clock.now()
    if (user !== undefined && !(givesFactor(enrollment, person, now) && sameFactors(user, person)))
      throw refusal('enrollment_invalid')
    const replaced = user !== undefined && replaces(enrollment, person)
    const lost = enrollment.recovery === true
    const gone = { ...(lost || replaced ? NO_FACTORS : {}), ...(replaced ? { chat: [] } : {}) }
    const before = { ...person, ...gone }
    const changed = factor.change(before)
    const passkey = factor.method === 'passkey' ? changed.passkeys?.at(-1) : undefined
    const added = factor.method === 'passkey' ? 'factor.passkey_added' : 'factor.totp_added'
    const again = person.enrolled_at === null ? {} : { again: true }
    return {
      fields: {
        ...gone,
        ...(lost || replaced ? { totp: null, totp_pending: null, delegate: null } : {}),
        ...(lost ? { recovery: null } : {}),
        ...changed,
        devices: withDevice(before.devices, device),
        ...nextFactorEpoch(person),
        ...(person.enrolled_at === null ? { enrolled_at: now } : {}),
      },
      audit: [
        personAudit(deps, 'user.enrolled', person, { address, detail: { method: factor.method, ...again } }),
        personAudit(deps, added, person, { address, detail: passkey && subjectOfPasskey(person, passkey) }),
        ...(lost ? await auditOfLoss(deps, person, invitation, address) : []),
      ],
    }
  }
}

/** Makes the entry for the account whose owner offered it, and those for a delegate whom a thief may have named. */
async function auditOfLoss(
  deps: FlowDeps,
  person: User,
  invitation: OpenEnrollment['invitation'],
  address: string,
): Promise<User['audit']> {
  const ended = await withoutDelegate(deps, person, { address })
  const actor = { kind: 'user', id: person.id, address } as const
  const told =
    invitation && memberAudit(deps, 'member.recovered', invitation.account, invitation.member, actor)
  return [...(told === undefined ? [] : [told]), ...(ended?.audit ?? [])]
}

/**
 * Uses up the operator's link, and ends the person's notifications: should the service stop right after the person's write, no
 * browser of an intruder is left. One that is registered at this moment is ended after that write.
 * @throws Refusal `enrollment_invalid`
 */
async function useUp(deps: FlowDeps, { id }: Enrollment, user: User, address: string): Promise<void> {
  if (!(await deps.enrollments.consume(id))) throw refusal('enrollment_invalid')
  await removeAllDevices(deps, user, { kind: 'user', id: user.id, address }, 'enrolled_again')
}

/** Does what follows from the person's write. */
async function afterEnrolling(
  deps: FlowDeps,
  enrollment: Enrollment,
  person: User,
  address: string,
): Promise<void> {
  const { id, kind, account_id } = enrollment
  // Void already: a person exists.
  if (kind === 'setup') return void (await deps.enrollments.consume(id))
  const actor = { kind: 'user', id: person.id, address } as const
  await endAllSessions(deps, person, actor, 'enrolled_again')
  // Their address still tells a person whose sign-in was taken over; nothing signs in by it.
  await removeAllDevices(deps, person, actor, 'enrolled_again', { butMail: enrollment.recovery === true })
  if (replaces(enrollment, person)) await takeOver(deps, person, address)
  if (account_id !== undefined) await joinByEnrolling(deps, account_id, { userId: person.id, address })
}

/** Is an earlier holder replaced? The operator vouches for the link's recipient, not for a person who enrolled before. */
function replaces({ account_id }: OpenEnrollment['enrollment'], person: User): boolean {
  return account_id === undefined && !isVouchedFor(person)
}

const NO_FACTORS = { passkeys: [], backup_codes: [], devices: [] } satisfies Partial<User>

async function insertOwner(
  deps: PeopleDeps,
  owner: NewOwner | undefined,
  plan: ReturnType<typeof planEnrolment>,
): Promise<User> {
  if (owner === undefined) throw refusal('enrollment_invalid')
  const { user, account } = newPerson(deps, owner)
  const { fields, audit } = await plan(user)
  const {
    totp,
    no_account: _a,
    totp_pending: _p,
    delegate: _d,
    invited_by_account: _i,
    erasing: _e,
    recovery: _r,
    ...plain
  } = fields
  const enrolled: User = { ...user, ...plain, ...(totp ? { totp } : {}), founder: true, audit }
  // The account first: a person without an account would count as existing and end the set-up for good.
  await deps.accounts.insert(account)
  await deps.users.insert(enrolled)
  return enrolled
}
