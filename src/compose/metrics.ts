import { statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { z } from 'zod'
import type { Config } from '../config/config.ts'
import type { BuildInfo } from '../config/package-path.ts'
import { AUDIT_TYPES } from '../domain/audit.ts'
import { type LogState, readLogState, type WitnessOfLog } from '../flow/audit/read-log.ts'
import type { FlowDeps } from '../flow/deps.ts'
import type { HttpDeps } from '../http/http-deps.ts'
import { within } from '../ports/within.ts'
import { createFigures, type Figures, type StoreSize } from '../store/figures.ts'
import { ping, type StoreConnection } from '../store/mongo/connect.ts'
import type { Written } from '../store/mongo/outbox.ts'
import type { TimeWatch } from './watch-time.ts'

/** Metrics of this process and of the store, in the format of Prometheus; docs/operate.md has their meanings. */
export interface Metrics {
  /** Wraps the trail so that the entries it seals are counted. */
  count(trail: FlowDeps['trail']): FlowDeps['trail']
  onAnswered: NonNullable<HttpDeps['onAnswered']>
  /** Measures the decisions among the writes of this process. */
  onWritten(written: Written): void
  /** Answers `GET /metrics`, to anyone who reaches it. */
  server: Server
}

/** What the metrics read besides the stores. */
export interface MetricsParts {
  config: Pick<Config, 'mongodbUri' | 'dataDir'>
  connection: StoreConnection
  time: TimeWatch
  build: BuildInfo
}

/** Buckets in seconds: the last is 60 because a wait takes up to 60 s. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]

/** Buckets in seconds for people: from a glance at a phone to a request that waits for days. */
const HUMAN_BUCKETS = [5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400]

/** Makes the metrics. This module is loaded only if METRICS_PORT is set. */
export function createMetrics(deps: FlowDeps, parts: MetricsParts): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  // Scrapes at the same moment share one survey: anyone who reaches the port may ask as often as they like.
  let reading: Promise<string> | undefined
  const read = (): Promise<string> => {
    reading ??= registry.metrics().finally(() => {
      reading = undefined
    })
    return reading
  }
  addProcess(registers, deps.clock, parts)
  surveyStore(registers, deps, parts)
  return {
    count: countSealed(registers),
    onAnswered: measureAnswers(registers),
    onWritten: measureDecisions(registers),
    server: createServer((request, response) => {
      if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
        response.writeHead(404).end()
        return
      }
      read().then(
        (text) => response.setHeader('Content-Type', registry.contentType).end(text),
        () => response.writeHead(503).end(),
      )
    }),
  }
}

function addProcess(registers: Registry[], clock: FlowDeps['clock'], { build, time }: MetricsParts): void {
  const { version, commit } = build
  new Gauge({
    name: 'countersign_build_info',
    help: 'Which build runs; always 1.',
    labelNames: ['version', 'commit'],
    registers,
  }).set({ version, commit }, 1)
  new Gauge({
    name: 'countersign_clock_skew_seconds',
    help: 'Seconds by which the clock that the service follows, the database’s, is ahead of this machine’s.',
    registers,
    collect() {
      this.set((clock.now().getTime() - time.wall()) / 1000)
    },
  })
  const steps = new Counter({
    name: 'countersign_clock_steps_total',
    help: 'How often the clock of this machine was set by a second or more, or the machine slept.',
    registers,
    collect() {
      steps.reset()
      steps.inc(time.steps)
    },
  })
  const pauses = new Counter({
    name: 'countersign_pauses_total',
    help: 'How often this process stood still for five seconds or more.',
    registers,
    collect() {
      pauses.reset()
      pauses.inc(time.pauses)
    },
  })
}

function countSealed(registers: Registry[]): Metrics['count'] {
  const sealed = new Counter({
    name: 'countersign_audit_entries_total',
    help: 'Entries that this process sealed into the audit trail, by type (see the audit page).',
    labelNames: ['type'],
    registers,
  })
  // Starts every type at 0: a counter that first appears as 1 is no increase to Prometheus.
  for (const type of AUDIT_TYPES) sealed.inc({ type }, 0)
  return (trail) => ({
    ...trail,
    async insert(records) {
      const inserted = await trail.insert(records)
      for (const { entry } of records.slice(0, inserted))
        if (entry !== undefined) sealed.inc({ type: entry.type })
      return inserted
    },
  })
}

const CONSUME = '/api/v1/approvals/:id/consume'

/** Results of a consume: `consumed`, or the error code; any other code is `other`. */
const CONSUME_RESULTS = ['consumed', 'mismatch', 'already_consumed', 'not_approved', 'other'] as const

function measureAnswers(registers: Registry[]): Metrics['onAnswered'] {
  const requests = new Histogram({
    name: 'countersign_http_request_duration_seconds',
    help: 'Requests by route, until the answer was sent or the client closed the connection.',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS,
    registers,
  })
  const consumes = new Counter({
    name: 'countersign_consumes_total',
    help: 'Attempts to consume an approval, by result; mismatch: something else than what was approved was about to run.',
    labelNames: ['result'],
    registers,
  })
  for (const result of CONSUME_RESULTS) consumes.inc({ result }, 0)
  return ({ method, route, status, seconds, error }) => {
    requests.observe({ method, route, status: String(status) }, seconds)
    if (route !== CONSUME) return
    const told = error ?? (status === 200 ? 'consumed' : 'other')
    consumes.inc({ result: CONSUME_RESULTS.find((result) => result === told) ?? 'other' })
  }
}

