import mongoose, { Schema } from 'mongoose'
import type { AuditEntry } from '../../domain/audit.ts'
import { given } from '../../domain/given.ts'
import type { Delivery } from '../../domain/webhook.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { date, neededPart, text } from '../mongo/fields.ts'
import { beforePosition, type ListPosition, NEWEST_FIRST } from '../mongo/filters.ts'
import { noWake, outboxToken, type Wake, withOutbox } from '../mongo/outbox.ts'
import { recordIn, recordOf } from '../mongo/record.ts'
import { createWriter } from '../mongo/writer.ts'
import {
  type AttemptResult,
  type Choice,
  createQueue,
  indexResting,
  type Lease,
  makeQueue,
  noneOf,
  type QueueToken,
} from './queue.ts'

const { trusted } = mongoose

type DeliveryDocument = Omit<Delivery, 'id'> & { _id: string; target_key: string } & QueueToken

const deliverySchema = new Schema<DeliveryDocument>(
  {
    _id: text,
    account_id: text,
    target: neededPart,
    /** `callback` or the webhook's id; unique together with the event's id: one delivery per event and target. */
    target_key: text,
    event_id: text,
    event_type: text,
    request_id: String,
    traceparent: String,
    url: text,
    host: text,
    body: text,
    attempts: neededPart,
    created_at: date,
    outbox: neededPart,
  },
  STRICT_SCHEMA,
)
const RESTING = ['delivered', 'dead', 'dropped'] as const

deliverySchema.index({ event_id: 1, target_key: 1 }, { unique: true })
// With host and account, so that a claim skips the backlog of busy ones without reading its documents.
makeQueue(deliverySchema, 'open_by_time_and_receiver', ['host', 'account_id'])
indexResting(deliverySchema, RESTING)
// Ascending, as those of requests.
deliverySchema.index({ target_key: 1, account_id: 1, created_at: 1, _id: 1 })
// Partial, not sparse: a sparse compound index holds every document with any of its fields, here every delivery.
deliverySchema.index(
  { request_id: 1, created_at: -1, _id: -1 },
  { partialFilterExpression: { request_id: { $exists: true } }, name: 'by_request' },
)
deliverySchema.index(
  { account_id: 1, created_at: -1, _id: -1 },
  { partialFilterExpression: { state: 'dead' }, name: 'dead_by_account' },
)

const NO_TEST = trusted({ $ne: 'webhook.test' as const })

/** Hosts, accounts, and accounts at a host with enough attempts under way: a claim of deliveries or pushes leaves them out. */
export interface Busy {
  busyHosts: readonly string[]
  busyAccounts: readonly string[]
  busyPairs: readonly { host: string; account_id: string }[]
}

/** The filter for what is not busy. */
export function noneBusy({ busyHosts, busyAccounts, busyPairs }: Busy) {
  const others = { ...noneOf('host', busyHosts), ...noneOf('account_id', busyAccounts) }
  // Not left to whoever chooses: the backlog of a pair could fill every read of a claim.
  return busyPairs.length === 0 ? others : { ...others, $nor: [...busyPairs] }
}

export type DeliveryResult = AttemptResult<Delivery['state']>

export interface DeliveryQuery {
  account_id: string
  webhook_id?: string
  request_id?: string
  /** Only deliveries that were given up, without tests: a test has one try and is not sent again. */
  given_up?: true
  state?: Delivery['state']
  event_type?: Delivery['event_type']
  limit: number
  before?: ListPosition
}

/** Deliveries on mongoose: a queue whose documents stay as a log. */
export function createDeliveryStore(connection: StoreConnection, wake: Wake = noWake) {
  const model = connection.model<DeliveryDocument>('Delivery', deliverySchema, 'deliveries')
  const writer = createWriter(model, wake, recordOf)
  const queue = createQueue(connection, 'Delivery', recordOf<DeliveryDocument>, wake)
  return {
    ...queue,
    /** Inserts the deliveries, except those whose {event, target} exists already. */
    insertNew: (deliveries: readonly Delivery[]) => queue.insertNew(deliveries.map(toDocument)),
    async find(id: string): Promise<Delivery | undefined> {
      return recordIn(await model.findById(id).lean<DeliveryDocument>())
    },
    /** Leases the chosen among the deliveries longest due, or with a lapsed lease, until `leaseEnds`. */
    claim: (query: Lease & Busy & Choice<Delivery>) => queue.claim(query, noneBusy(query)),
    /** Writes the result of the claimed attempt. @returns false when the claim is no longer the newest */
    finish(delivery: Delivery, result: DeliveryResult): Promise<boolean> {
      // Nothing else adds to a delivery's outbox while it is leased, so the document written is known without reading it.
      const outbox = [...delivery.outbox, ...(result.events ?? [])]
      const audit = [...delivery.audit, ...result.audit]
      const document = { ...toDocument({ ...delivery, outbox, audit }), ...outboxToken({ audit }) }
      return queue.finish(delivery.id, delivery.fence, result, { document })
    },
    /** Sends a delivery at rest again. @returns undefined when it is under way or belongs to another account */
    replay(id: string, accountId: string, at: Date, audit: AuditEntry): Promise<Delivery | undefined> {
      const resting = { _id: id, account_id: accountId, state: trusted({ $in: RESTING }) }
      const update = withOutbox({ $set: { state: 'due', next_at: at, tries: 0 } }, [audit])
      return writer.change(resting, update)
    },
    deleteRested: (before: Date) => queue.deleteRested(RESTING, before),
    /** Returns the matching deliveries, newest first. */
    async list({ webhook_id, request_id, given_up, limit, before, ...same }: DeliveryQuery) {
      const filter = {
        ...same,
        ...given({ target_key: webhook_id, request_id }),
        ...(given_up === true ? { state: 'dead' as const, event_type: NO_TEST } : {}),
        ...beforePosition(before),
      }
      const found = await model.find(filter).sort(NEWEST_FIRST).limit(limit).lean<DeliveryDocument[]>()
      return found.map(recordOf)
    },
  }
}

function toDocument({ id, ...rest }: Delivery): DeliveryDocument {
  const { target } = rest
  return { _id: id, ...rest, target_key: target.kind === 'callback' ? 'callback' : target.webhook_id }
}
