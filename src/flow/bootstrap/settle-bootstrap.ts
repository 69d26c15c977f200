import type { AuditActor, AuditEntry, AuditType } from '../../domain/audit.ts'
import { BOOTSTRAP_MINUTES, type Bootstrap, COLLECT_MINUTES } from '../../domain/bootstrap.ts'
import { drawId } from '../../domain/identifier.ts'
import type { FlowDeps } from '../deps.ts'
import { settleDue } from '../settle-request.ts'

/** Keys noted in one run. */
const NOTED = 32

/** Brings a bootstrap that was read up to date: a lapsed one expires, a key that was made is noted. */
export async function settleBootstrap(deps: FlowDeps, bootstrap: Bootstrap): Promise<Bootstrap> {
  if (bootstrap.status === 'pending' && bootstrap.expires_at <= deps.clock.now())
    return expireLapsed(deps, bootstrap)
  if (bootstrap.status === 'approved' && bootstrap.collected === undefined)
    return noteCollection(deps, bootstrap)
  return bootstrap
}

/**
 * Expires every bootstrap whose time is up, decoys too, and notes keys whose collection was not noted by the process that made
 * them. Safe to run anywhere, any number of times at once.
 * @returns when the next one is due
 */
export async function settleBootstraps(deps: FlowDeps): Promise<Date | undefined> {
  const { nextExpiry: next, lapsed: read } = deps.bootstraps
  const due = await settleDue(deps, { next, read }, (bootstrap) => expireLapsed(deps, bootstrap))
  const recent = new Date(deps.clock.now().getTime() - NOTED_WITHIN_MS)
  for (const bootstrap of await deps.bootstraps.uncollected(recent, NOTED))
    await noteCollection(deps, bootstrap)
  return due
}

/** No key is made later than that after the time of its bootstrap is up. */
const NOTED_WITHIN_MS = (BOOTSTRAP_MINUTES + COLLECT_MINUTES) * 60_000

async function expireLapsed(deps: FlowDeps, bootstrap: Bootstrap): Promise<Bootstrap> {
  const facts = { actor: { kind: 'service' }, at: deps.clock.now() } as const
  const audit = bootstrapAudit(deps, 'bootstrap.expired', bootstrap, facts)
  const expired = await deps.bootstraps.expire(bootstrap.id, audit)
  return expired ?? (await deps.bootstraps.find(bootstrap.id)) ?? bootstrap
}

/**
 * Notes on the bootstrap that its key was made, once. The key itself is what counts: as long as this is missing, nothing is
 * lost but the owner's sight of it.
 * @param address who collected it, if that is known: the key's own entry tells in any case
 */
export async function noteCollection(
  deps: FlowDeps,
  bootstrap: Bootstrap,
  address?: string,
): Promise<Bootstrap> {
  const key = bootstrap.key_id === undefined ? undefined : await deps.apiKeys.find(bootstrap.key_id)
  if (key === undefined) return bootstrap
  const at = key.created_at
  const from = address === undefined ? {} : { address }
  const facts = {
    actor: { kind: 'public', ...from },
    at,
    detail: { key_id: key.id, key_prefix: key.key_prefix },
  } as const
  const audit = bootstrapAudit(deps, 'bootstrap.collected', bootstrap, facts)
  const noted = await deps.bootstraps.noteCollected(bootstrap.id, { at, ...from }, audit)
  return noted ?? (await deps.bootstraps.find(bootstrap.id)) ?? bootstrap
}

type BootstrapAudit = AuditType & `bootstrap.${string}`

/** An audit entry about a bootstrap request. A decoy's concerns no account: only the operator sees that a stranger probes. */
export function bootstrapAudit(
  deps: Pick<FlowDeps, 'random'>,
  type: BootstrapAudit,
  { id, account_id }: Pick<Bootstrap, 'id' | 'account_id'>,
  facts: { actor: AuditActor; at: Date; detail?: NonNullable<AuditEntry['detail']> },
): AuditEntry {
  const account = account_id === undefined ? {} : { account_id }
  return { eid: drawId(deps, 'evt'), type, ...facts, ...account, subject: id }
}