/** The write that decides a request: it alone leaves an entry of one of these types as its newest. */
const decidedSchema = z.object({
  audit: z
    .array(z.object({ type: z.string() }))
    .refine((audit) => ['approval.approved', 'approval.rejected'].includes(audit.at(-1)?.type ?? '')),
  created_at: z.date(),
  decision: z.object({ method: z.string(), decision: z.string(), decided_at: z.date() }),
  seen: z.array(z.object({ at: z.date() })).default([]),
})

function measureDecisions(registers: Registry[]): Metrics['onWritten'] {
  const decisions = new Histogram({
    name: 'countersign_decision_seconds',
    help: 'Seconds from a request to its decision, by factor; the sandbox has its own.',
    labelNames: ['method', 'decision'],
    buckets: HUMAN_BUCKETS,
    registers,
  })
  const looks = new Histogram({
    name: 'countersign_first_look_seconds',
    help: 'Seconds until an approver first had a request on their screen, observed at its decision, by its factor.',
    labelNames: ['method'],
    buckets: HUMAN_BUCKETS,
    registers,
  })
  return ({ outboxOf, document }) => {
    if (outboxOf !== 'requests') return
    const { success, data } = decidedSchema.safeParse(document)
    if (!success) return
    const { created_at, seen } = data
    const { method, decision, decided_at } = data.decision
    const since = (at: Date): number => Math.max(0, at.getTime() - created_at.getTime()) / 1000
    decisions.observe({ method, decision }, since(decided_at))
    if (seen.length > 0) looks.observe({ method }, Math.min(...seen.map(({ at }) => since(at))))
  }
}

/** The sources that are read each time the metrics are asked for. */
type Read = Pick<
  FlowDeps,
  | 'deliveries'
  | 'pushes'
  | 'cards'
  | 'requests'
  | 'accounts'
  | 'outbox'
  | 'chats'
  | 'clock'
  | 'logs'
  | 'trail'
  | 'restores'
  | 'witnesses'
>

/** Gauges that ask the store at each scrape, and so are the same from every process; NaN while it does not answer. */
function surveyStore(registers: Registry[], read: Read, parts: MetricsParts): void {
  const figures = createFigures(parts.connection)
  const add = (name: string, help: string, look: () => Promise<number>): void => {
    new Gauge({
      name: `countersign_${name}`,
      help,
      registers,
      async collect() {
        this.set((await soon(look())) ?? Number.NaN)
      },
    })
  }
  add(
    'store_ping_seconds',
    'Seconds that a ping of the store takes; NaN while it does not answer.',
    async () => {
      const started = performance.now()
      await ping(parts.connection)
      return (performance.now() - started) / 1000
    },
  )
  const { clock } = read
  add('requests_pending', 'Pending requests, dry runs among them; counted up to 10000.', () =>
    figures.pending(clock.now()),
  )
  add(
    'oldest_pending_seconds',
    'Age of the oldest pending request, of the 100 that expire first; 0: none.',
    async () => ageOf(await figures.oldestPending(clock.now()), clock),
  )
  add(
    'dead_letters',
    'Callbacks and webhook events that were given up and not sent again; counted up to 10000.',
    () => figures.deadLetters(),
  )
  add('audit_lag_seconds', 'Age of the oldest audit entry that is not sealed yet; 0: none waits.', () =>
    auditLag(read),
  )
  addLog(add, read)
  addWitnesses(registers, read)
  addQueues(registers, read, figures)
  addChats(registers, read)
  addSize(add, sizeOf(parts, figures))
}

/** Adds gauges with a value for each label, which are looked up side by side. */
function addEach(
  registers: Registry[],
  about: { name: string; help: string; label: string },
  looks: Readonly<Record<string, () => Promise<number>>>,
): void {
  new Gauge({
    name: `countersign_${about.name}`,
    help: about.help,
    labelNames: [about.label],
    registers,
    async collect() {
      const all = Object.entries(looks).map(async ([value, look]) =>
        this.set({ [about.label]: value }, (await soon(look())) ?? Number.NaN),
      )
      await Promise.all(all)
    },
  })
}

function addQueues(registers: Registry[], read: Read, figures: Figures): void {
  const platforms = read.chats.map(({ platform }) => platform)
  const due = {
    callbacks: () => read.deliveries.nextDue(),
    pushes: () => read.pushes.nextDue(),
    cards: async () => (platforms.length === 0 ? undefined : read.cards.nextDue(platforms)),
    expiry: () => read.requests.nextExpiry(),
  }
  const late = Object.entries(due).map(
    ([queue, next]) => [queue, async () => ageOf(await next(), read.clock)] as const,
  )
  addEach(
    registers,
    {
      name: 'late_seconds',
      help: 'Age of the oldest due item, by queue; 0: nothing is late.',
      label: 'queue',
    },
    Object.fromEntries(late),
  )
  const help = 'Items that are not sent yet, also those that wait for their next try; counted up to 1000.'
  addEach(
    registers,
    { name: 'queue_items', help, label: 'queue' },
    {
      callbacks: () => figures.unsent('deliveries'),
      pushes: () => figures.unsent('pushes'),
      cards: () => figures.unsent('cards'),
    },
  )
}

