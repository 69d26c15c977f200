import { createServer, type Server } from 'node:http'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { BuildInfo } from '../config/package-path.ts'
import { AUDIT_TYPES } from '../domain/audit.ts'
import type { FlowDeps } from '../flow/deps.ts'
import type { HttpDeps } from '../http/http-deps.ts'
import { within } from '../ports/within.ts'

/** Metrics of this process and of the store, in the format of Prometheus. */
export interface Metrics {
  /** Wraps the trail so that the entries it seals are counted. */
  count(trail: FlowDeps['trail']): FlowDeps['trail']
  onAnswered: NonNullable<HttpDeps['onAnswered']>
  /** Answers `GET /metrics`, to anyone who reaches it. */
  server: Server
}

/** The sources that are read each time the metrics are asked for. */
type Read = Pick<FlowDeps, 'deliveries' | 'pushes' | 'cards' | 'requests' | 'chats' | 'clock'>

/** Buckets in seconds: the last is 60 because a wait takes up to 60 s. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]

/** Makes the metrics. This module is loaded only if METRICS_PORT is set. `ping` throws when the store does not answer. */
export function createMetrics(
  read: Read,
  ping: () => Promise<void>,
  { version, commit }: BuildInfo,
): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'countersign_build_info',
    help: 'Which build runs; always 1.',
    labelNames: ['version', 'commit'],
    registers,
  }).set({ version, commit }, 1)
  const requests = new Histogram({
    name: 'countersign_http_request_duration_seconds',
    help: 'Requests by route, until the answer was sent or the client closed the connection.',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS,
    registers,
  })
  const sealed = new Counter({
    name: 'countersign_audit_entries_total',
    help: 'Entries that this process sealed into the audit trail, by type (see the audit page).',
    labelNames: ['type'],
    registers,
  })
  // Starts every type at 0: a counter that first appears as 1 is no increase to Prometheus.
  for (const type of AUDIT_TYPES) sealed.inc({ type }, 0)
  surveyStore(registers, read, ping)
  return {
    count: (trail) => ({
      ...trail,
      async insert(records) {
        const inserted = await trail.insert(records)
        for (const { entry } of records.slice(0, inserted))
          if (entry !== undefined) sealed.inc({ type: entry.type })
        return inserted
      },
    }),
    onAnswered: ({ method, route, status, seconds }) =>
      requests.observe({ method, route, status: String(status) }, seconds),
    server: createServer((request, response) => {
      if (request.method !== 'GET' || request.url !== '/metrics') {
        response.writeHead(404).end()
        return
      }
      registry.metrics().then(
        (text) => response.setHeader('Content-Type', registry.contentType).end(text),
        () => response.writeHead(503).end(),
      )
    }),
  }
}

/** Adds gauges that ask the store at each scrape, and so are the same from every process. */
function surveyStore(registers: Registry[], read: Read, ping: () => Promise<void>): void {
  new Gauge({
    name: 'countersign_store_ping_seconds',
    help: 'Seconds that a ping of the store takes; NaN while it does not answer.',
    registers,
    async collect() {
      const started = performance.now()
      const answered = await soon(ping().then(() => true))
      this.set(answered === undefined ? Number.NaN : (performance.now() - started) / 1000)
    },
  })
  const platforms = read.chats.map(({ platform }) => platform)
  const due = {
    callbacks: () => read.deliveries.nextDue(),
    pushes: () => read.pushes.nextDue(),
    cards: async () => (platforms.length === 0 ? undefined : read.cards.nextDue(platforms)),
    expiry: () => read.requests.nextExpiry(),
  }
  new Gauge({
    name: 'countersign_late_seconds',
    help: 'Age of the oldest due item, by queue; 0: nothing is late.',
    labelNames: ['queue'],
    registers,
    async collect() {
      const now = read.clock.now().getTime()
      const looks = Object.entries(due).map(async ([queue, next]) => {
        const late = await soon(next().then((at) => Math.max(0, (now - (at?.getTime() ?? now)) / 1000)))
        this.set({ queue }, late ?? Number.NaN)
      })
      await Promise.all(looks)
    },
  })
}

/** Milliseconds to wait for the store: less than a scrape may take as a whole. */
const LOOK_MS = 2_000

/** Returns the answer, or undefined if the store does not answer in time or fails. */
function soon<Value>(answer: Promise<Value>): Promise<Value | undefined> {
  return within(LOOK_MS, answer).catch(() => undefined)
}
