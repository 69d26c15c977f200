import type { ApiKey } from '../../domain/api-key.ts'
import { type AuditActor, type AuditEntry, type AuditType, drawEntry } from '../../domain/audit.ts'
import { invalidField, refusal } from '../../domain/errors.ts'
import { drawEvent, type EventType } from '../../domain/event.ts'
import { drawId, isId } from '../../domain/identifier.ts'
import type { Delivery, Webhook } from '../../domain/webhook.ts'
import type { FlowDeps } from '../deps.ts'
import { type Caller, callerActor } from '../keys/authenticate-caller.ts'
import type { Owner } from '../people/accounts.ts'
import { requireRecentProof } from '../people/recent-proof.ts'
import type { SignedIn } from '../people/sessions.ts'
import { deliveryTo } from '../relay/relay.ts'
import { attemptDelivery } from './send-deliveries.ts'

/** The most webhooks an account may have: each one multiplies every event (T9). */
const MAX_LIVE_WEBHOOKS = 20

/** Milliseconds for which the previous secret also signs after a rotation. */
const OVERLAP_MS = 24 * 3_600_000

/**
 * Creates a webhook. Its secret is returned only here.
 * @param input.events the types it wants; undefined = all, including types added later
 * @throws Refusal `invalid_field` for an address that must not be called, `webhook_limit`
 */
export async function createWebhook(
  deps: FlowDeps,
  owner: Owner,
  input: { url: string; events?: EventType[] | undefined },
): Promise<{ webhook: Webhook; secret: string }> {
  const target = readTarget(deps, input.url)
  // Its creation time is taken only now: a request that did not look for webhooks is older than it.
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
  if (!(await deps.webhooks.insert(webhook, MAX_LIVE_WEBHOOKS))) throw refusal('webhook_limit')
  return { webhook, secret }
}

/**
 * Checks a new webhook before a proof is asked for; the limit itself holds at the write.
 * @throws Refusal `invalid_field` for an address that must not be called, `webhook_limit`
 */
export async function checkNewWebhook(deps: FlowDeps, { accountId }: Owner, url: string): Promise<void> {
  readTarget(deps, url)
  if ((await deps.webhooks.list(accountId)).length >= MAX_LIVE_WEBHOOKS) throw refusal('webhook_limit')
}

function readTarget({ targets }: FlowDeps, url: string) {
  const target = targets.read(url)
  if ('problem' in target) throw invalidField('url', target.problem)
  return target
}

/** Deletes a webhook for good; deliveries still under way to it are dropped. @throws Refusal `not_found` */
export async function deleteWebhook(deps: FlowDeps, owner: Owner, id: string): Promise<Webhook> {
  await findLiveWebhook(deps, owner.accountId, id)
  const audit = ownerAudit(deps, 'webhook.deleted', owner, id, deps.clock.now())
  const deleted = await deps.webhooks.remove(id, owner.accountId, audit)
  if (deleted === undefined) throw refusal('not_found')
  return deleted
}

/** Switches off the account's webhooks that are on, until the owner enables them. @returns those it switched off */
export async function disableWebhooks(deps: FlowDeps, owner: Owner): Promise<Webhook[]> {
  const disabled: Webhook[] = []
  for (const webhook of await deps.webhooks.activeOf([owner.accountId])) {
    const at = deps.clock.now()
    const audit = ownerAudit(deps, 'webhook.disabled', owner, webhook.id, at)
    if (await deps.webhooks.disable(webhook.id, at, audit)) disabled.push(webhook)
  }
  return disabled
}

/** Enables a webhook that a 410 or the operator had disabled; an enabled one stays as it is. @throws Refusal `not_found` */
export async function enableWebhook(deps: FlowDeps, owner: Owner, id: string): Promise<Webhook> {
  await findLiveWebhook(deps, owner.accountId, id)
  const audit = ownerAudit(deps, 'webhook.enabled', owner, id, deps.clock.now())
  const enabled = await deps.webhooks.enable(id, owner.accountId, audit)
  return enabled ?? (await findLiveWebhook(deps, owner.accountId, id))
}

