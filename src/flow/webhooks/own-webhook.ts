import type { AuditActor, AuditEntry, AuditType } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import { isId } from '../../domain/identifier.ts'
import type { Webhook } from '../../domain/webhook.ts'
import { drawId, type FlowDeps } from '../deps.ts'

/** Who manages the webhooks of an account. */
export interface Owner {
  accountId: string
  actor: AuditActor
}

/**
 * A webhook of that account, deleted ones too: their log stays.
 * @throws Refusal `not_found` for malformed, unknown and foreign ids alike (T55)
 */
export async function findOwnWebhook(
  deps: Pick<FlowDeps, 'webhooks'>,
  accountId: string,
  id: string,
): Promise<Webhook> {
  const webhook = isId('whk', id) ? await deps.webhooks.find(id) : undefined
  if (webhook?.account_id !== accountId) throw refusal('not_found')
  return webhook
}

/** As `findOwnWebhook`, and not deleted. */
export async function findLiveWebhook(
  deps: Pick<FlowDeps, 'webhooks'>,
  accountId: string,
  id: string,
): Promise<Webhook> {
  const webhook = await findOwnWebhook(deps, accountId, id)
  if (webhook.state === 'deleted') throw refusal('not_found')
  return webhook
}

/** An audit entry about a webhook or one of its deliveries. */
export function ownerAudit(
  deps: Pick<FlowDeps, 'random'>,
  type: AuditType,
  owner: Owner,
  subject: string,
  at: Date,
): AuditEntry {
  const eid = drawId(deps, 'evt')
  return { eid, type, at, actor: owner.actor, account_id: owner.accountId, subject }
}
