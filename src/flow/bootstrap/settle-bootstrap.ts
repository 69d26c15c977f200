import { type AuditActor, type AuditEntry, type AuditType, drawEntry } from '../../domain/audit.ts'
import { BOOTSTRAP_MINUTES, type Bootstrap, COLLECT_MINUTES } from '../../domain/bootstrap.ts'
import type { FlowDeps } from '../deps.ts'
import { settleDue } from '../requests/settle-request.ts'

/** Bootstraps whose key is noted in one run, at most. */
const NOTED = 32

/** Brings a bootstrap up to date after it was read: expires it if it has lapsed, notes its key if one was made. */
export async function settleBootstrap(deps: FlowDeps, bootstrap: Bootstrap): Promise<Bootstrap> {
  if (bootstrap.status === 'pending' && bootstrap.expires_at <= deps.clock.now())
    return expireLapsed(deps, bootstrap)
  if (bootstrap.status === 'approved' && bootstrap.collected === undefined)
    return noteCollection(deps, bootstrap)
  return bootstrap
}

/**
 * Expires every bootstrap whose time is up, including decoys, and notes the collection of keys where the process that made them
 * did not. Safe to run in any process, any number of times at once.
 * @returns when the next bootstrap is due
 */
export async function settleBootstraps(deps: FlowDeps): Promise<Date | undefined> {
  const { nextExpiry: next, lapsed: read } = deps.bootstraps
  const due = await settleDue(deps, { next, read }, (bootstrap) => expireLapsed(deps, bootstrap))
  const recent = new Date(deps.clock.now().getTime() - NOTED_WITHIN_MS)
  for (const bootstrap of await deps.bootstraps.uncollected(recent, NOTED))
    await noteCollection(deps, bootstrap)
  return due
}

/** No key is made later than this after the `expires_at` of its bootstrap. */
const NOTED_WITHIN_MS = (BOOTSTRAP_MINUTES + COLLECT_MINUTES) * 60_000

async function expireLapsed(deps: FlowDeps, bootstrap: Bootstrap): Promise<Bootstrap> {
  const facts = { actor: { kind: 'service' }, at: deps.clock.now() } as const
  const audit = bootstrapAudit(deps, 'bootstrap.expired', bootstrap, facts)
  const expired = await deps.bootstraps.expire(bootstrap.id, audit)
  return expired ?? (await deps.bootstraps.find(bootstrap.id)) ?? bootstrap
}

/** Bootstraps ended at a time. */
const BATCH = 100

/**
 * Ends all that are open in a restored copy: their callers ask anew, since the owner may have refused after the copy was made, or
 * the key may have been collected. May be repeated or interrupted anywhere.
 */
export async function endEveryBootstrap(deps: FlowDeps): Promise<void> {
  const at = deps.clock.now()
  const facts = { actor: { kind: 'service' }, at, detail: { reason: 'restored' } } as const
  for (;;) {
    const open = await deps.bootstraps.pending(BATCH)
    const end = (one: Bootstrap) =>
      deps.bootstraps.end(one.id, bootstrapAudit(deps, 'bootstrap.expired', one, facts))
    await Promise.all(open.map(end))
    if (open.length < BATCH) break
  }
  await deps.bootstraps.voidConsents(at)
}

/**
 * Notes on the bootstrap, once, that its key was made. The key itself is what counts: while the note is missing, only the
 * owner's view of the collection is.
 * @param address the collector's, if known; the key's own entry has it in any case
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

/** Makes an audit entry about a bootstrap. A decoy's entry has no account: only the operator sees that a stranger probes. */
export function bootstrapAudit(
  deps: FlowDeps,
  type: BootstrapAudit,
  { id, account_id }: Pick<Bootstrap, 'id' | 'account_id'>,
  facts: { actor: AuditActor; at: Date; detail?: NonNullable<AuditEntry['detail']> },
): AuditEntry {
  return drawEntry(deps, { type, ...facts, account_id, subject: id })
}
