import type { Account } from '../../domain/account.ts'
import {
  type ApiKey,
  formatApiKey,
  keyPrefix,
  RAW_KEY_BYTES,
  SCOPES,
  type Scope,
} from '../../domain/api-key.ts'
import { type AuditActor, type AuditEntry, type AuditType, drawEntry } from '../../domain/audit.ts'
import { invalidField, refusal } from '../../domain/errors.ts'
import { drawEvent } from '../../domain/event.ts'
import { keyData } from '../../domain/event-data.ts'
import { given } from '../../domain/given.ts'
import { drawId, isId } from '../../domain/identifier.ts'
import { type KeyPolicy, policyFor } from '../../domain/policy.ts'
import type { FlowDeps } from '../deps.ts'
import { readPolicy, refuseDoubles } from '../people/manage-account.ts'
import { personAudit } from '../people/person.ts'
import type { SignedIn } from '../people/sessions.ts'
import { type Proof, proveFactor } from '../people/step-up.ts'

/** The key to be made. Without `scopes` it gets all three. */
export interface NewKey {
  accountId: string
  name: string
  sandbox: boolean
  scopes?: Scope[]
  /** All its requests are high impact. */
  source_control?: boolean
  /** The key's id, instead of a fresh one. */
  id?: string
  /** The bootstrap (`bst_…`) through which an agent, not the owner, receives the key: its event says so. */
  consentId?: string
}

/** Most live keys of an account. Needed because lists of keys, and of their secrets, are returned whole. */
export const MAX_LIVE_KEYS = 100

/**
 * Makes a key. The raw key is returned only here and kept nowhere: only its keyed hash is stored (T52).
 * @throws Refusal `key_limit`
 */
export async function createApiKey(
  deps: FlowDeps,
  input: NewKey,
  actor: AuditActor,
): Promise<{ raw_key: string; key: ApiKey }> {
  const made = drawKey(deps, input, actor)
  if ((await deps.apiKeys.insert(made.key, MAX_LIVE_KEYS)) === 'full') throw refusal('key_limit')
  return made
}

/** @throws Refusal `key_limit` when the account has as many live keys as it may have */
export async function refuseFullAccount(deps: FlowDeps, accountId: string): Promise<void> {
  if ((await deps.apiKeys.countLive(accountId)) >= MAX_LIVE_KEYS) throw refusal('key_limit')
}

/** Draws a key; it is worth nothing until it is stored. */
export function drawKey(
  deps: FlowDeps,
  input: NewKey,
  actor: AuditActor,
): { raw_key: string; key: ApiKey & { key_hash: string } } {
  const { raw_key, ...secret } = drawSecret(deps, input.sandbox)
  return { raw_key, key: { ...buildKey(deps, input, actor, secret), ...secret } }
}

/** Draws another secret for an existing key, and the event that reports it. */
export function redrawSecret(deps: FlowDeps, key: ApiKey, actor: AuditActor, consentId: string) {
  const { raw_key, ...secret } = drawSecret(deps, key.sandbox)
  const { event } = outboxOf(deps, 'key.created', { ...key, ...secret }, actor, deps.clock.now(), consentId)
  return { raw_key, secret, event }
}

/** Draws the secret part of a key. */
function drawSecret(
  deps: FlowDeps,
  sandbox: boolean,
): { raw_key: string; key_hash: string; key_prefix: string } {
  const raw_key = formatApiKey(sandbox, deps.random.bytes(RAW_KEY_BYTES))
  return { raw_key, key_hash: deps.vault.hash('api-key', raw_key), key_prefix: keyPrefix(raw_key) }
}

/** Returns the pseudo-key through which the internal token acts in a user's account; it is made on first use. */
export function internalKeyOf(deps: FlowDeps, accountId: string): Promise<ApiKey> {
  const input = { accountId, name: 'Internal service', sandbox: false }
  const key = buildKey(deps, input, { kind: 'service' }, { key_prefix: 'internal' })
  return deps.apiKeys.internalKey({ ...key, internal: true })
}

/**
 * Revokes a key at once and for ever; its open waits end.
 * @param accountId undefined = any account (command line)
 * @throws Refusal `not_found` when the key is unknown, foreign or already revoked
 */
export async function revokeApiKey(
  deps: FlowDeps,
  id: string,
  accountId: string | undefined,
  actor: AuditActor,
): Promise<ApiKey> {
  const found = isId('key', id) ? await deps.apiKeys.find(id) : undefined
  if (found === undefined || found.internal === true) throw refusal('not_found')
  const at = deps.clock.now()
  const left = outboxOf(deps, 'key.revoked', found, actor, at)
  const revoked = await deps.apiKeys.revoke(id, accountId, at, left.event, left.audit)
  if (revoked === undefined) throw refusal('not_found')
  deps.changes.changed(id)
  return revoked
}

