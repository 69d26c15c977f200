import { inShell } from '../config/secrets.ts'
import { MEMBER_ROLES, type Member } from '../domain/account.ts'
import { given } from '../domain/given.ts'
import { isId } from '../domain/identifier.ts'
import { factorsOf, isVouchedFor, type User, usablePasskeys } from '../domain/user.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { inviteMemberByOperator } from '../flow/joining/invite-member.ts'
import {
  type EnrollmentLink,
  inviteFirstOwner,
  inviteUser,
  renewInvitation,
} from '../flow/joining/invite-user.ts'
import { setQuota, setRetention } from '../flow/people/manage-account.ts'
import { vouchFor } from '../flow/people/person.ts'
import { CliError, type CommandResult, inWords, oneLine, oneOf, table, usageError } from './terminal.ts'
import { checkEmail, checkName, noAccountWords, withService } from './with-service.ts'

export interface InviteOptions {
  name?: string
  accountName?: string
  renew?: boolean
  /** Invites into this account as a member; together with `role`. */
  account?: string
  role?: string
}

/** `countersign user invite`: makes a person with an account of their own and a one-time link; `--renew`: only a new link. */
export function runInviteUser(address: string, options: InviteOptions): Promise<CommandResult> {
  const email = checkEmail(address)
  const name = options.name === undefined ? {} : { name: checkName(options.name) }
  const own = options.accountName === undefined ? {} : { account_name: checkName(options.accountName) }
  if (options.renew && (options.name ?? options.accountName) !== undefined)
    throw usageError('--renew keeps the names; leave out --name and --account-name.')
  const invite = async (deps: FlowDeps, made: string | undefined): Promise<CommandResult> => {
    const voids = made === undefined && !(await deps.users.any())
    const asked = options.renew
      ? renewInvitation(deps, { email }, { kind: 'cli' })
      : inviteUser(deps, { email, ...name, ...own }, { kind: 'cli' })
    const { user, link } = await asked.catch(whyNotInvited(email))
    const done = `${options.renew ? 'New link for' : 'Invited'} ${user.email} (${user.id}${user.no_account ? '' : `, account ${user.account_id}`}).`
    // Enrolling replaces all factors of a person whom the operator never vouched for, so none of them is kept.
    const kept = isVouchedFor(user) ? namesOfFactors(counting(user)) : []
    const warning =
      kept.length === 0
        ? ''
        : `\n\nThese still sign in and decide: ${kept.join(', ')}. If one is lost, first remove all of them: countersign user reset ${inShell(user.email)}`
    return {
      value: {
        user_id: user.id,
        account_id: ownAccountOf(user),
        ...presentLink(link),
        factors_kept: options.renew ? kept : undefined,
        new_store: made,
      },
      text:
        (made === undefined ? '' : newStoreText(made)) +
        linkText(done, SEND_LINK, link, 'Their earlier links no longer work.') +
        (voids ? INSTEAD : '') +
        warning,
    }
  }
  return withService(invite, { fresh: !options.renew })
}

const INSTEAD =
  '\n\nAny link for the first owner, printed at the start or by “user owner-link”, no longer works.'

/** `countersign user owner-link`: makes the one-time link by which the first owner signs up. */
export function runOwnerLink(): Promise<CommandResult> {
  return withService(async (deps) => {
    const link = await inviteFirstOwner(deps)
    if (link === undefined)
      throw new CliError(
        'owner_exists',
        'Somebody has signed up or was invited; see: countersign user list. A new sign-in link: countersign user invite <email> --renew',
      )
    const { url, expires_at, ended } = link
    return {
      value: { setup_url: url, expires_at: expires_at.toISOString(), links_ended: ended },
      text: linkText(
        'Nobody has signed up yet.',
        'Open this one-time link to become the owner; it is shown only now and lets the first person who opens it sign up:',
        link,
        'Earlier links for the first owner no longer work.',
      ),
    }
  })
}

/** Tells that a new store was made, since a mistyped DATA_DIR makes one as well. */
function newStoreText(dataDir: string): string {
  return `There was no store in ${dataDir}; a new one was made there. If your service has another, set its DATA_DIR or MONGODB_URI and try again.\n`
}

function counting(user: User): Pick<User, 'passkeys' | 'totp'> {
  return { passkeys: usablePasskeys(user), ...(factorsOf(user).has_totp ? given({ totp: user.totp }) : {}) }
}

