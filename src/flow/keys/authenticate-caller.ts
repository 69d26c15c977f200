import { type ApiKey, isWellFormedApiKey, SCOPES, type Scope } from '../../domain/api-key.ts'
import { type AuditActor, drawEntry } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import { isVouchedFor, normaliseEmail } from '../../domain/user.ts'
import { equalHex } from '../../signing/digest.ts'
import type { FlowDeps } from '../deps.ts'
import { makeOwnAccount } from '../people/person.ts'
import { internalKeyOf } from './manage-api-keys.ts'

/** An authenticated caller: an API key, or the internal token acting for one user through the account's pseudo-key. */
export interface Caller {
  key: ApiKey
  scopes: readonly Scope[]
  address: string
  /** Set for the internal token: the user named in `X-Approver-Email`; only this person decides. */
  internal_user_id?: string
}

/** What authentication needs; `internalTokenHash` is undefined while the internal token is off. */
export type CallerDeps = FlowDeps & { internalTokenHash: string | undefined }

/** A credential as it was sent. */
export interface Credential {
  token: string
  /** `X-Approver-Email`, if sent. */
  email: string | undefined
  address: string
}

/**
 * Authenticates an API key: form and checksum, then the keyed hash, read from the store each time, so that revoking is immediate
 * (T54).
 * @throws Refusal `invalid or missing API key`, `approver_email_not_allowed` (T47)
 */
export async function authenticateApiKey(
  deps: CallerDeps,
  { token, email, address }: Credential,
): Promise<Caller> {
  if (!isWellFormedApiKey(token)) throw refusal('invalid or missing API key')
  const hash = deps.vault.hash('api-key', token)
  const key = await deps.apiKeys.findActiveByHash(hash)
  if (key?.key_hash === undefined || !equalHex(key.key_hash, hash))
    throw refusal('invalid or missing API key')
  if (email !== undefined) throw refusal('approver_email_not_allowed')
  deps.apiKeys.touch(key.id, deps.clock.now()).catch((error: unknown) => {
    deps.log.warn({ error, key_id: key.id }, 'recording the use of an API key failed')
  })
  return { key, scopes: key.scopes, address }
}

/**
 * Authenticates the internal token and audits its use (T47). It acts in the account of the user it names, through the account's
 * pseudo-key.
 * @throws Refusal `invalid or missing API key` (also while the credential is off), `approver_email_required`, `approver_not_found`
 */
export async function authenticateInternal(
  deps: CallerDeps,
  { token, email, address }: Credential,
): Promise<Caller> {
  const hash = deps.vault.hash('internal-token', token.slice('internal-'.length))
  if (deps.internalTokenHash === undefined || !equalHex(deps.internalTokenHash, hash)) {
    throw refusal('invalid or missing API key')
  }
  if (email === undefined || email.trim() === '') throw refusal('approver_email_required')
  const normalised = normaliseEmail(email)
  const user = normalised === undefined ? undefined : await deps.users.findByEmail(normalised)
  if (user === undefined || !isVouchedFor(user)) throw refusal('approver_not_found')
  // What the token asks such a person is the person's own matter, not that of whoever invited them.
  if (user.no_account) await makeOwnAccount(deps, user, {})
  const key = await internalKeyOf(deps, user.account_id)
  const used = drawEntry(deps, {
    type: 'internal_token.used',
    at: deps.clock.now(),
    actor: { kind: 'internal', id: key.id, address },
    account_id: user.account_id,
    subject: user.id,
  })
  await deps.audit.append(used)
  return { key, scopes: SCOPES, address, internal_user_id: user.id }
}

/** Returns the caller as an actor of the audit trail. */
export function callerActor(caller: Caller): AuditActor {
  const kind = caller.internal_user_id === undefined ? 'api_key' : 'internal'
  return { kind, id: caller.key.id, address: caller.address }
}
