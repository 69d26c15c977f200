import { refusal } from '../../domain/errors.ts'
import { isId } from '../../domain/identifier.ts'
import type { Delivery } from '../../domain/webhook.ts'
import type { FlowDeps } from '../deps.ts'
import { type Owner, ownerAudit } from './own-webhook.ts'

type ReplayDeps = Pick<FlowDeps, 'deliveries' | 'webhooks' | 'clock' | 'random'>

/**
 * Sends a delivery that rests once more: the same event id, the same bytes, a new round of tries.
 * @throws Refusal `not_found` for malformed, unknown and foreign ids alike (T55), `delivery_in_progress`, `webhook_gone`
 */
export async function replayDelivery(deps: ReplayDeps, owner: Owner, id: string): Promise<Delivery> {
  const found = isId('dlv', id) ? await deps.deliveries.find(id) : undefined
  if (found?.account_id !== owner.accountId) throw refusal('not_found')
  if (found.state === 'due' || found.state === 'leased') throw refusal('delivery_in_progress')
  if (!(await isWanted(deps, found))) throw refusal('webhook_gone')
  const at = deps.clock.now()
  const audit = ownerAudit(deps, 'delivery.replayed', owner, id, at)
  const replayed = await deps.deliveries.replay(id, owner.accountId, at, audit)
  if (replayed === undefined) throw refusal('delivery_in_progress')
  return replayed
}

/** A callback has no switch; a webhook may have been deleted or switched off since. */
async function isWanted(deps: ReplayDeps, { target }: Delivery): Promise<boolean> {
  if (target.kind === 'callback') return true
  return (await deps.webhooks.find(target.webhook_id))?.state === 'active'
}