/**
 * Gives a webhook a new secret. For 24 hours deliveries carry signatures by both secrets in `webhook-signature`, so that a
 * receiver can switch without a gap; rotating again ends the oldest secret at once.
 * @throws Refusal `not_found`; `webhook_rotated` when another rotation came first: an automatic retry would end the secret
 * that the receiver still uses
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

/**
 * Finds a webhook of that account, including a deleted one, whose log stays.
 * @throws Refusal `not_found` for malformed, unknown and foreign ids alike (T55)
 */
export async function findOwnWebhook(deps: FlowDeps, accountId: string, id: string): Promise<Webhook> {
  const webhook = isId('whk', id) ? await deps.webhooks.find(id) : undefined
  if (webhook?.account_id !== accountId) throw refusal('not_found')
  return webhook
}

/** Like `findOwnWebhook`, without deleted webhooks. */
async function findLiveWebhook(deps: FlowDeps, accountId: string, id: string): Promise<Webhook> {
  const webhook = await findOwnWebhook(deps, accountId, id)
  if (webhook.state === 'deleted') throw refusal('not_found')
  return webhook
}

/** Makes an audit entry about a webhook or one of its deliveries. */
export function ownerAudit(
  deps: FlowDeps,
  type: AuditType,
  owner: Owner,
  subject: string,
  at: Date,
): AuditEntry {
  return drawEntry(deps, { type, at, actor: owner.actor, account_id: owner.accountId, subject })
}

/** Milliseconds for which no other process may take the test: its one attempt is shorter. */
const LEASE_MS = 120_000

/**
 * Sends a `webhook.test` at once, with a single attempt. An account can run one at a time, over all processes: a test does not
 * wait for a slot of its host, so many at once would flood it (T9).
 * @returns the delivery with the outcome of its attempt; throws Refusal `not_found`, `test_in_progress`
 */
export async function testFire(deps: FlowDeps, owner: Owner, id: string): Promise<Delivery> {
  const webhook = await findLiveWebhook(deps, owner.accountId, id)
  const running = `webhook-test:${owner.accountId}`
  // One that a dead process left ends with the lease.
  const taken = await deps.attempts.take(running, { most: 1, seconds: LEASE_MS / 1000 })
  if (!taken.allowed) throw refusal('test_in_progress')
  try {
    return await fire(deps, owner, webhook)
  } finally {
    await deps.attempts.giveBack(running, taken)
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

/** Bytes of a secret: 64 hex characters, whose ASCII receivers use as the key (security §5.3). */
const SECRET_BYTES = 32

/** Draws the secret of a webhook: shown once, stored only sealed and bound to this webhook (T28). */
function drawSecret(deps: FlowDeps, webhookId: string): { secret: string; sealed_secret: string } {
  const secret = Buffer.from(deps.random.bytes(SECRET_BYTES)).toString('hex')
  return { secret, sealed_secret: deps.vault.seal(Buffer.from(secret, 'ascii'), webhookId) }
}

/** An API key with the secret that signs the callbacks of its requests. */
interface KeySecret {
  key: ApiKey
  secret: string
}

/** Reads the caller's own callback secret. Every read is in the trail: whoever holds a secret can forge our callbacks. */
export async function readOwnSecret(deps: FlowDeps, caller: Caller): Promise<string> {
  const { key } = caller
  await deps.audit.append(readEntry(deps, key, callerActor(caller)))
  return deps.vault.webhookSecret(key.id, key.secret_version)
}

/** Reads the callback secrets of the account's keys that are not revoked. @throws Refusal `proof_required` */
export async function readAccountSecrets(
  deps: FlowDeps,
  who: SignedIn,
  address: string,
): Promise<KeySecret[]> {
  await requireRecentProof(deps, who)
  const { id, account_id } = who.user
  const live = (await deps.apiKeys.list(account_id)).filter((key) => key.revoked_at === null)
  const actor = { kind: 'user', id, address } as const
  if (live.length > 0) await deps.audit.append(...live.map((key) => readEntry(deps, key, actor)))
  return live.map((key) => ({ key, secret: deps.vault.webhookSecret(key.id, key.secret_version) }))
}

function readEntry(deps: FlowDeps, { id, account_id }: ApiKey, actor: AuditActor): AuditEntry {
  return ownerAudit(deps, 'key.secret_read', { accountId: account_id, actor }, id, deps.clock.now())
}
