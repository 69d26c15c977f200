import { isDeepStrictEqual } from 'node:util'
import { type Account, may, roleIn } from '../../domain/account.ts'
import type { AuditActor } from '../../domain/audit.ts'
import { type Authenticators, authenticatorWords } from '../../domain/authenticator.ts'
import { invalidField, refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { ALL, volumeWords } from '../../domain/hearing.ts'
import { monthAt } from '../../domain/limits.ts'
import { type KeyPolicy, type Policy, policyFor, requirementFor } from '../../domain/policy.ts'
import { factorsOf, isVouchedFor, normaliseEmail, type User } from '../../domain/user.ts'
import type { AccountView, PolicyView } from '../../domain/views.ts'
import type { FlowDeps, PeopleDeps } from '../deps.ts'
import { accessTo } from './accounts.ts'
import { changeFresh, makeOwnAccount, personAudit } from './person.ts'
import type { SignedIn } from './sessions.ts'
import { type Proof, proveFactor } from './step-up.ts'

/** @throws Refusal `not_found` for malformed, unknown and foreign accounts */
export async function viewAccount(deps: FlowDeps, person: User, wanted?: string): Promise<AccountView> {
  const { account, role } = await accessTo(deps, person, 'read_own', wanted)
  const month = monthAt(deps.clock.now())
  const [owner, used, policy] = await Promise.all([
    deps.users.find(account.owner_id),
    deps.quotas.used(account.id, month.name),
    may(role, 'manage') ? readPolicy(deps, account) : undefined,
  ])
  if (owner === undefined) throw new Error(`account ${account.id} has no owner`)
  return { account, role, owner, used, month, ...(policy === undefined ? {} : { policy }) }
}

/**
 * Makes an account of the person's own.
 * @throws Refusal `own_account_exists`
 */
export async function makeAccount(
  deps: FlowDeps,
  person: User,
  name: string,
  address: string,
): Promise<AccountView> {
  if (!person.no_account) throw refusal('own_account_exists')
  await makeOwnAccount(deps, person, { name, address })
  return viewAccount(deps, person)
}

/**
 * Renames the person's own account, for requests made from now on, sets whether its channels show names, from the next change of
 * each card on, or the reasons that approvers choose from.
 * @throws Refusal `not_found` unless the person manages it
 */
export async function changeAccount(
  deps: FlowDeps,
  person: User,
  wanted: Partial<Pick<Account, 'name' | 'names_in_channels' | 'reject_reasons' | 'volumes'>>,
  address: string,
): Promise<AccountView> {
  await accessTo(deps, person, 'manage')
  await changeFresh(deps.accounts, person.account_id, (account) => {
    const { id, name, names_in_channels = false, volumes = ALL } = account
    const isNew = wanted.volumes !== undefined && volumeWords(wanted.volumes) !== volumeWords(volumes)
    const isOther = !isDeepStrictEqual(wanted.reject_reasons, account.reject_reasons)
    const flat = given({
      name: wanted.name === name ? undefined : wanted.name,
      names_in_channels:
        wanted.names_in_channels === names_in_channels ? undefined : wanted.names_in_channels,
    })
    const lists = given({
      volumes: isNew ? wanted.volumes : undefined,
      reject_reasons: isOther ? wanted.reject_reasons : undefined,
    })
    const fields = { ...flat, ...lists }
    if (Object.keys(fields).length === 0) return undefined
    const said = given({
      volumes: lists.volumes && volumeWords(lists.volumes),
      reject_reasons: lists.reject_reasons?.join(' · '),
    })
    const about = { address, subject: id, detail: { ...flat, ...said } }
    return { fields, audit: [personAudit(deps, 'account.changed', person, about)] }
  })
  return viewAccount(deps, person)
}

/**
 * Sets how many requests this owner's account may make in a month, dry-runs included, from the next request on; 0: no limit.
 * @throws Refusal `not_found`
 */
export async function setQuota(
  deps: PeopleDeps,
  address: string,
  monthly_quota: number,
  actor: AuditActor,
): Promise<Account> {
  const isSame = (account: Account) => account.monthly_quota === monthly_quota
  return changeOwned(deps, address, { actor, fields: { monthly_quota }, isSame })
}

/**
 * Sets after how many days this owner's account erases its finished requests; 0: when the service does.
 * @throws Refusal `not_found`
 */
export async function setRetention(
  deps: PeopleDeps,
  address: string,
  days: number,
  actor: AuditActor,
): Promise<Account> {
  const isSame = ({ retention_days = 0 }: Account) => retention_days === days
  return changeOwned(deps, address, { actor, fields: { retention_days: days }, isSame })
}

interface OwnedChange {
  actor: AuditActor
  fields: Partial<Pick<Account, 'monthly_quota' | 'retention_days'>>
  isSame(account: Account): boolean
}

/** Changes the account that the person with this address owns. @throws Refusal `not_found` */
async function changeOwned(
  deps: PeopleDeps,
  address: string,
  { actor, fields, isSame }: OwnedChange,
): Promise<Account> {
  const email = normaliseEmail(address)
  const owner = email === undefined ? undefined : await deps.users.findByEmail(email)
  if (owner === undefined) throw refusal('not_found')
  if (owner.no_account) throw refusal('no_own_account')
  return changeFresh(deps.accounts, owner.account_id, (account) => {
    if (isSame(account)) return undefined
    const about = { actor, subject: account.id, detail: fields }
    return { fields, audit: [personAudit(deps, 'account.changed', owner, about)] }
  })
}

/** A policy as its owner sends it; omitted `reminders`, `confirmed_only`, `authenticators` stay. null: any authenticator. */
type NewPolicy = Omit<Policy, 'reminders' | 'confirmed_only' | 'authenticators'> &
  Partial<Pick<Policy, 'reminders' | 'confirmed_only'>> & { authenticators?: Authenticators | null }

/**
 * Replaces the policy of the person's own account; open requests keep the old one (T79).
 * @throws Refusal `invalid_field`, `no_eligible_approver` when no request could ever be approved under it, and those of
 * `proveFactor`
 */
export async function setPolicy(
  deps: PeopleDeps,
  who: SignedIn,
  { policy, proof }: { policy: NewPolicy; proof: Proof | undefined },
  address: string,
): Promise<Account> {
  const { account_id } = who.user
  const account = await deps.accounts.find(account_id)
  if (account === undefined) throw refusal('not_found')
  const { authenticators } = await checkPolicy(deps, account, policy)
  await proveFactor(deps, who, { operation: 'policy.change', authenticators }, proof, address)
  return changeFresh(deps.accounts, account_id, async (fresh) => {
    const next = await checkPolicy(deps, fresh, policy)
    const { quorum, passkey_only, high_impact, confirmed_only, authenticators } = next
    // An empty list means the owner alone. The entry says who, not how many: an exchange must not look like no change.
    const approvers = next.approvers.length > 0 ? next.approvers : [fresh.owner_id]
    const detail = {
      quorum,
      passkey_only,
      high_impact,
      ...(confirmed_only ? { confirmed_only } : {}),
      ...(authenticators === undefined ? {} : { authenticators: authenticatorWords(authenticators) }),
      approvers: approvers.join(' '),
    }
    const audit = personAudit(deps, 'policy.changed', who.user, { address, subject: account_id, detail })
    return { fields: { policy: next }, audit: [audit] }
  })
}

/** @returns the policy as it is stored */
async function checkPolicy(deps: PeopleDeps, account: Account, wanted: NewPolicy): Promise<Policy> {
  const { approvers, quorum } = wanted
  refuseDoubles(approvers)
  if (!approvers.every((id) => may(roleIn(account, id), 'decide')))
    throw invalidField('approvers', 'must be the owner or members who are approvers')
  if (quorum > Math.max(1, approvers.length))
    throw invalidField('quorum', 'must not exceed the number of approvers')
  const { authenticators = account.policy.authenticators ?? null, ...rules } = wanted
  if (wanted.authenticators && !deps.models.known)
    throw invalidField(
      'authenticators',
      'needs metadata of authenticators; the operator sets FIDO_METADATA_FILE',
    )
  const { reminders, confirmed_only } = account.policy
  const named = authenticators === null ? {} : { authenticators }
  const policy = { reminders, confirmed_only, ...rules, ...named }
  const { reachable } = await readPolicy(deps, { ...account, policy })
  if (!reachable) throw refusal('no_eligible_approver')
  return policy
}

/** @throws Refusal `invalid_field` */
export function refuseDoubles(approvers: readonly string[], field = 'approvers'): void {
  if (new Set(approvers).size < approvers.length) throw invalidField(field, 'must not name a person twice')
}

/** Reads the account's policy, or, with `key`, the policy for that key's requests, and who would decide now. */
export async function readPolicy(
  deps: PeopleDeps,
  account: Pick<Account, 'owner_id' | 'members' | 'policy'>,
  key?: KeyPolicy,
): Promise<PolicyView> {
  const policy = policyFor(account, key)
  const found = await deps.users.findMany(policy.approvers)
  const approvers = policy.approvers.flatMap((id) => {
    const user = found.find((person) => person.id === id)
    const role = roleIn(account, id)
    return user === undefined ? [] : [{ user, eligible: may(role, 'decide'), inside: role !== undefined }]
  })
  const able = approvers
    .filter(({ eligible }) => eligible)
    .map(({ user }) => ({
      user_id: user.id,
      approver: user.approver,
      confirmed: isVouchedFor(user),
      ...factorsOf(user, policy.authenticators),
    }))
  return { policy, approvers, reachable: requirementFor(policy, able) !== undefined }
}
