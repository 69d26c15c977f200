import type { AuditActor } from '../../domain/audit.ts'
import { identityKey } from '../../domain/chat.ts'
import { invalidField, refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { drawId } from '../../domain/identifier.ts'
import { nextFactorEpoch, normaliseEmail, type User } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/base64.ts'
import type { Enrollment } from '../../store/people/enrollments.ts'
import type { FlowDeps, PeopleDeps } from '../deps.ts'
import { withoutDelegate } from '../people/delegates.ts'
import { changeFresh, newPerson, personAudit } from '../people/person.ts'
import { endAllSessions } from '../people/sessions.ts'
import { removeAllDevices } from '../tell/manage-devices.ts'
import { queueForPerson } from '../tell/trouble.ts'

/**
 * Makes a person with an account of their own, and a link by which they enrol within seven days.
 * @throws Refusal `invalid_field`, `email_taken`
 */
export async function inviteUser(
  deps: PeopleDeps,
  input: { email: string; name?: string; account_name?: string },
  actor: AuditActor,
): Promise<{ user: User; link: EnrollmentLink }> {
  const email = normaliseEmail(input.email)
  if (email === undefined) throw invalidField('email', 'is not an e-mail address')
  if ((await deps.users.findByEmail(email)) !== undefined) throw refusal('email_taken')
  const name = input.name?.trim() || email.slice(0, email.indexOf('@'))
  const { user, account } = newPerson(deps, { email, name, ...given({ account_name: input.account_name }) })
  // The account first: should the service stop in between, an account without an owner does no harm.
  await deps.accounts.insert(account)
  const invited = { ...user, audit: [personAudit(deps, 'user.invited', user, { actor })] }
  await deps.users.insert(invited)
  return { user: invited, link: await issueOperatorLink(deps, user.id) }
}

/**
 * Issues a new link to an existing person whose link expired or who lost every factor. What they enrol is added to what they
 * have, or replaces it if they were not vouched for. Only the operator may ask for it (command line); their open links end.
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

/** The outcome of `resetPerson`: the person as they were before, and how many sessions, open links and browsers for pushes ended. */
export interface ResetPerson {
  before: User
  sessions: number
  links: number
  pushDevices: number
}

/**
 * Takes away everything by which the person signs in and decides, and what an intruder may have left: open links, chat accounts,
 * the delegate, notifications. From the one write on the person on, no factor, session or delegate counts, nor does anything that
 * a request under way would add; the steps after it may be interrupted and repeated.
 * @throws Refusal `not_found`
 */
export async function resetPerson(
  deps: FlowDeps,
  input: { email: string },
  actor: AuditActor,
): Promise<ResetPerson> {
  const email = normaliseEmail(input.email)
  const found = email === undefined ? undefined : await deps.users.findByEmail(email)
  if (found === undefined) throw refusal('not_found')
  return resetFound(deps, found, actor)
}

/** As `resetPerson`, for whoever has this id: the address may have gone to somebody else. */
export async function resetFound(deps: FlowDeps, found: User, actor: AuditActor): Promise<ResetPerson> {
  // Links first: one that stays open would give a factor again.
  const links = await deps.enrollments.revokeOpen('invite', { user_id: found.id })
  let before = found
  const user = await changeFresh(deps.users, found.id, async (person) => {
    before = person
    const passkeys = person.passkeys.map(({ id }) =>
      personAudit(deps, 'factor.passkey_removed', person, { actor, detail: { passkey: id } }),
    )
    const totp =
      person.totp === undefined ? [] : [personAudit(deps, 'factor.totp_removed', person, { actor })]
    const chat = person.chat.map((identity) =>
      personAudit(deps, 'chat.unlinked', person, { actor, detail: { identity: identityKey(identity) } }),
    )
    const standIn = (await withoutDelegate(deps, person, { actor }))?.audit ?? []
    return {
      fields: { ...NO_FACTORS, ...nextFactorEpoch(person), delegate: null },
      audit: [personAudit(deps, 'user.reset', person, { actor }), ...passkeys, ...totp, ...chat, ...standIn],
    }
  })
  const sessions = await endAllSessions(deps, user, actor, 'reset')
  const pushDevices = await removeAllDevices(deps, user, actor, 'reset')
  for (const platform of new Set(before.chat.map((identity) => identity.platform)))
    await queueForPerson(deps, user, platform)
  deps.log.info({ user_id: user.id }, 'reset')
  return { before, sessions, links, pushDevices }
}

const NO_FACTORS = { passkeys: [], totp: null, totp_pending: null, backup_codes: [], devices: [], chat: [] }

/**
 * Issues the link by which the first owner signs up: by a command, and in development at every start while no person exists. It
 * ends the previous link and expires after 24 hours. @returns undefined when a person exists
 */
export async function inviteFirstOwner(deps: PeopleDeps): Promise<EnrollmentLink | undefined> {
  if (await deps.users.any()) return undefined
  return issue(deps, { kind: 'setup' }, () => deps.enrollments.revokeOpen('setup'))
}

/** A one-time link. It is shown once; only its token's hash is stored. `ended`: how many earlier links it replaced. */
export interface EnrollmentLink {
  url: string
  expires_at: Date
  ended: number
}

type LinkFacts = Pick<Enrollment, 'kind' | 'user_id' | 'account_id' | 'by_operator' | 'recovery'> & {
  expires_at?: Date
}

const LIFETIME_MS = { invite: 7 * 86_400_000, setup: 86_400_000 } as const

/** Issues a link on the operator's word that this person may enrol a factor. Every other open link of theirs ends. */
function issueOperatorLink(deps: PeopleDeps, userId: string): Promise<EnrollmentLink> {
  const of = { user_id: userId }
  return issue(deps, { kind: 'invite', ...of }, () => deps.enrollments.revokeOpen('invite', of))
}

/**
 * Issues an invitation to become a member. It ends the account's earlier invitations to this person, except that an owner's
 * link does not end the operator's, which allows more.
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

/** Issues the link of an offer at the person (`openRecovery`), which it takes to work. It ends the account's earlier ones to this person. */
export function issueRecoveryLink(
  deps: PeopleDeps,
  member: { user_id: string; account_id: string },
  expires_at: Date,
): Promise<EnrollmentLink> {
  const end = () => deps.enrollments.revokeOpen('invite', { ...member, by_operator: null })
  return issue(deps, { kind: 'invite', ...member, recovery: true, expires_at }, end)
}

async function issue(
  deps: PeopleDeps,
  { expires_at: until, ...facts }: LinkFacts,
  endOthers: () => Promise<number>,
): Promise<EnrollmentLink> {
  const token = toBase64Url(deps.random.bytes(32))
  const created_at = deps.clock.now()
  const expires_at = until ?? new Date(created_at.getTime() + LIFETIME_MS[facts.kind])
  const ended = await endOthers()
  await deps.enrollments.insert({
    id: drawId(deps, 'enr'),
    ...facts,
    token_hash: deps.vault.hash('enrollment', token),
    tries: 0,
    created_at,
    expires_at,
  })
  // The token is in the fragment: it reaches neither a server's log nor a Referer header (T14).
  const path = facts.kind === 'setup' ? 'setup' : 'enroll'
  return { url: `${deps.party.origin}/${path}#${token}`, expires_at, ended }
}
