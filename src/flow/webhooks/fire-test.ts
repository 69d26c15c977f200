import { refusal } from '../../domain/errors.ts'
import { buildEvent } from '../../domain/event.ts'
import type { Delivery, Webhook } from '../../domain/webhook.ts'
import { attemptDelivery } from '../delivery/attempt-delivery.ts'
import { deliveryTo } from '../delivery/relay-traces.ts'
import { drawId, type FlowDeps } from '../deps.ts'
import { findLiveWebhook, type Owner, ownerAudit } from './own-webhook.ts'

type TestDeps = Pick<
  FlowDeps,
  'webhooks' | 'deliveries' | 'apiKeys' | 'sender' | 'settings' | 'vault' | 'clock' | 'random' | 'log'
>

/** Nobody else may take the test while its one attempt lasts. */
const LEASE_MS = 120_000

/** Sends a `webhook.test` at once, and once. */
export type TestFire = (owner: Owner, id: string) => Promise<Delivery>

/**
 * Makes the test-fire of this process. One at a time for an account: a test waits for no slot of the host, so many at once
 * would be a flood (T9).
 * @returns the delivery with the outcome of its attempt; throws Refusal `not_found`, `test_in_progress`
 */
export function createTestFire(deps: TestDeps): TestFire {
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

async function fire(deps: TestDeps, owner: Owner, webhook: Webhook): Promise<Delivery> {
  const at = deps.clock.now()
  const id = drawId(deps, 'evt')
  const event = buildEvent({ id, type: 'webhook.test', at, data: { webhook_id: webhook.id } })
  const lease = { state: 'leased', claim: 1, next_at: new Date(at.getTime() + LEASE_MS) } as const
  const delivery: Delivery = { ...deliveryTo(deps, webhook, event), ...lease }
  await deps.webhooks.addAudit(webhook.id, ownerAudit(deps, 'webhook.tested', owner, webhook.id, at))
  await deps.deliveries.insertNew([delivery])
  await attemptDelivery(deps, delivery)
  return (await deps.deliveries.find(delivery.id)) ?? delivery
}