function addChats(registers: Registry[], { chats, accounts }: Read): void {
  const help = 'Workspaces and channels that take no cards, of all accounts.'
  const troubles = async (platform: string): Promise<number> =>
    (await accounts.inTrouble())
      .flatMap(({ chat_troubles = [] }) => chat_troubles)
      .filter((trouble) => trouble.platform === platform).length
  const looks = chats.map(({ platform }) => [platform, () => troubles(platform)] as const)
  addEach(registers, { name: 'chat_troubles', help, label: 'platform' }, Object.fromEntries(looks))
}

/** Entries read of each collection: their tokens are drawn at random, so these are as old as the others. */
const SAMPLE = 20

/** Returns the age in seconds of the oldest entry that waits to be sealed. */
async function auditLag({ outbox, clock }: Pick<Read, 'outbox' | 'clock'>): Promise<number> {
  const waiting = (await Promise.all(outbox.map((source) => source.due(SAMPLE)))).flat()
  const times = waiting.flatMap(({ audit }) => audit.map(({ at }) => at.getTime()))
  return times.length === 0 ? 0 : ageOf(new Date(Math.min(...times)), clock)
}

function ageOf(at: Date | undefined, clock: Read['clock']): number {
  return at === undefined ? 0 : Math.max(0, clock.now().getTime() - at.getTime()) / 1000
}

function addLog(add: (name: string, help: string, look: () => Promise<number>) => void, read: Read): void {
  const gauge = (name: string, help: string, pick: (log: LogState) => number | undefined) =>
    add(`log_${name}`, help, async () => {
      const log = await readLogState({ ...read, witnesses: [] })
      return (log && pick(log)) ?? 0
    })
  gauge('size', 'Records in the log.', ({ size }) => size)
  gauge('behind', 'Records of the audit trail that are not in the log yet.', ({ behind }) => behind)
  gauge('checkpoint_age_seconds', 'Age of the last checkpoint; it grows while nothing happens.', (log) =>
    ageOf(log.signed_at, read.clock),
  )
  gauge('rolled_back', '1 if the log signs nothing more, since the store was restored.', (log) =>
    Number(log.rolled_back),
  )
}

function addWitnesses(registers: Registry[], read: Read): void {
  const gauge = (name: string, help: string, pick: (of: WitnessOfLog, log: LogState) => number): void => {
    const looks = read.witnesses.map((witness) => {
      const look = async (): Promise<number> => {
        const log = await readLogState({ ...read, witnesses: [witness] })
        const [of] = log?.witnesses ?? []
        return log === undefined || of === undefined ? Number.NaN : pick(of, log)
      }
      return [witness.key.name, look] as const
    })
    addEach(registers, { name: `log_witness_${name}`, help, label: 'witness' }, Object.fromEntries(looks))
  }
  gauge('behind', 'Records of the log that the witness has not cosigned.', (of, { size }) => size - of.size)
  gauge('age_seconds', 'Age of the last cosignature of the witness; NaN: none.', ({ cosigned_at: at }) =>
    at === undefined ? Number.NaN : ageOf(at, read.clock),
  )
  gauge('failing_seconds', 'How long the witness has not cosigned, though asked.', ({ failing }) =>
    ageOf(failing?.since, read.clock),
  )
}

function addSize(
  add: (name: string, help: string, look: () => Promise<number>) => void,
  size: () => Promise<StoreSize>,
): void {
  add('store_bytes', 'Bytes that the store takes on its disk.', async () => (await size()).bytes)
  add('disk_free_bytes', 'Bytes free on the disk of the store.', async () => (await size()).free)
}

/** Finds out how the size is read: of the files of an embedded store on this machine, or as a MongoDB tells it. */
function sizeOf({ config }: MetricsParts, figures: Figures): () => Promise<StoreSize> {
  const { mongodbUri, dataDir } = config
  const socket = encodeURIComponent(join(dataDir, 'run', 'store.sock'))
  if (mongodbUri !== undefined && !mongodbUri.includes(socket)) return () => figures.size()
  const bytesOf = (name: string): number =>
    statSync(join(dataDir, name), { throwIfNoEntry: false })?.size ?? 0
  return async () => {
    const { bavail, bsize } = await statfs(dataDir)
    return { bytes: bytesOf('store.db') + bytesOf('store.db-wal'), free: bavail * bsize }
  }
}

/** Milliseconds to wait for the store: less than a scrape may take as a whole. */
const LOOK_MS = 2_000

/** Returns the answer, or undefined if the store does not answer in time or fails. */
function soon<Value>(answer: Promise<Value>): Promise<Value | undefined> {
  return within(LOOK_MS, answer).catch(() => undefined)
}