export function namesOfFactors({ passkeys, totp }: Pick<User, 'passkeys' | 'totp'>): string[] {
  const named = passkeys.map(({ name }) => `passkey "${oneLine(name)}"`)
  return totp === undefined ? named : [...named, 'authenticator app']
}

export function unknownPerson(email: string) {
  return inWords({ not_found: unknownUser(email) })
}

function unknownUser(email: string): [code: string, message: string] {
  return ['user_not_found', `No user has the address ${email}; see: countersign user list`]
}

function withoutAccount(email: string) {
  return inWords({ not_found: unknownUser(email), no_own_account: ['no_own_account', noAccountWords(email)] })
}

function whyNotInvited(email: string) {
  return inWords({
    email_taken: ['email_taken', `${email} exists already; for a new link add --renew.`],
    not_found: ['user_not_found', `No user has the address ${email}; to invite them leave out --renew.`],
  })
}

/** `countersign user invite --account … --role …`: invites a member into an account, by a one-time link. */
export function runInviteMember(address: string, options: InviteOptions): Promise<CommandResult> {
  const email = checkEmail(address)
  const name = options.name === undefined ? {} : { name: checkName(options.name) }
  const { accountId, role } = readMembership(options)
  if (options.accountName !== undefined)
    throw usageError(
      '--account-name is for an account of their own; leave out --account and --role, or --account-name.',
    )
  return withService(async (deps) => {
    const invite = inviteMemberByOperator(deps, accountId, { email, role, ...name })
    const { user, link } = await invite.catch(whyNotMember(email, accountId))
    return {
      value: {
        user_id: user.id,
        account_id: accountId,
        role,
        usable: isUsable(user),
        ...presentLink(link),
      },
      text: linkText(
        `Invited ${user.email} (${user.id}) into account ${accountId} as ${role}.`,
        joinWords(user),
        link,
        'Earlier links into this account no longer work.',
      ),
    }
  })
}

/** Whether a link into an account leads on: the person enrols by it, or signs in. */
function isUsable(user: User): boolean {
  const { has_passkey, has_totp } = factorsOf(user)
  return user.enrolled_at === null || has_passkey || has_totp
}

function joinWords(user: User): string {
  if (user.enrolled_at === null) return SEND_LINK
  return isUsable(user)
    ? 'They have signed up before: with this link they sign in and accept.'
    : `They have no factor left. First make them a new sign-in link: countersign user invite ${inShell(user.email)} --renew; then repeat this command, because that ends this link:`
}

const SEND_LINK =
  'Send them this one-time sign-in link. It is shown only now, and lets the first person who opens it sign up as them:'

function presentLink({ url, expires_at, ended }: EnrollmentLink) {
  return { enroll_url: url, expires_at: expires_at.toISOString(), links_ended: ended }
}

/** `former` says what became of earlier links, if there were any. */
function linkText(done: string, advice: string, { url, expires_at, ended }: EnrollmentLink, former: string) {
  const until = `It expires at ${expires_at.toISOString()}.`
  return [done, advice, '', `  ${url}`, '', ended === 0 ? until : `${until} ${former}`].join('\n')
}

function readMembership({ account, role, renew }: InviteOptions): {
  accountId: string
  role: Member['role']
} {
  if (renew)
    throw usageError(
      '--renew makes a sign-in link; leave out --account and --role. For a new invitation to an account leave out --renew.',
    )
  if (account === undefined || role === undefined)
    throw usageError('--account and --role go together: the account, and the role in it.')
  if (!isId('acc', account))
    throw usageError(`${JSON.stringify(account)} is not an account id (acc_…); see: countersign user list`)
  return { accountId: account, role: oneOf(MEMBER_ROLES, role, 'role') }
}

function whyNotMember(email: string, accountId: string) {
  const there = `${email} is already in account ${accountId}.`
  const none = `There is no account ${accountId}; see: countersign user list`
  return inWords({ not_found: ['account_not_found', none], member_exists: ['member_exists', there] })
}

/** `countersign user confirm`: the operator vouches for the address of a person whom an owner invited. */
export function runConfirmUser(address: string): Promise<CommandResult> {
  const email = checkEmail(address)
  return withService(async (deps) => {
    const user = await vouchFor(deps, email, { kind: 'cli' }).catch(unknownPerson(email))
    return {
      value: { user_id: user.id, email: user.email, confirmed: true },
      text: `${user.email} (${user.id}) is confirmed: the internal token and agents reach them by this address, and they count in accounts that accept only confirmed people.`,
    }
  })
}

