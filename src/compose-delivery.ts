import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import type { Config } from './config.ts'
import type { FlowDeps } from './flow/deps.ts'
import { packagePath } from './package-path.ts'
import { createAuditTrail } from './store/audit-trail.ts'
import { createCardStore } from './store/cards.ts'
import type { StoreConnection } from './store/connect.ts'
import { createDeliveryStore } from './store/deliveries.ts'
import type { Nudge } from './store/trace.ts'
import { createTraceSources } from './store/trace-sources.ts'
import { createWebhookStore } from './store/webhooks.ts'
import { createWebhookSender } from './webhooks/send.ts'
import { createTargetUrls } from './webhooks/target-url.ts'

const manifestSchema = z.object({ version: z.string() })

/** Stores of delivery and the guarded sender. Called last: the collections that carry traces must have their models. */
export async function composeDelivery(
  config: Config,
  connection: StoreConnection,
  nudge: Nudge,
): Promise<Pick<FlowDeps, 'webhooks' | 'deliveries' | 'cards' | 'trail' | 'sources' | 'sender' | 'targets'>> {
  const { baseUrl, production, callbackAllowPrivate: allowPrivate, callbackPorts: ports } = config
  const rules = { baseUrl, production, allowPrivate, ports }
  const manifest = JSON.parse(await readFile(packagePath('package.json'), 'utf8'))
  const { version } = manifestSchema.parse(manifest)
  const webhooks = createWebhookStore(connection, nudge)
  const deliveries = createDeliveryStore(connection, nudge)
  const cards = createCardStore(connection, nudge)
  return {
    webhooks,
    deliveries,
    cards,
    trail: createAuditTrail(connection),
    sources: createTraceSources(connection),
    sender: createWebhookSender({ ...rules, timeoutMs: config.callbackTimeoutMs, version }),
    targets: createTargetUrls(rules),
  }
}
