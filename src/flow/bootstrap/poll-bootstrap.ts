import { createHash, timingSafeEqual } from 'node:crypto'
import { type Bootstrap, POLL_LEAST_MS, POLL_SECONDS, REPLACE_SECONDS } from '../../domain/bootstrap.ts'
import { refusal } from '../../domain/errors.ts'
import type { PollAnswer } from '../../domain/views.ts'
import type { FlowDeps } from '../deps.ts'
import { drawKey, MAX_LIVE_KEYS, redrawSecret } from '../keys/manage-api-keys.ts'
import { stillCounts } from '../people/recent-proof.ts'
import { bootstrapAudit, settleBootstrap } from './settle-bootstrap.ts'
import { bootstrapHash } from './start-bootstrap.ts'

/** A poll, as the caller sends it. */
export interface Poll {
  bootstrapId: string
  /** `code_verifier`, if one was sent. */
  verifier: string | undefined
  address: string
}

/**
 * Answers a poll (interface, endpoint 6). A caller that does not prove the verifier learns nothing, not even whether the request
 * was decided, and does not use up the real caller's turn.
 * @throws Refusal `not_found`, `code_verifier_refused`, `slow_down`
 */
export async function pollBootstrap(
  deps: FlowDeps,
  poll: Poll,
): Promise<PollAnswer & { bootstrap: Bootstrap }> {
  if (!/^boot_[A-Za-z0-9_-]{43}$/.test(poll.bootstrapId)) throw refusal('not_found')
  const found = await deps.bootstraps.findBySecret(bootstrapHash(deps, poll.bootstrapId))
  if (found === undefined) throw refusal('not_found')
  if (found.code_challenge !== undefined && !proves(poll.verifier, found.code_challenge))
    throw refusal('code_verifier_refused')
  const now = deps.clock.now()
  const taken = await deps.bootstraps.poll(found.id, new Date(now.getTime() - POLL_LEAST_MS), now)
  if (!taken) throw refusal('slow_down', { retry_after: POLL_SECONDS, limit: 1 })
  const bootstrap = await settleBootstrap(deps, found)
  const { status } = bootstrap
  if (status === 'expired') return { status, reason: 'not_answered', bootstrap }
  if (status !== 'approved') return { status, bootstrap }
  if (bootstrap.collected === undefined && !(await stillStands(deps, bootstrap)))
    return { status: 'expired', reason: 'not_collected', bootstrap }
  const api_key = await handOutKey(deps, bootstrap, poll.address)
  if (api_key !== undefined) return { status, api_key, bootstrap }
  const reason = mayCollect(bootstrap, now) ? 'already_collected' : 'not_collected'
  return { status: 'expired', reason, bootstrap }
}

/**
 * Checks whether the owner still has the factor that consented, and whether it counts (T30, T88). The thief of a factor could have
 * consented to a key of their own, and would collect it after the factor was taken away (T23).
 */
async function stillStands(deps: FlowDeps, { consent }: Bootstrap): Promise<boolean> {
  if (consent === undefined) return false
  const owner = await deps.users.find(consent.user_id)
  if (owner === undefined) return false
  const { at, evidence } = consent
  return stillCounts(deps, owner, { by: evidence.type === 'passkey' ? evidence.credential_id : 'totp', at })
}

/** Checks whether the key was collected, or there is still time to collect it. */
function mayCollect({ collected, collect_by }: Bootstrap, now: Date): boolean {
  return collected !== undefined || (collect_by !== undefined && now < collect_by)
}

/** Checks the verifier as RFC 7636, section 4.6, says. */
function proves(verifier: string | undefined, challenge: string): boolean {
  if (verifier === undefined || !/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  const digest = createHash('sha256').update(verifier).digest()
  const expected = Buffer.from(challenge, 'base64url')
  return expected.length === digest.length && timingSafeEqual(expected, digest)
}

/**
 * Makes the key of an approved bootstrap, at the first poll that gets here (T50). Claiming and making are one write: the key
 * has the id that the approval drew, so of any number of polls exactly one inserts the key and receives it. A process that dies
 * before that write leaves everything to the next poll. One that dies after it, before its answer arrived, leaves a key that
 * nobody holds: then a caller with a verifier gets a new secret for it, and a caller without one has to start again.
 * @returns the raw key, once; undefined when it was given out already, or the consent is too old
 * @throws Refusal `key_limit`: the account got that many keys since the consent; once one is revoked, a poll receives the key
 */
export async function handOutKey(
  deps: FlowDeps,
  bootstrap: Bootstrap,
  address: string,
): Promise<string | undefined> {
  const { key_id: id, account_id: accountId, collect_by: end } = bootstrap
  if (id === undefined || accountId === undefined || end === undefined) return undefined
  if (bootstrap.collected === undefined && deps.clock.now() < end) {
    const wanted = { accountId, name: bootstrap.client_name, sandbox: false, scopes: bootstrap.scopes }
    const actor = { kind: 'public', address } as const
    const { raw_key, key } = drawKey(deps, { ...wanted, id, consentId: bootstrap.id }, actor)
    const made = await deps.apiKeys.insert(key, MAX_LIVE_KEYS)
    if (made === 'made') return raw_key
    if (made === 'full') throw refusal('key_limit')
  }
  // The caller has proved its verifier before this point.
  return bootstrap.code_challenge === undefined ? undefined : replaceSecret(deps, bootstrap, id, address)
}

/**
 * Replaces the key's secret if the one given out was never used; from that write on the first secret is worth nothing. The
 * write is conditional on the secret that was read, so of several polls at once only one receives the new secret.
 */
async function replaceSecret(
  deps: FlowDeps,
  bootstrap: Bootstrap,
  id: string,
  address: string,
): Promise<string | undefined> {
  const key = await deps.apiKeys.find(id)
  if (key?.key_hash === undefined) return undefined
  const at = deps.clock.now()
  const actor = { kind: 'public', address } as const
  const { raw_key, secret, event } = redrawSecret(deps, key, actor, bootstrap.id)
  const audit = bootstrapAudit(deps, 'bootstrap.collected', bootstrap, {
    actor,
    at,
    detail: { key_id: id, key_prefix: secret.key_prefix, replaced: true },
  })
  const madeSince = new Date(at.getTime() - REPLACE_SECONDS * 1000)
  const news = { audit, event }
  const replaced = await deps.apiKeys.replaceUnused(id, { was: key.key_hash, ...secret }, madeSince, news)
  return replaced ? raw_key : undefined
}