/** `countersign user quota`: sets how many requests a month the account of a person may make. */
export function runSetQuota(address: string, requests: string): Promise<CommandResult> {
  const email = checkEmail(address)
  if (!/^\d{1,9}$/.test(requests))
    throw usageError(`${JSON.stringify(requests)} is not a number; give one from 0 (no limit) to 999999999.`)
  return withService(async (deps) => {
    const wanted = setQuota(deps, email, Number(requests), { kind: 'cli' })
    const { id, monthly_quota } = await wanted.catch(withoutAccount(email))
    const most =
      monthly_quota === 0
        ? 'any number of requests'
        : `at most ${monthly_quota} request${monthly_quota === 1 ? '' : 's'}`
    return {
      value: { account_id: id, monthly_quota },
      text: `The account of ${email} (${id}) may make ${most} a month, dry-runs included, from now on.`,
    }
  })
}

/** `countersign user retention`: sets after how many days the account of a person erases its finished requests. */
export function runSetRetention(address: string, days: string): Promise<CommandResult> {
  const email = checkEmail(address)
  if (!/^\d{1,4}$/.test(days))
    throw usageError(
      `${JSON.stringify(days)} is not a number of days; give one from 0 (as the service does) to 9999.`,
    )
  return withService(async (deps) => {
    const wanted = setRetention(deps, email, Number(days), { kind: 'cli' })
    const { id, retention_days = 0 } = await wanted.catch(withoutAccount(email))
    const when =
      retention_days === 0
        ? 'when the service does (RETENTION_DAYS)'
        : `${retention_days} days after they expire, or sooner if RETENTION_DAYS says so`
    return {
      value: { account_id: id, retention_days },
      text: `The account of ${email} (${id}) erases its finished requests ${when}.`,
    }
  })
}

/** A person, with their role and state in each account. */
interface Person {
  user: User
  accounts: { id: string; role: string; state: 'active' | 'invited' }[]
}

/** `countersign user list`: lists every person, oldest first. */
export function runListUsers(): Promise<CommandResult> {
  return withService(
    async (deps) => {
      const people: Person[] = []
      for (const user of await deps.users.list()) people.push({ user, accounts: await rolesOf(deps, user) })
      return {
        value: { data: people.map(presentPerson), next_cursor: null },
        text:
          people.length === 0 ? 'No one yet. Invite a person: countersign user invite <email>' : rows(people),
      }
    },
    { reads: true },
  )
}

/** Returns the accounts of a person, their own account first. */
async function rolesOf(deps: Pick<FlowDeps, 'accounts'>, user: User): Promise<Person['accounts']> {
  const found = await deps.accounts.ofPerson(user.id)
  const joined = found.flatMap(({ id, members }) =>
    members.filter(({ user_id }) => user_id === user.id).map(({ role, state }) => ({ id, role, state })),
  )
  const own = ownAccountOf(user)
  return own === null ? joined : [{ id: own, role: 'owner', state: 'active' }, ...joined]
}

/** Returns the id of the person's own account; null while an invited person has made none. */
function ownAccountOf({ account_id, no_account }: User): string | null {
  return no_account ? null : account_id
}

/** Returns the fields that the operator may see: never hashes, seeds or keys. */
function presentPerson({ user, accounts }: Person) {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    account_id: ownAccountOf(user),
    approver: user.approver,
    ...factorsOf(user),
    confirmed: isVouchedFor(user),
    created_at: user.created_at.toISOString(),
    enrolled_at: user.enrolled_at?.toISOString() ?? null,
    accounts,
  }
}

function rows(people: Person[]): string {
  const cells = people.map(({ user, accounts }) => [
    user.email,
    user.name,
    factors(user),
    isVouchedFor(user) ? 'yes' : 'no',
    user.id,
    accounts
      .map(({ id, role, state }) => `${id} ${role}${state === 'invited' ? ' (invited)' : ''}`)
      .join(', '),
  ])
  return table(['E-MAIL', 'NAME', 'FACTORS', 'CONFIRMED', 'USER', 'ACCOUNTS'], cells)
}

function factors(user: User): string {
  const { has_passkey, has_totp } = factorsOf(user)
  const held = [has_passkey ? 'passkey' : '', has_totp ? 'totp' : ''].filter((name) => name !== '')
  return held.length > 0 ? held.join(', ') : 'none yet'
}
