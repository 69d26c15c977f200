import type { AuditRecord } from '../../domain/audit.ts'
import type { Card } from '../../domain/chat.ts'
import type { OutboxEvent } from '../../domain/event.ts'
import { given } from '../../domain/given.ts'
import { drawId } from '../../domain/identifier.ts'
import type { Push } from '../../domain/push.ts'
import type { Delivery, Webhook } from '../../domain/webhook.ts'
import { coalesce } from '../../ports/coalesce.ts'
import type { OutboxEntry, OutboxSource } from '../../ports/ports.ts'
import { warnSeldom } from '../../ports/warn-seldom.ts'
import { plainEntry } from '../../signing/audit-chain.ts'
import type { Written } from '../../store/mongo/outbox.ts'
import type { FlowDeps } from '../deps.ts'
import { dueNow, type SendLoop } from '../queue/send-loop.ts'
import { followCards, followConsents, followNotices } from '../tell/follow-cards.ts'
import { followPushes } from '../tell/follow-pushes.ts'
import { createRecorder, type Recorder } from './recorder.ts'

/** Documents handled at a time. */
const RELAY_BATCH = 100

/** The loops that send, which the relay wakes when there is something to send. */
export interface SendLoops {
  deliveries: SendLoop<Delivery>
  pushes: SendLoop<Push>
  cards: SendLoop<Card>
}

/** For a process that sends nothing: the records its relay makes are stored and stay due for a process that sends. */
export const NO_LOOPS: SendLoops = { deliveries: idleLoop(), pushes: idleLoop(), cards: idleLoop() }

function idleLoop<R>(): SendLoop<R> {
  return {
    wake: () => undefined,
    enter: async (records, store) => void (await store(records)),
    drain: async () => undefined,
  }
}

/** The length of a turn of the sweep. The time determines whose turn it is, whichever process sweeps. */
const TURN_MS = 10_000
const TURNS = 4

/** Hands outbox entries on: events to webhooks, callbacks to deliveries, news to cards and browsers, audit entries to the trail. */
export interface Relay {
  /**
   * Reports a write, so that the relay looks soon: only into its collection, and only at its document if it is given; without
   * a write, everywhere. Never throws, never waits.
   */
  wake(written?: Written): void
  /**
   * Looks for entries left by a process that died before its own relay ran: at the requests each time and at the other
   * collections in turns, at each within 40 s when called every 10 s. Never throws, never waits.
   */
  sweep(): void
  /** Handles everything that is due in every collection. Resolves when nothing is left. @throws what the store throws */
  run(): Promise<void>
}

/**
 * Creates the relay: one run at a time per process, any number of processes. Each step is idempotent, so a crash between two
 * steps, or two relays at once, changes nothing: deliveries are unique per event and target, cards per request and
 * recipient, pushes per event and browser, audit entries unique by id, and an outbox entry is removed only while its token
 * stands. An entry that cannot be handled blocks no other: an invalid outbox entry is logged and left, and while the trail
 * takes nothing, entries wait but deliveries are made. Deliveries come first and at once; the trail may follow a moment later.
 */
export function createRelay(
  deps: FlowDeps,
  loops: SendLoops,
  onAppended: (records: readonly AuditRecord[]) => void = () => undefined,
): Relay {
  const wanted = createWanted(deps.outbox)
  const recorder = createRecorder(deps, wanted.all, onAppended)
  const look = coalesce(async () => {
    const failures: unknown[] = []
    for (const { source, given } of wanted.take()) {
      await relaySource({ deps, source, loops, recorder }, given).catch((error: unknown) => {
        failures.push(error)
        wanted.all(source)
      })
    }
    if (failures.length > 0) throw failures[0]
  })
  const trouble = warnSeldom(deps.log, 'relaying events failed; the next sweep tries again')
  const run = (): Promise<void> => {
    for (const source of deps.outbox) wanted.all(source)
    return look().finally(recorder.flush)
  }
  let swept: number | undefined
  const quietly = (looking: Promise<void>): void => void looking.then(trouble.worked, trouble.failed)
  return {
    run,
    wake(written) {
      const source = deps.outbox.find(({ name }) => name === written?.outboxOf)
      if (written !== undefined && source !== undefined) wanted.add(source, written)
      quietly(source === undefined ? run() : look().finally(recorder.soon))
    },
    sweep() {
      const turn = Math.floor(deps.clock.now().getTime() / TURN_MS)
      // A sweep runs a little later than one turn after the last sweep; it includes a turn that was skipped.
      const turns = Math.max(1, turn - (swept ?? turn))
      swept = turn
      const [requests, ...others] = deps.outbox
      if (requests !== undefined) wanted.all(requests)
      for (const [index, source] of others.entries())
        if ((turn + TURNS - (index % TURNS)) % TURNS < turns) wanted.all(source)
      quietly(look().finally(recorder.flush))
    },
  }
}

/** One run over a collection: the source and what is needed to handle its entries. */
interface Carrying {
  deps: FlowDeps
  source: OutboxSource
  loops: SendLoops
  recorder: Recorder
}

/** Handles everything that is due, page by page, even when a page fails. @throws the error that kept entries out of the trail */
async function relaySource(carrying: Carrying, given?: readonly OutboxEntry[]): Promise<void> {
  const { source, recorder } = carrying
  const failures: unknown[] = []
  for (let after = ''; ; ) {
    const entries = given ?? (await source.due(RELAY_BATCH, after))
    const sound = await handOver(carrying, entries)
    if (failures.length === 0) recorder.add(source, sound)
    if (recorder.isFull()) await recorder.flush().catch((error: unknown) => failures.push(error))
    const last = entries.at(-1)
    if (given !== undefined || last === undefined || entries.length < RELAY_BATCH) break
    after = last.token
  }
  if (failures.length > 0) throw failures[0]
}

