import { createServer, type Server } from 'node:http'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { z } from 'zod'
import { AUDIT_TYPES } from '../domain/audit.ts'
import type { FlowDeps } from '../flow/deps.ts'
import type { HttpDeps } from '../http/http-deps.ts'
import type { Written } from '../store/mongo/outbox.ts'
import { type MetricsParts, surveyStore } from './survey-store.ts'

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

/** Buckets in seconds: the last is 60 because a wait takes up to 60 s. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]

/** Buckets in seconds for people: from a glance at a phone to a request that waits for days. */
const HUMAN_BUCKETS = [5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400]

/** Makes the metrics. This module is loaded only if METRICS_PORT is set. */
export function createMetrics(deps: FlowDeps, parts: MetricsParts): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
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
      registry.metrics().then(
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