function buildKey(
  deps: FlowDeps,
  input: NewKey,
  actor: AuditActor,
  secret: Pick<ApiKey, 'key_hash' | 'key_prefix'>,
): ApiKey {
  const id = input.id ?? drawId(deps, 'key')
  const at = deps.clock.now()
  const { accountId: account_id, name, sandbox } = input
  const facts = { id, account_id, name, sandbox, ...secret }
  const { event, audit } = outboxOf(deps, 'key.created', facts, actor, at, input.consentId)
  return {
    ...facts,
    scopes: input.scopes ?? [...SCOPES],
    ...(input.source_control === true ? { source_control: true as const } : {}),
    secret_version: 1,
    created_at: at,
    last_used_at: null,
    revoked_at: null,
    outbox: [event],
    audit: [audit],
  }
}

function outboxOf(
  deps: FlowDeps,
  type: AuditType & ('key.created' | 'key.revoked'),
  key: Pick<ApiKey, 'id' | 'account_id' | 'name' | 'key_prefix' | 'sandbox'>,
  actor: AuditActor,
  at: Date,
  consentId?: string,
) {
  const from = actor.kind === 'public' ? actor.address : undefined
  const collected = consentId === undefined ? undefined : { consent_id: consentId, collected_from: from }
  const event = drawEvent(deps, type, at, { ...keyData(key), ...collected })
  const detail = consentId === undefined ? undefined : { consent_id: consentId }
  const audit = drawEntry(deps, { type, at, actor, account_id: key.account_id, subject: key.id, detail })
  return { event, audit }
}

/** The change to a key; omitted fields stay. `policy: null`: only the account's policy applies again. */
interface KeyChange {
  name?: string | undefined
  policy?: Loose<KeyPolicy> | null | undefined
  source_control?: boolean | undefined
}

type Loose<Fields> = { [Field in keyof Fields]: Fields[Field] | undefined }

/**
 * Changes a live key of the person's own account, from the next request on. Another policy or source-control mark needs a
 * fresh proof in either direction: what narrows today is what an intruder loosens tomorrow.
 * @throws Refusal `not_found`, `invalid_field`, `no_eligible_approver`, and those of `proveFactor`
 */
export async function changeApiKey(
  deps: FlowDeps,
  who: SignedIn,
  { id, change, proof }: { id: string; change: KeyChange; proof: Proof | undefined },
  address: string,
): Promise<ApiKey> {
  const { account_id } = who.user
  const key = isId('key', id) ? await deps.apiKeys.find(id) : undefined
  const mine = key?.account_id === account_id && key.internal !== true && key.revoked_at === null
  if (key === undefined || !mine) throw refusal('not_found')
  const account = await deps.accounts.find(account_id)
  if (account === undefined) throw refusal('not_found')
  const policy = narrowing(change.policy)
  if (policy !== undefined && policy !== null) await checkKeyPolicy(deps, account, policy)
  if (change.policy !== undefined || change.source_control !== undefined)
    await proveFactor(deps, who, { operation: 'key.change', target: id }, proof, address)
  const fields = {
    ...given({ name: change.name, policy }),
    ...(change.source_control === undefined ? {} : { source_control: change.source_control || null }),
  }
  if (Object.keys(fields).length === 0) return key
  const about = { address, subject: id, detail: detailOf(change, policy) }
  const audit = personAudit(deps, 'key.changed', who.user, about)
  const changed = await deps.apiKeys.change(id, account_id, fields, audit)
  if (changed === undefined) throw refusal('not_found')
  return changed
}

/** Returns the policy as it is stored: null if it sets nothing. */
function narrowing(policy: KeyChange['policy']): KeyPolicy | null | undefined {
  if (policy === undefined || policy === null) return policy
  const { approvers, quorum, passkey_only, high_impact } = policy
  const said = given({ approvers, quorum, passkey_only, high_impact })
  return Object.keys(said).length === 0 ? null : said
}

async function checkKeyPolicy(deps: FlowDeps, account: Account, policy: KeyPolicy): Promise<void> {
  const { approvers, quorum } = policy
  const named = policyFor(account, undefined).approvers
  if (approvers !== undefined) {
    refuseDoubles(approvers, 'policy.approvers')
    if (!approvers.every((id) => named.includes(id)))
      throw invalidField('policy.approvers', 'must be among the approvers of the account')
  }
  if (quorum !== undefined && quorum > (approvers ?? named).length)
    throw invalidField('policy.quorum', 'must not exceed the number of approvers')
  const { reachable } = await readPolicy(deps, account, policy)
  if (!reachable) throw refusal('no_eligible_approver')
}

function detailOf(change: KeyChange, policy: KeyPolicy | null | undefined): AuditEntry['detail'] & object {
  const { name, source_control } = change
  return {
    ...given({ name, source_control, quorum: policy?.quorum }),
    ...(policy === undefined ? {} : { policy: policy !== null }),
    ...(policy?.approvers === undefined ? {} : { approvers: policy.approvers.join(' ') }),
    ...(policy?.passkey_only === undefined ? {} : { passkey_only: true }),
    ...(policy?.high_impact === undefined ? {} : { high_impact: true }),
  }
}