/** Makes the deliveries of these entries. @returns the entries whose audit entries can now be recorded */
async function handOver(
  { deps, source, loops }: Carrying,
  entries: readonly OutboxEntry[],
): Promise<OutboxEntry[]> {
  const webhooks = await webhooksFor(deps, entries)
  const deliveries: Delivery[] = []
  const sound: OutboxEntry[] = []
  for (const entry of entries) {
    try {
      deliveries.push(...deliveriesOf(deps, entry, webhooks))
      entry.audit.forEach(plainEntry)
      sound.push(entry)
    } catch (error) {
      deps.log.error(
        { error, source: source.name, id: entry.id },
        'relaying an event failed: it cannot be read',
      )
    }
  }
  if (deliveries.length > 0) await loops.deliveries.enter(deliveries, deps.deliveries.insertNew)
  if (entries.some(isReplay)) loops.deliveries.wake()
  const told = [
    await followCards(deps, sound),
    await followConsents(deps, sound),
    await followNotices(deps, sound),
  ]
  if (told.includes(true)) loops.cards.wake()
  const heard = sound.filter(({ noListeners }) => noListeners !== true)
  if (await followPushes(deps, heard)) loops.pushes.wake()
  return sound
}

/** Checks whether the entry is of a replayed delivery, which is due although nothing was inserted. */
function isReplay(entry: OutboxEntry): boolean {
  return entry.audit.some(({ type }) => type === 'delivery.replayed')
}

async function webhooksFor(deps: FlowDeps, entries: readonly OutboxEntry[]): Promise<Webhook[]> {
  const accounts = entries
    .filter(({ events, noListeners }) => events.length > 0 && noListeners !== true)
    .flatMap((entry) => entry.account_id ?? [])
  return accounts.length === 0 ? [] : deps.webhooks.activeOf([...new Set(accounts)])
}

function deliveriesOf(deps: FlowDeps, entry: OutboxEntry, webhooks: readonly Webhook[]): Delivery[] {
  const toWebhooks = entry.events.flatMap((event) =>
    webhooks
      .filter((webhook) => webhook.account_id === entry.account_id && wants(webhook, event))
      .map((webhook) => deliveryTo(deps, webhook, event, aboutOf(entry, event))),
  )
  return [...callbackOf(deps, entry), ...toWebhooks]
}

/**
 * Checks whether the webhook wants the event; an empty list of types wants every event. The event that a delivery to this very
 * webhook was given up is left out: it would be given up as well, and so on for ever.
 */
function wants(webhook: Webhook, event: OutboxEvent): boolean {
  if (webhook.created_at > event.created_at) return false
  if (event.type === 'delivery.exhausted' && event.body.includes(`"${webhook.id}"`)) return false
  return webhook.events.length === 0 || webhook.events.includes(event.type)
}

function aboutOf({ id, traceparent }: OutboxEntry, event: OutboxEvent): About {
  return given({ request_id: event.type.startsWith('approval.') ? id : undefined, traceparent })
}

function callbackOf(deps: FlowDeps, entry: OutboxEntry): Delivery[] {
  const { callback } = entry
  if (callback?.state !== 'due' || callback.body === undefined || entry.account_id === undefined) return []
  const { request_id, api_key_id, url, event_id, delivery_id: id, body, secret_version } = callback
  return [
    {
      ...fresh(deps, { account_id: entry.account_id, url, body, event_id }),
      id,
      host: new URL(url).hostname.replace(/\.$/, ''),
      target: { kind: 'callback', request_id, api_key_id, secret_version },
      event_type: 'callback',
      request_id,
      ...given({ traceparent: entry.traceparent }),
    },
  ]
}

type About = Partial<Pick<Delivery, 'request_id' | 'traceparent'>>

/** Makes the delivery of that event to that webhook, due now. */
export function deliveryTo(deps: FlowDeps, webhook: Webhook, event: OutboxEvent, about?: About): Delivery {
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

function fresh(deps: FlowDeps, facts: Pick<Delivery, 'account_id' | 'url' | 'body' | 'event_id'>) {
  return { ...facts, ...dueNow(deps.clock.now()), outbox: [] }
}

/** Tracks where the relay must look next: for each collection the entries it was given, or everything that is due. */
function createWanted(sources: readonly OutboxSource[]) {
  const entries = new Map<OutboxSource, Map<string, OutboxEntry> | 'all'>()
  const all = (source: OutboxSource): void => void entries.set(source, 'all')
  return {
    all,
    add(source: OutboxSource, { document, hint }: Written): void {
      const known = entries.get(source) ?? new Map<string, OutboxEntry>()
      const entry = document && { ...source.read(document), ...hint }
      if (entry?.token === '') return
      // Two writes of one document may be reported in the reverse order.
      if (entry === undefined || known === 'all' || known.size >= RELAY_BATCH || known.has(entry.id))
        all(source)
      else entries.set(source, known.set(entry.id, entry))
    },
    /** Takes the work in the order of the sources. @returns without `given` where everything that is due is wanted */
    take(): { source: OutboxSource; given?: OutboxEntry[] }[] {
      const taken = sources.flatMap((source) => {
        const known = entries.get(source)
        if (known === undefined) return []
        return known === 'all' ? [{ source }] : [{ source, given: [...known.values()] }]
      })
      entries.clear()
      return taken
    },
  }
}
