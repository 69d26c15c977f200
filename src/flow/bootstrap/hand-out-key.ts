import { type Bootstrap, REPLACE_SECONDS } from '../../domain/bootstrap.ts'
import type { FlowDeps } from '../deps.ts'
import { drawKey, drawSecret } from '../manage-api-keys.ts'
import { bootstrapAudit } from './bootstrap-trace.ts'

type HandOutDeps = Pick<FlowDeps, 'bootstraps' | 'apiKeys' | 'vault' | 'clock' | 'random' | 'changes'>

/**
 * Makes the key of an approved bootstrap, at the first poll that gets here (T50). Claiming and making are one write: the key
 * has the id that the approval drew, so of any number of polls one inserts it and is given it. A process that dies before
 * that write leaves everything to the next poll; one that dies after it, before its answer arrived, leaves a key that nobody
 * has: then a caller with a verifier gets another secret in its place, and one without has to start again.
 * @returns the raw key, once; undefined when it was given out, or the consent is too old
 */
export async function handOutKey(
  deps: HandOutDeps,
  bootstrap: Bootstrap,
  address: string,
): Promise<string | undefined> {
  const { key_id: id, account_id: accountId, collect_by: end } = bootstrap
  if (id === undefined || accountId === undefined || end === undefined) return undefined
  if (bootstrap.collected === undefined && deps.clock.now() < end) {
    const wanted = { accountId, name: bootstrap.client_name, sandbox: false, scopes: bootstrap.scopes }
    const actor = { kind: 'public', address } as const
    const { raw_key, key } = drawKey(deps, { ...wanted, id, consentId: bootstrap.id }, actor)
    if (await deps.apiKeys.insertNew(key)) return raw_key
  }
  // Its verifier was proved before anybody got here.
  return bootstrap.code_challenge === undefined ? undefined : replaceSecret(deps, bootstrap, id, address)
}

/**
 * Gives the key another secret if the one given out was never used: from that write on the first one is worth nothing. One
 * write, on the secret as it was read, so of several at once one is given it.
 */
async function replaceSecret(
  deps: HandOutDeps,
  bootstrap: Bootstrap,
  id: string,
  address: string,
): Promise<string | undefined> {
  const key = await deps.apiKeys.find(id)
  if (key?.key_hash === undefined) return undefined
  const at = deps.clock.now()
  const { raw_key, ...secret } = drawSecret(deps, key.sandbox)
  const audit = bootstrapAudit(deps, 'bootstrap.collected', bootstrap, {
    actor: { kind: 'public', address },
    at,
    detail: { key_id: id, key_prefix: secret.key_prefix, replaced: true },
  })
  const madeSince = new Date(at.getTime() - REPLACE_SECONDS * 1000)
  const replaced = await deps.apiKeys.replaceUnused(id, { was: key.key_hash, ...secret }, madeSince, audit)
  return replaced ? raw_key : undefined
}
