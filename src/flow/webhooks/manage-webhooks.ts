import type { ApiKey } from '../../domain/api-key.ts'
import type { AuditActor, AuditEntry, AuditType } from '../../domain/audit.ts'
import { invalidField, refusal } from '../../domain/errors.ts'
import { drawEvent, type EventType } from '../../domain/event.ts'
import { drawId, isId } from '../../domain/identifier.ts'
import type { Delivery, Webhook } from '../../domain/webhook.ts'
import { type Caller, callerActor } from '../authenticate-caller.ts'
import { deliveryTo } from '../delivery/relay.ts'
import { attemptDelivery } from '../delivery/send-deliveries.ts'
import type { FlowDeps } from '../deps.ts'
import { requireRecentProof } from '../people/recent-proof.ts'
import type { SignedIn } from '../people/sessions.ts'

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
  deps: FlowDeps,
  owner: Owner,
  input: { url: string; events?: EventType[] | undefined },
): Promise<{ webhook: Webhook; secret: string }> {
  const target = deps.targets.read(input.url)
  if ('problem' in target) throw invalidField('url', target.problem)
  // Counted, then written, as API keys are: calls at the same moment can exceed the limit by as many as they are.
  if ((await deps.webhooks.countLive(owner.accountId)) >= MAX_LIVE_WEBHOOKS) throw refusal('webhook_limit')
  // Then its time: a request that did not look for webhooks is older.
  await deps.accounts.willHaveWebhook(owner.accountId)
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
export async function deleteWebhook(deps: FlowDeps, owner: Owner, id: string): Promise<Webhook> {
  await findLiveWebhook(deps, owner.accountId, id)
  const audit = ownerAudit(deps, 'webhook.deleted', owner, id, deps.clock.now())
  const deleted = await deps.webhooks.remove(id, owner.accountId, audit)
  if (deleted === undefined) throw refusal('not_found')
  return deleted
}

/** Switches a webhook on again that a 410 had switched off; one that is on stays so. @throws Refusal `not_found` */
export async function enableWebhook(deps: FlowDeps, owner: Owner, id: string): Promise<Webhook> {
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
  deps: FlowDeps,
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
async function findLiveWebhook(
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

/** No other process may take the test while its one attempt lasts. */
const LEASE_MS = 120_000

/** Sends a `webhook.test` at once, and once. */
type TestFire = (owner: Owner, id: string) => Promise<Delivery>

/**
 * Makes the test-fire of this process. One at a time for an account: a test waits for no slot of the host, so many at once
 * would be a flood (T9).
 * @returns the delivery with the outcome of its attempt; throws Refusal `not_found`, `test_in_progress`
 */
export function createTestFire(deps: FlowDeps): TestFire {
  const busy = new Set<string>()
  return async (owner, id) => {
    const webhook = await findLiveWebhook(deps, owner.accountId, id)
    if (busy.has(owner.accountId)) throw refusal('test_in_progress')
    busy.add(owner.accountId)
    try {
      return await fire(deps, owner, webhook)
    } finally {
      busy.delete(owner.accountId)
    }
  }
}

async function fire(deps: FlowDeps, owner: Owner, webhook: Webhook): Promise<Delivery> {
  const at = deps.clock.now()
  const event = drawEvent(deps, 'webhook.test', at, { webhook_id: webhook.id })
  const lease = { state: 'leased', fence: 1, next_at: new Date(at.getTime() + LEASE_MS) } as const
  const delivery: Delivery = { ...deliveryTo(deps, webhook, event), ...lease }
  await deps.webhooks.addAudit(webhook.id, ownerAudit(deps, 'webhook.tested', owner, webhook.id, at))
  await deps.deliveries.insertNew([delivery])
  await attemptDelivery(deps, delivery)
  return (await deps.deliveries.find(delivery.id)) ?? delivery
}

/** 64 hex characters; receivers use their ASCII as the key (security §5.3). */
const SECRET_BYTES = 32

/** A fresh secret of a webhook: shown once, kept only sealed, and only for this webhook (T28). */
function drawSecret(
  deps: Pick<FlowDeps, 'random' | 'vault'>,
  webhookId: string,
): { secret: string; sealed_secret: string } {
  const secret = Buffer.from(deps.random.bytes(SECRET_BYTES)).toString('hex')
  return { secret, sealed_secret: deps.vault.seal(Buffer.from(secret, 'ascii'), webhookId) }
}

/** A key with what the callbacks of its requests are signed with. */
interface KeySecret {
  key: ApiKey
  secret: string
}

/** The secret of the key that asks. The trail has every read: who holds a secret can make callbacks that look like ours. */
export async function readOwnSecret(deps: FlowDeps, caller: Caller): Promise<string> {
  const { key } = caller
  await deps.audit.append(readEntry(deps, key, callerActor(caller)))
  return deps.vault.webhookSecret(key.id, key.secret_version)
}

/** Those of all keys of the person's account that are not revoked. @throws Refusal `proof_required` */
export async function readAccountSecrets(
  deps: FlowDeps,
  who: SignedIn,
  address: string,
): Promise<KeySecret[]> {
  requireRecentProof(deps, who)
  const { id, account_id } = who.user
  const live = (await deps.apiKeys.list(account_id)).filter((key) => key.revoked_at === null)
  const actor = { kind: 'user', id, address } as const
  if (live.length > 0) await deps.audit.append(...live.map((key) => readEntry(deps, key, actor)))
  return live.map((key) => ({ key, secret: deps.vault.webhookSecret(key.id, key.secret_version) }))
}

function readEntry(deps: FlowDeps, { id, account_id }: ApiKey, actor: AuditActor): AuditEntry {
  return ownerAudit(deps, 'key.secret_read', { accountId: account_id, actor }, id, deps.clock.now())
}
