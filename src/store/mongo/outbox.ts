import type { Schema } from 'mongoose'
import type { AuditEntry } from '../../domain/audit.ts'
import type { OutboxEvent } from '../../domain/event.ts'
import { given } from '../../domain/given.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { OutboxEntry, OutboxSource } from '../../ports/ports.ts'
import { deleteThese } from './bulk-writes.ts'
import type { StoreConnection } from './connect.ts'
import { neededPart } from './fields.ts'

/**
 * Tells the relay that a write left an outbox entry. Stores call it after each such write, so that no verb can forget it; a
 * lost call costs only time.
 */
export type Wake = (written: Written) => void

/** A write that left an outbox entry in that collection, with the document as stored, where it is at hand. */
export interface Written {
  outboxOf: string
  document?: object
  hint?: OutboxHint
}

/** Facts about an outbox entry that its document does not hold. */
export interface OutboxHint {
  /** At the write, the account had never had a webhook, and no person concerned had ever had a browser with notifications. */
  noListeners?: boolean
}

/** The `Wake` of a process without a relay: a command beside the service, a test. */
export const noWake: Wake = () => undefined

/** The store's own field in a document with an outbox: the token of what waits, absent when nothing waits. */
export interface OutboxToken {
  outbox_token?: string
}

/** Adds the outbox to a schema. Its index holds only documents with something waiting. */
export function addOutbox(schema: Schema): void {
  schema.add({ audit: { ...neededPart, default: () => [] }, outbox_token: String })
  schema.index({ outbox_token: 1 }, { sparse: true })
}

/**
 * Adds audit entries and events to an update, so that state and outbox are one write (T86). The token is the newest entry's
 * id, so it changes with every addition.
 */
export function withOutbox(
  update: { $set?: object; $push?: object; $inc?: object; $pull?: object; $unset?: object },
  audit: readonly AuditEntry[],
  events: readonly OutboxEvent[] = [],
) {
  const token = audit.at(-1)?.eid
  if (token === undefined && events.length > 0) throw new Error('an event without an audit entry')
  if (token === undefined) return update
  return {
    ...update,
    $set: { ...update.$set, outbox_token: token },
    $push: {
      ...update.$push,
      audit: { $each: audit },
      ...(events.length === 0 ? {} : { outbox: { $each: events } }),
    },
  }
}

/** Returns the token for a new document. */
export function outboxToken(record: { audit: readonly AuditEntry[] }): OutboxToken {
  const token = record.audit.at(-1)?.eid
  return token === undefined ? {} : { outbox_token: token }
}

interface OutboxDocument extends OutboxToken {
  _id: string
  account_id?: string
  audit: AuditEntry[]
  outbox?: OutboxEvent[]
  traceparent?: string
}

/** How the documents of a collection differ from the plain case. */
export interface SourceOptions<T> {
  /** Further fields to read. */
  fields?: readonly string[]
  /** Reads these fields into the entry. */
  read?: (document: T) => Partial<OutboxEntry>
  /** Further changes once an outbox entry is settled. */
  settled?: (entry: OutboxEntry) => { $set?: Record<string, unknown>; $unset?: Record<string, 1> }
}

/** Makes the model's collection a source for the relay. */
export function createOutboxSource<T extends OutboxDocument>(
  connection: StoreConnection,
  modelName: string,
  options: SourceOptions<T> = {},
): OutboxSource {
  const model = connection.model<T>(modelName)
  const collection = connection.collection<OutboxDocument>(model.collection.name)
  const hasOutbox = model.schema.path('outbox') !== undefined
  const fields = ['outbox_token', 'account_id', 'audit', 'outbox', 'traceparent', ...(options.fields ?? [])]
  const projection = Object.fromEntries(fields.map((field) => [field, 1]))
  const read = (document: T): OutboxEntry => ({ ...toEntry(document), ...options.read?.(document) })
  return {
    name: model.collection.name,
    // Only this collection's own store passes documents here, in stored form.
    read: (document) => read(document as T),
    async due(limit, after = '') {
      const waiting = { outbox_token: { $gt: after } }
      const options = { projection, limit, sort: { outbox_token: 1 } } as const
      return (await collection.find<T>(waiting, options).toArray()).map(read)
    },
    async settle(entries) {
      const empty = { audit: [], ...(hasOutbox ? { outbox: [] } : {}) }
      const writes = entries.map((entry) => {
        const more = options.settled?.(entry) ?? {}
        const update = {
          $set: { ...empty, ...more.$set },
          $unset: { outbox_token: 1 as const, ...more.$unset },
        }
        return { updateOne: { filter: { _id: entry.id, outbox_token: entry.token }, update } }
      })
      if (writes.length > 0) await collection.bulkWrite(writes, { ordered: false })
    },
  }
}

function toEntry(document: OutboxDocument): OutboxEntry {
  return {
    id: document._id,
    token: document.outbox_token ?? '',
    ...given({ account_id: document.account_id, traceparent: document.traceparent }),
    events: document.outbox ?? [],
    audit: document.audit,
  }
}

/** Every collection whose documents have an outbox, with its model; requests first, because callers wait for them. */
export const WITH_OUTBOX = {
  requests: 'Request',
  api_keys: 'ApiKey',
  accounts: 'Account',
  bootstraps: 'Bootstrap',
  users: 'User',
  signing_keys: 'SigningKey',
  sessions: 'Session',
  webhooks: 'Webhook',
  deliveries: 'Delivery',
  cards: 'Card',
  push_keys: 'PushKey',
  push_devices: 'PushDevice',
  pushes: 'Push',
  audit_inbox: 'AuditInbox',
} as const

/** Makes sources of all these collections, whose models must exist. */
export function createOutboxSources(connection: StoreConnection): readonly OutboxSource[] {
  return Object.values(WITH_OUTBOX).map((model) => {
    if (model === 'Request') return requestSource(connection)
    if (model === 'AuditInbox') return inboxSource(connection)
    if (model === 'Account')
      return createOutboxSource(connection, model, { read: ({ _id }) => ({ account_id: _id }) })
    return createOutboxSource(connection, model)
  })
}

/** Once a callback has become a delivery, its request drops the body: the delivery holds the bytes to send. */
function requestSource(connection: StoreConnection): OutboxSource {
  return createOutboxSource<OutboxDocument & Pick<ApprovalRequest, 'callback' | 'api_key_id' | 'notify'>>(
    connection,
    'Request',
    {
      fields: ['callback', 'api_key_id', 'notify'],
      read: ({ _id, callback, api_key_id, notify }) => ({
        ...given({ toldTo: notify?.kind === 'member' ? notify.user_id : undefined }),
        ...(callback === undefined ? {} : { callback: { ...callback, request_id: _id, api_key_id } }),
      }),
      settled: ({ callback }) =>
        callback?.state === 'due'
          ? { $set: { 'callback.state': 'handed' }, $unset: { 'callback.body': 1 } }
          : {},
    },
  )
}

/** Makes the audit inbox a source; its documents are deleted once their entries are in the trail. */
function inboxSource(connection: StoreConnection): OutboxSource {
  return {
    ...createOutboxSource(connection, 'AuditInbox'),
    async settle(entries) {
      if (entries.length === 0) return
      await deleteThese(
        connection.collection('audit_inbox'),
        entries.map(({ id }) => id),
      )
    },
  }
}
