import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import type { Config } from '../config/config.ts'
import { packagePath } from '../config/package-path.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { createPushKeyKeeper } from '../flow/push/push-secrets.ts'
import { createPushSender } from '../outbound/push-sender.ts'
import { createTargetUrls } from '../outbound/target-url.ts'
import { createWebhookSender } from '../outbound/webhook-sender.ts'
import { createAuditTrail } from '../store/audit-trail.ts'
import { createCardStore } from '../store/cards.ts'
import type { StoreConnection } from '../store/connect.ts'
import { createDeliveryStore } from '../store/deliveries.ts'
import { createPushDeviceStore } from '../store/push-devices.ts'
import { createPushKeyStore } from '../store/push-keys.ts'
import { createPushStore } from '../store/pushes.ts'
import type { Nudge } from '../store/trace.ts'
import { createTraceSources } from '../store/trace-sources.ts'
import { createWebhookStore } from '../store/webhooks.ts'

const manifestSchema = z.object({ version: z.string() })

/** Who carries traces on, and what keys at rest need. */
type Given = Pick<FlowDeps, 'vault' | 'clock' | 'random' | 'log'> & { nudge: Nudge }

/** Stores of delivery and the guarded senders. Called last: the collections that carry traces must have their models. */
export async function composeDelivery(
  config: Config,
  connection: StoreConnection,
  { nudge, ...given }: Given,
): Promise<
  Pick<
    FlowDeps,
    | 'webhooks'
    | 'deliveries'
    | 'cards'
    | 'pushes'
    | 'pushDevices'
    | 'pusher'
    | 'pushKey'
    | 'trail'
    | 'sources'
    | 'sender'
    | 'targets'
  >
> {
  const { baseUrl, production, callbackAllowPrivate: allowPrivate, callbackPorts: ports } = config
  const rules = { baseUrl, production, allowPrivate, ports }
  const manifest = JSON.parse(await readFile(packagePath('package.json'), 'utf8'))
  const { version } = manifestSchema.parse(manifest)
  const sending = { ...rules, timeoutMs: config.callbackTimeoutMs, version }
  const pusher = createPushSender({ ...sending, subject: contactOf(baseUrl) })
  const stores = {
    webhooks: createWebhookStore(connection, nudge),
    deliveries: createDeliveryStore(connection, nudge),
    cards: createCardStore(connection, nudge),
    pushes: createPushStore(connection, nudge),
    pushDevices: createPushDeviceStore(connection, nudge),
  }
  const pushKey = createPushKeyKeeper({
    ...given,
    store: createPushKeyStore(connection, nudge),
    sender: pusher,
  })
  return {
    ...stores,
    pushKey,
    pusher,
    trail: createAuditTrail(connection),
    sources: createTraceSources(connection),
    sender: createWebhookSender(sending),
    targets: createTargetUrls(rules),
  }
}

/**
 * Whom push services can turn to (RFC 8292 §2.1): the service's own address. Only while trying things out that is not an
 * https: address; the address given then belongs to no one.
 */
function contactOf(baseUrl: string): string {
  const { protocol, hostname } = new URL(baseUrl)
  return protocol === 'https:' && hostname !== 'localhost' ? baseUrl : 'mailto:countersign@example.com'
}
