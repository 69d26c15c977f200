import type { OutboxEvent } from '../../domain/event.ts'
import { drawId } from '../../domain/identifier.ts'
import type { Delivery, Webhook } from '../../domain/webhook.ts'
import { plainEntry } from '../../signing/audit-chain.ts'
import { appendToTrail } from '../audit/append-to-trail.ts'
import { followCards, followConsents, followNotices } from '../chat/follow-cards.ts'
import type { FlowDeps } from '../deps.ts'
import type { Trace, TraceSource } from '../ports.ts'
import { followPushes } from '../push/follow-pushes.ts'
import { coalesce } from './coalesce.ts'
import { warnSeldom } from './warn-seldom.ts'

/** Documents carried on at a time. */
const BATCH = 100

type RelayDeps = Pick<FlowDeps, 'sources' | 'deliveries' | 'webhooks' | 'trail' | 'log'> &
  Parameters<typeof followCards>[0] &
  Parameters<typeof followConsents>[0] &
  Parameters<typeof followNotices>[0] &
  Parameters<typeof followPushes>[0]

/** Whom to tell that there is something to send. */
export interface Senders {
  deliveries(): void
  cards(): void
  pushes(): void
}

/** Carries traces on: events to webhooks, callbacks to their delivery, news to cards and browsers, audit entries to the trail. */
export interface Relay {
  /** Something was written: look soon. Never throws, never waits. */
  wake(): void
  /** Carries on what is due, in every collection. Resolves when nothing was left. @throws what the store throws */
  run(): Promise<void>
}

/**
 * One at a time per process; any number of processes. Each step is idempotent, so a crash between any two of them, or two
 * relays at once, changes nothing: deliveries are unique per event and target, cards per request and
 * recipient, pushes per event and browser, entries unique by id, and a trace is emptied only while its token stands. What
 * cannot be carried on blocks nothing else: a trace that makes no sense is logged and left, and while the trail takes
 * nothing, entries wait but deliveries are made.
 */
export function createRelay(deps: RelayDeps, senders: Senders): Relay {
  const run = coalesce(async () => {
    const failures: unknown[] = []
    for (const source of deps.sources) {
      await relaySource(deps, source, senders).catch((error: unknown) => failures.push(error))
    }
    if (failures.length > 0) throw failures[0]
  })
  const trouble = warnSeldom(deps.log, 'carrying events on failed; the sweep tries again')
  return {
    run,
    wake: () => void run().then(trouble.worked, trouble.failed),
  }
}

/** Walks through all that is due, page by page, even when a page fails. @throws what kept the trail from growing */
async function relaySource(deps: RelayDeps, source: TraceSource, senders: Senders): Promise<void> {
  const failures: unknown[] = []
  for (let after = ''; ; ) {
    const traces = await source.due(BATCH, after)
    const sound = await handOver(deps, source, traces, senders)
    if (failures.length === 0) {
      await record(deps, source, sound).catch((error: unknown) => failures.push(error))
    }
    const last = traces.at(-1)
    if (last === undefined || traces.length < BATCH) break
    after = last.token
  }
  if (failures.length > 0) throw failures[0]
}

/** Makes the deliveries of these traces. @returns the traces whose audit entries can be recorded, too */
async function handOver(
  deps: RelayDeps,
  source: TraceSource,
  traces: readonly Trace[],
  senders: Senders,
): Promise<Trace[]> {
  const webhooks = await webhooksFor(deps, traces)
  const deliveries: Delivery[] = []
  const sound: Trace[] = []
  for (const trace of traces) {
    try {
      deliveries.push(...deliveriesOf(deps, trace, webhooks))
      trace.audit.forEach(plainEntry)
      sound.push(trace)
    } catch (error) {
      deps.log.error(
        { error, source: source.name, id: trace.id },
        'what this document left cannot be carried on',
      )
    }
  }
  await deps.deliveries.insertNew(deliveries)
  if (deliveries.length > 0 || traces.some(isReplay)) senders.deliveries()
  const told = [
    await followCards(deps, sound),
    await followConsents(deps, sound),
    await followNotices(deps, sound),
  ]
  if (told.includes(true)) senders.cards()
  if (await followPushes(deps, sound)) senders.pushes()
  return sound
}

async function record(deps: RelayDeps, source: TraceSource, traces: readonly Trace[]): Promise<void> {
  const entries = traces.flatMap((trace) => trace.audit)
  await appendToTrail(
    deps,
    entries.sort((a, b) => a.at.getTime() - b.at.getTime()),
  )
  await source.settle(traces)
}

/** A replayed delivery is due, though nothing was inserted. */
function isReplay(trace: Trace): boolean {
  return trace.audit.some(({ type }) => type === 'delivery.replayed')
}

async function webhooksFor(deps: RelayDeps, traces: readonly Trace[]): Promise<Webhook[]> {
  const accounts = traces
    .filter((trace) => trace.events.length > 0)
    .flatMap((trace) => trace.account_id ?? [])
  return accounts.length === 0 ? [] : deps.webhooks.activeOf([...new Set(accounts)])
}

function deliveriesOf(deps: RelayDeps, trace: Trace, webhooks: readonly Webhook[]): Delivery[] {
  const toWebhooks = trace.events.flatMap((event) =>
    webhooks
      .filter((webhook) => webhook.account_id === trace.account_id && wants(webhook, event))
      .map((webhook) => deliveryTo(deps, webhook, event, requestOf(trace, event))),
  )
  return [...callbackOf(deps, trace), ...toWebhooks]
}

/**
 * An empty list wants everything. The news that a delivery of this very webhook was given up would be given up as well, and
 * so on for ever.
 */
function wants(webhook: Webhook, event: OutboxEvent): boolean {
  if (webhook.created_at > event.created_at) return false
  if (event.type === 'delivery.exhausted' && event.body.includes(`"${webhook.id}"`)) return false
  return webhook.events.length === 0 || webhook.events.includes(event.type)
}

function requestOf(trace: Trace, event: OutboxEvent): { request_id: string } | undefined {
  return event.type.startsWith('approval.') ? { request_id: trace.id } : undefined
}

function callbackOf(deps: RelayDeps, trace: Trace): Delivery[] {
  const { callback } = trace
  if (callback?.state !== 'due' || callback.body === undefined || trace.account_id === undefined) return []
  const { request_id, api_key_id, url, event_id, delivery_id: id, body } = callback
  return [
    {
      ...fresh(deps, { account_id: trace.account_id, url, body, event_id }),
      id,
      host: new URL(url).hostname.replace(/\.$/, ''),
      target: { kind: 'callback', request_id, api_key_id },
      event_type: 'callback',
      request_id,
    },
  ]
}

/** A delivery of that event to that webhook, due now. */
export function deliveryTo(
  deps: Pick<FlowDeps, 'clock' | 'random'>,
  webhook: Webhook,
  event: OutboxEvent,
  about?: { request_id: string },
): Delivery {
  const { account_id, url, host } = webhook
  return {
    ...fresh(deps, { account_id, url, body: event.body, event_id: event.id }),
    id: drawId(deps, 'dlv'),
    host,
    target: { kind: 'webhook', webhook_id: webhook.id },
    event_type: event.type,
    ...about,
  }
}

function fresh(
  deps: Pick<FlowDeps, 'clock'>,
  facts: Pick<Delivery, 'account_id' | 'url' | 'body' | 'event_id'>,
) {
  const now = deps.clock.now()
  return {
    ...facts,
    state: 'due' as const,
    next_at: now,
    tries: 0,
    fence: 0,
    attempts: [],
    created_at: now,
    outbox: [],
    audit: [],
  }
}
