import { type Account, DEFAULT_MONTHLY_QUOTA } from '../../domain/account.ts'
import { type AuditActor, type AuditEntry, type AuditType, drawEntry } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { drawId } from '../../domain/identifier.ts'
import { DEFAULT_POLICY } from '../../domain/policy.ts'
import { DEFAULT_TTL_SECONDS, isVouchedFor, normaliseEmail, type User } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/base64.ts'
import type { UserChange } from '../../store/people/users.ts'
import type { PeopleDeps } from '../deps.ts'

/** Draws a user handle at random: it must tell an authenticator nothing about the person (WebAuthn L3 §14.6.1). */
export function drawUserHandle(deps: PeopleDeps): string {
  return toBase64Url(deps.random.bytes(32))
}

/** Builds a person and their own account, which without a name of its own has the person's, as they are first stored, without factors. */
export function newPerson(
  deps: PeopleDeps,
  facts: { email: string; name: string; account_name?: string; id?: string; user_handle?: string } & Partial<
    Pick<User, 'home_account_id' | 'invited_by_account'>
  >,
): { user: User; account: Account } {
  const id = facts.id ?? drawId(deps, 'usr')
  const account_id = drawId(deps, 'acc')
  const created_at = deps.clock.now()
  return {
    account: emptyAccount(deps, { id: account_id, owner_id: id, name: facts.account_name ?? facts.name }),
    user: {
      id,
      email: facts.email,
      name: facts.name,
      account_id,
      ...given({ home_account_id: facts.home_account_id, invited_by_account: facts.invited_by_account }),
      approver: deps.vault.hash('approver', id).slice(0, 16),
      user_handle: facts.user_handle ?? drawUserHandle(deps),
      no_browsers: true,
      default_ttl_seconds: DEFAULT_TTL_SECONDS,
      passkeys: [],
      backup_codes: [],
      devices: [],
      chat: [],
      created_at,
      enrolled_at: null,
      version: 0,
      audit: [],
    },
  }
}

/**
 * Makes the account that an invited person does not have yet; without a name of its own it has the person's. The account first: that
 * write alone does no harm, and the call can be repeated.
 */
export async function makeOwnAccount(
  deps: PeopleDeps,
  person: User,
  { name, address }: { name?: string; address?: string },
): Promise<void> {
  const { id: owner_id, account_id: id } = person
  const account = emptyAccount(deps, { id, owner_id, name: name ?? person.name })
  await deps.accounts.insertNew(account)
  // An earlier call, or one at the same moment, may have stored it under another name.
  const { name: stored } = (await deps.accounts.find(id)) ?? account
  await changeFresh(deps.users, owner_id, (user) => {
    if (user.no_account === undefined) return undefined
    const about = { ...given({ address }), subject: id, detail: { name: stored } }
    return { fields: { no_account: null }, audit: [personAudit(deps, 'account.changed', user, about)] }
  })
}

function emptyAccount(deps: PeopleDeps, facts: Pick<Account, 'id' | 'owner_id' | 'name'>): Account {
  return {
    ...facts,
    policy: { ...DEFAULT_POLICY },
    channels: [],
    members: [],
    monthly_quota: DEFAULT_MONTHLY_QUOTA,
    no_webhooks: true,
    created_at: deps.clock.now(),
    version: 0,
  }
}

/** Makes an audit entry about a person, who is also its actor unless another one is given. */
export function personAudit(
  deps: PeopleDeps,
  type: AuditType,
  user: Pick<User, 'id'> & Partial<Pick<User, 'account_id'>>,
  more: { actor?: AuditActor; address?: string; subject?: string; detail?: AuditEntry['detail'] } = {},
): AuditEntry {
  const self: AuditActor = { kind: 'user', id: user.id, ...given({ address: more.address }) }
  return drawEntry(deps, {
    type,
    at: deps.clock.now(),
    actor: more.actor ?? self,
    account_id: user.account_id,
    subject: more.subject ?? user.id,
    detail: more.detail,
  })
}

/** Lost races in a row before giving up. */
const MAX_ATTEMPTS = 16

