import { invalidField, refusal } from '../../domain/errors.ts'
import type { EventType } from '../../domain/event.ts'
import type { Webhook } from '../../domain/webhook.ts'
import { drawId, type FlowDeps } from '../deps.ts'
import { findLiveWebhook, type Owner, ownerAudit } from './own-webhook.ts'
import { drawSecret } from './webhook-secret.ts'

type ManageDeps = Pick<FlowDeps, 'webhooks' | 'vault' | 'targets' | 'clock' | 'random'>

/** Webhooks of an account that are not deleted: each of them multiplies every event (T9). */
const MAX_LIVE_WEBHOOKS = 20

/** How long the secret before a rotation signs too. */
const OVERLAP_MS = 24 * 3_600_000

/**
 * Makes a webhook. Its secret is returned this once.
 * @param input.events the types it wants; undefined = all, later ones included
 * @throws Refusal `invalid_field` for an address that must not be called, `webhook_limit`
 */
export async function createWebhook(
  deps: ManageDeps,
  owner: Owner,
  input: { url: string; events?: EventType[] | undefined },
): Promise<{ webhook: Webhook; secret: string }> {
  const target = deps.targets.read(input.url)
  if ('problem' in target) throw invalidField('url', target.problem)
  // Counted, then written, as API keys are: calls at the same moment can exceed the limit by as many as they are.
  if ((await deps.webhooks.countLive(owner.accountId)) >= MAX_LIVE_WEBHOOKS) throw refusal('webhook_limit')
  const id = drawId(deps, 'whk')
  const at = deps.clock.now()
  const { secret, sealed_secret } = drawSecret(deps, id)
  const webhook: Webhook = {
    id,
    account_id: owner.accountId,
    url: target.href,
    host: target.host,
    events: [...new Set(input.events)],
    state: 'active',
    sealed_secret,
    created_at: at,
    disabled_at: null,
    audit: [ownerAudit(deps, 'webhook.created', owner, id, at)],
  }
  await deps.webhooks.insert(webhook)
  return { webhook, secret }
}

/** Ends a webhook for good; what is still on its way to it is dropped. @throws Refusal `not_found` */
export async function deleteWebhook(deps: ManageDeps, owner: Owner, id: string): Promise<Webhook> {
  await findLiveWebhook(deps, owner.accountId, id)
  const audit = ownerAudit(deps, 'webhook.deleted', owner, id, deps.clock.now())
  const deleted = await deps.webhooks.remove(id, owner.accountId, audit)
  if (deleted === undefined) throw refusal('not_found')
  return deleted
}

/** Switches a webhook on again that a 410 had switched off; one that is on stays so. @throws Refusal `not_found` */
export async function enableWebhook(deps: ManageDeps, owner: Owner, id: string): Promise<Webhook> {
  await findLiveWebhook(deps, owner.accountId, id)
  const audit = ownerAudit(deps, 'webhook.enabled', owner, id, deps.clock.now())
  const enabled = await deps.webhooks.enable(id, owner.accountId, audit)
  return enabled ?? (await findLiveWebhook(deps, owner.accountId, id))
}

/**
 * Gives a webhook a new secret. For 24 hours deliveries carry the signatures of both in `webhook-signature`, so that a
 * receiver changes over without a gap; rotating again ends the oldest secret at once.
 * @throws Refusal `not_found`; `webhook_rotated` when another rotation came first: retrying by itself would end the secret
 * the receiver still knows
 */
export async function rotateWebhook(
  deps: ManageDeps,
  owner: Owner,
  id: string,
): Promise<{ webhook: Webhook; secret: string; previousUntil: Date }> {
  const { sealed_secret: replaces } = await findLiveWebhook(deps, owner.accountId, id)
  const at = deps.clock.now()
  const { secret, sealed_secret } = drawSecret(deps, id)
  const previousUntil = new Date(at.getTime() + OVERLAP_MS)
  const secrets = { sealed_secret, previous_secret: { sealed: replaces, until: previousUntil } }
  const audit = ownerAudit(deps, 'webhook.rotated', owner, id, at)
  const webhook = await deps.webhooks.rotate(id, owner.accountId, secrets, replaces, audit)
  if (webhook !== undefined) return { webhook, secret, previousUntil }
  await findLiveWebhook(deps, owner.accountId, id)
  throw refusal('webhook_rotated')
}
