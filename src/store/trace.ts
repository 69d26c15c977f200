import type { Schema } from 'mongoose'
import type { AuditEntry } from '../domain/audit.ts'
import type { OutboxEvent } from '../domain/event.ts'
import type { Trace, TraceSource } from '../flow/ports.ts'
import type { StoreConnection } from './connect.ts'

/**
 * Tells the relay that a write left a trace, or the updater that it made cards due. Stores call it after each such write, so
 * that no verb can forget it; losing it costs only time.
 */
export type Wake = (what?: 'cards') => void

/** For stores without a relay of their own: a command beside the service, a test. */
export const noWake: Wake = () => undefined

/** What a document with a trace holds besides its record: the token of what waits, absent when nothing does. */
export interface Relayed {
  relay?: string
}

/** Prepares the schema of documents that carry traces. Only those with something waiting are in the index. */
export function carryTraces(schema: Schema): void {
  schema.add({ relay: String })
  schema.index({ relay: 1 }, { sparse: true })
}

/**
 * Adds entries and events to an update: state and trace are one write (T86). The token is the newest entry's id, so it
 * changes with every addition.
 */
export function traced(
  update: { $set?: object; $push?: object; $inc?: object; $pull?: object; $unset?: object },
  audit: readonly AuditEntry[],
  events: readonly OutboxEvent[] = [],
) {
  const token = audit.at(-1)?.eid
  if (token === undefined && events.length > 0) throw new Error('an event without an audit entry')
  if (token === undefined) return update
  return {
    ...update,
    $set: { ...update.$set, relay: token },
    $push: {
      ...update.$push,
      audit: { $each: audit },
      ...(events.length === 0 ? {} : { outbox: { $each: events } }),
    },
  }
}

/** The token of a new document. */
export function tokenOf(record: { audit: readonly AuditEntry[] }): Relayed {
  const token = record.audit.at(-1)?.eid
  return token === undefined ? {} : { relay: token }
}

interface TracedDocument extends Relayed {
  _id: string
  account_id?: string
  audit: AuditEntry[]
  outbox?: OutboxEvent[]
}

/** How the documents of a collection differ from the plain case. */
export interface SourceOptions<T> {
  /** Further fields to read. */
  fields?: readonly string[]
  /** Adds to the trace what these fields hold. */
  read?: (document: T) => Partial<Trace>
  /** Further changes once a trace is settled. */
  settled?: (trace: Trace) => { $set?: Record<string, unknown>; $unset?: Record<string, 1> }
}

/** The collection of that model as a source for the relay. */
export function createTraceSource<T extends TracedDocument>(
  connection: StoreConnection,
  modelName: string,
  options: SourceOptions<T> = {},
): TraceSource {
  const model = connection.model<T>(modelName)
  const collection = connection.collection<TracedDocument>(model.collection.name)
  const hasOutbox = model.schema.path('outbox') !== undefined
  const fields = ['relay', 'account_id', 'audit', 'outbox', ...(options.fields ?? [])]
  const projection = Object.fromEntries(fields.map((field) => [field, 1]))
  return {
    name: model.collection.name,
    async due(limit, after = '') {
      const waiting = { relay: { $gt: after } }
      const found = await collection.find<T>(waiting, { projection, limit, sort: { relay: 1 } }).toArray()
      return found.map((document) => ({ ...toTrace(document), ...options.read?.(document) }))
    },
    async settle(traces) {
      const empty = { audit: [], ...(hasOutbox ? { outbox: [] } : {}) }
      const writes = traces.map((trace) => {
        const more = options.settled?.(trace) ?? {}
        const update = { $set: { ...empty, ...more.$set }, $unset: { relay: 1 as const, ...more.$unset } }
        return { updateOne: { filter: { _id: trace.id, relay: trace.token }, update } }
      })
      if (writes.length > 0) await collection.bulkWrite(writes, { ordered: false })
    },
  }
}

function toTrace(document: TracedDocument): Trace {
  return {
    id: document._id,
    token: document.relay ?? '',
    ...(document.account_id === undefined ? {} : { account_id: document.account_id }),
    events: document.outbox ?? [],
    audit: document.audit,
  }
}