/** A collection in which a document is changed only if its version is still the one that was read. */
interface Versioned<Item, Fields> {
  find(id: string): Promise<Item | undefined>
  change(id: string, version: number, fields: Fields, audit: AuditEntry[]): Promise<Item | undefined>
}

/** The write to make; undefined: nothing is to be done. */
type Plan<Fields> = { fields: Fields; audit: AuditEntry[] } | undefined

/**
 * Changes a person or an account by one conditional write; when another process was faster, plans again on fresh data.
 * @param plan what to write; its refusals pass through
 * @throws Refusal `unavailable` after too many lost races, `not_found` when the id is unknown
 */
export async function changeFresh<Item extends { version: number }, Fields>(
  among: Versioned<Item, Fields>,
  id: string,
  plan: (item: Item) => Plan<Fields> | Promise<Plan<Fields>>,
): Promise<Item> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const item = await among.find(id)
    if (item === undefined) throw refusal('not_found')
    const planned = await plan(item)
    if (planned === undefined) return item
    const changed = await among.change(id, item.version, planned.fields, planned.audit)
    if (changed !== undefined) return changed
  }
  throw refusal('unavailable')
}

/**
 * As `changeFresh`, for what signed-in people change on themselves. Refuses if their factors changed after they were let in: an
 * intruder whose request was under way would keep what a reset takes away (T23).
 * @throws Refusal `not_signed_in`, and those of `changeFresh`
 */
export function changeOwn(
  deps: PeopleDeps,
  who: { user: User },
  plan: (user: User) => Plan<UserChange>,
): Promise<User> {
  return changeFresh(deps.users, who.user.id, (user) => {
    const planned = plan(user)
    if (!sameFactors(user, who.user)) throw refusal('not_signed_in')
    return planned
  })
}

/** Checks that no factors changed between two readings of a person. */
export function sameFactors(one: User, other: User): boolean {
  return (one.factor_epoch ?? 0) === (other.factor_epoch ?? 0)
}

/**
 * Undoes what a call has just added anywhere but on the person, if a reset or another enrolment came while the call was under
 * way: neither can have taken the addition away, and an intruder would have gained it afterwards (T23).
 * @param person as read when the call was let in
 * @throws Refusal `not_signed_in` after `undo`
 */
export async function undoIfReset(
  deps: PeopleDeps,
  person: User,
  undo: () => Promise<unknown>,
): Promise<void> {
  if (await hasSameFactors(deps, person)) return
  await undo()
  throw refusal('not_signed_in')
}

/** Checks whether the person still has the factors they had when they were read. */
export async function hasSameFactors({ users }: PeopleDeps, person: User): Promise<boolean> {
  const now = await users.find(person.id)
  return now !== undefined && sameFactors(now, person)
}

/** Fields that people may change on themselves without a proof: none of them affects who decides. */
type ProfileChange = Partial<Pick<User, 'name' | 'default_ttl_seconds' | 'next_steps_hidden'>>

/** Writes the fields given; without any, writes nothing. What the person wants to see is no entry of the trail. */
export async function changeProfile(
  deps: PeopleDeps,
  person: User,
  change: ProfileChange,
  address: string,
): Promise<User> {
  if (Object.keys(change).length === 0) return person
  const { next_steps_hidden: _view, ...detail } = change
  return changeFresh(deps.users, person.id, (user) => ({
    fields: change,
    audit:
      Object.keys(detail).length === 0 ? [] : [personAudit(deps, 'user.changed', user, { address, detail })],
  }))
}

/**
 * Records the operator's word that the person who enrolled under this address is its holder: from now on the internal token, and
 * agents that ask for a key, reach the person by it.
 * @throws Refusal `not_found`
 */
export async function vouchFor(deps: PeopleDeps, address: string, actor: AuditActor): Promise<User> {
  const email = normaliseEmail(address)
  const user = email === undefined ? undefined : await deps.users.findByEmail(email)
  if (user === undefined) throw refusal('not_found')
  if (isVouchedFor(user)) return user
  return changeFresh(deps.users, user.id, (person) => ({
    fields: { invited_by_account: null },
    audit: [personAudit(deps, 'user.changed', person, { actor, detail: { confirmed: true } })],
  }))
}
