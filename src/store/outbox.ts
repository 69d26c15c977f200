import type { Schema } from 'mongoose'
import type { AuditEntry } from '../domain/audit.ts'
import type { OutboxEvent } from '../domain/event.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import type { OutboxEntry, OutboxSource } from '../flow/ports.ts'
import type { StoreConnection } from './connect.ts'
import { deleteThese } from './each.ts'
import { findSound } from './failures.ts'
import { auditFields } from './fields.ts'

/**
 * Tells the relay that a write left an outbox entry in the store's collection, with the document where it is at hand, or the
 * updater that it made cards due. Stores call it after each such write, so that no verb can forget it; losing it costs only
 * time.
 */
export type Wake = (what?: 'cards' | object, hint?: OutboxHint) => void

/** What is known of an outbox entry beyond what its document says. */
export interface OutboxHint {
  /** It was written when the account never had had a webhook, nor any person it may concern a browser with notifications. */
  noListeners?: boolean
}

/** What was written: an outbox entry in that collection, or cards that are due. */
export type Written = { outboxOf: string; document?: object; hint?: OutboxHint } | 'cards'

/** For stores without a relay of their own: a command beside the service, a test. */
export const noWake: Wake = () => undefined

/** What a document with an outbox holds besides its record: the token of what waits, absent when nothing does. */
export interface OutboxToken {
  outbox_token?: string
}

/** Prepares the schema of documents that have an outbox. Only those with something waiting are in the index. */
export function addOutbox(schema: Schema): void {
  schema.add({ audit: { type: [auditFields], required: true }, outbox_token: String })
  schema.index({ outbox_token: 1 }, { sparse: true })
}

/**
 * Adds entries and events to an update: state and outbox are one write (T86). The token is the newest entry's id, so it
 * changes with every addition.
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

/** The token of a new document. */
export function outboxToken(record: { audit: readonly AuditEntry[] }): OutboxToken {
  const token = record.audit.at(-1)?.eid
  return token === undefined ? {} : { outbox_token: token }
}

interface OutboxDocument extends OutboxToken {
  _id: string
  account_id?: string
  audit: AuditEntry[]
  outbox?: OutboxEvent[]
}

/** How the documents of a collection differ from the plain case. */
export interface SourceOptions<T> {
  /** Further fields to read. */
  fields?: readonly string[]
  /** Adds to the entry what these fields hold. */
  read?: (document: T) => Partial<OutboxEntry>
  /** Further changes once an outbox entry is settled. */
  settled?: (entry: OutboxEntry) => { $set?: Record<string, unknown>; $unset?: Record<string, 1> }
}

/** The collection of that model as a source for the relay. */
export function createOutboxSource<T extends OutboxDocument>(
  connection: StoreConnection,
  modelName: string,
  options: SourceOptions<T> = {},
): OutboxSource {
  const model = connection.model<T>(modelName)
  const collection = connection.collection<OutboxDocument>(model.collection.name)
  const hasOutbox = model.schema.path('outbox') !== undefined
  const fields = ['outbox_token', 'account_id', 'audit', 'outbox', ...(options.fields ?? [])]
  const projection = Object.fromEntries(fields.map((field) => [field, 1]))
  const read = (document: T): OutboxEntry => ({ ...toEntry(document), ...options.read?.(document) })
  return {
    name: model.collection.name,
    // Only the store of this collection hands its documents over, as they are stored.
    read: (document) => read(document as T),
    async due(limit, after = '') {
      const waiting = { outbox_token: { $gt: after } }
      const options = { projection, limit, sort: { outbox_token: 1 } } as const
      return (await findSound<OutboxDocument, T>(collection, waiting, options)).map(read)
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
    ...(document.account_id === undefined ? {} : { account_id: document.account_id }),
    events: document.outbox ?? [],
    audit: document.audit,
  }
}

/** Every collection whose documents have an outbox, and its model; requests first: callers wait for them. */
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

/** Those collections as sources. Their models must exist. */
export function createOutboxSources(connection: StoreConnection): readonly OutboxSource[] {
  return Object.values(WITH_OUTBOX).map((model) => {
    if (model === 'Request') return requestSource(connection)
    if (model === 'AuditInbox') return inboxSource(connection)
    if (model === 'Account')
      return createOutboxSource(connection, model, { read: ({ _id }) => ({ account_id: _id }) })
    return createOutboxSource(connection, model)
  })
}

/** Once a callback has become a delivery, the request keeps only the ids: the bytes are where they are sent from. */
function requestSource(connection: StoreConnection): OutboxSource {
  return createOutboxSource<OutboxDocument & Pick<ApprovalRequest, 'callback' | 'api_key_id'>>(
    connection,
    'Request',
    {
      fields: ['callback', 'api_key_id'],
      read: ({ _id, callback, api_key_id }) =>
        callback === undefined ? {} : { callback: { ...callback, request_id: _id, api_key_id } },
      settled: ({ callback }) =>
        callback?.state === 'due'
          ? { $set: { 'callback.state': 'handed' }, $unset: { 'callback.body': 1 } }
          : {},
    },
  )
}

/** Entries of the audit inbox are gone once they are in the trail. */
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
