import mongoose, { Schema } from 'mongoose'
import { ATTEMPTS_KEPT, type Delivery } from '../domain/webhook.ts'
import type { DeliveryStore } from '../flow/delivery-ports.ts'
import { auditFields, outboxFields } from './audit-fields.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { carryTraces, type Nudge, noNudge, type Relayed, traced } from './trace.ts'

const { trusted } = mongoose

type DeliveryDocument = Omit<Delivery, 'id'> & { _id: string; target_key: string } & Relayed
type DeliveryModel = mongoose.Model<DeliveryDocument>

const text = { type: String, required: true } as const
const date = { type: Date, required: true } as const
const number = { type: Number, required: true } as const
const part = { _id: false, strict: 'throw' } as const

const targetFields = new Schema(
  { kind: text, request_id: String, api_key_id: String, webhook_id: String },
  part,
)

const deliverySchema = new Schema<DeliveryDocument>(
  {
    _id: text,
    account_id: text,
    target: { type: targetFields, required: true },
    /** `callback` or the webhook's id: with the event's id the name under which a delivery exists once. */
    target_key: text,
    event_id: text,
    event_type: text,
    request_id: String,
    url: text,
    host: text,
    body: text,
    state: text,
    next_at: date,
    tries: number,
    claim: number,
    attempts: {
      type: [new Schema({ at: date, outcome: text, duration_ms: number }, part)],
      required: true,
    },
    created_at: date,
    outbox: { type: [outboxFields], required: true },
    audit: { type: [auditFields], required: true },
  },
  STRICT_SCHEMA,
)
deliverySchema.index({ event_id: 1, target_key: 1 }, { unique: true })
// Host and account, so that a claim passes over the backlog of busy ones without reading their documents.
deliverySchema.index(
  { next_at: 1, host: 1, account_id: 1 },
  { partialFilterExpression: { state: { $in: ['due', 'leased'] } }, name: 'open_by_time_and_receiver' },
)
deliverySchema.index(
  { state: 1, next_at: 1 },
  { partialFilterExpression: { state: { $in: ['delivered', 'dead', 'dropped'] } }, name: 'resting_by_time' },
)
deliverySchema.index({ target_key: 1, account_id: 1, created_at: -1, _id: -1 })
// Not sparse: a sparse compound index holds every document that has any of its fields, here all of them.
deliverySchema.index(
  { request_id: 1, created_at: -1, _id: -1 },
  { partialFilterExpression: { request_id: { $exists: true } }, name: 'by_request' },
)
deliverySchema.index(
  { account_id: 1, created_at: -1, _id: -1 },
  { partialFilterExpression: { state: 'dead' }, name: 'dead_by_account' },
)
carryTraces(deliverySchema)

const OPEN = trusted({ $in: ['due', 'leased'] as const })
const NO_TEST = trusted({ $ne: 'webhook.test' as const })
const RESTING = trusted({ $in: ['delivered', 'dead', 'dropped'] as const })

/** Deliveries on mongoose: a claim is a lease with a number, so a worker that was too slow can write nothing (T82). */
export function createDeliveryStore(connection: StoreConnection, nudge: Nudge = noNudge): DeliveryStore {
  const model = connection.model<DeliveryDocument>('Delivery', deliverySchema, 'deliveries')
  const collection = connection.collection<DeliveryDocument>(model.collection.name)
  return {
    insertNew: (deliveries) => insertNew(collection, deliveries),
    ...reads(model),
    ...claims(model),
    async finish(id, claim, result) {
      const set = { state: result.state, next_at: result.next_at, tries: result.tries }
      const push = { attempts: { $each: result.attempts, $slice: -ATTEMPTS_KEPT } }
      const update = traced({ $set: set, $push: push }, result.audit, result.events)
      const { matchedCount } = await model.updateOne({ _id: id, claim, state: 'leased' }, update)
      if (matchedCount === 1) nudge()
      return matchedCount === 1
    },
    async replay(id, accountId, at, audit) {
      const resting = { _id: id, account_id: accountId, state: RESTING }
      const update = traced({ $set: { state: 'due', next_at: at, tries: 0 } }, [audit])
      const query = model.findOneAndUpdate(resting, update, { returnDocument: 'after' })
      const replayed = toDelivery(await query.lean<DeliveryDocument>())
      if (replayed !== undefined) nudge()
      return replayed
    },
    async deleteRested(before, limit) {
      const rested = { state: RESTING, next_at: trusted({ $lt: before }), relay: null }
      const found = await model.find(rested, { _id: 1 }).limit(limit).lean<{ _id: string }[]>()
      if (found.length === 0) return 0
      const ids = trusted({ $in: found.map(({ _id }) => _id) })
      // The conditions once more: one of them may have been replayed meanwhile.
      return (await model.deleteMany({ ...rested, _id: ids })).deletedCount
    },
  }
}

function reads(model: DeliveryModel): Pick<DeliveryStore, 'find' | 'nextDue' | 'list'> {
  return {
    find: async (id) => toDelivery(await model.findById(id).lean<DeliveryDocument>()),
    async nextDue() {
      const [first] = await model
        .find({ state: OPEN }, { next_at: 1 })
        .sort({ next_at: 1 })
        .limit(1)
        .lean<{ next_at: Date }[]>()
      return first?.next_at
    },
    async list({ account_id, webhook_id, request_id, given_up, limit, before }) {
      const filter = {
        account_id,
        ...(webhook_id === undefined ? {} : { target_key: webhook_id }),
        ...(request_id === undefined ? {} : { request_id }),
        ...(given_up === true ? { state: 'dead' as const, event_type: NO_TEST } : {}),
        ...(before === undefined
          ? {}
          : {
              $or: [
                { created_at: trusted({ $lt: before.created_at }) },
                { created_at: before.created_at, _id: trusted({ $lt: before.id }) },
              ],
            }),
      }
      const newestFirst = { created_at: -1, _id: -1 } as const
      const found = await model.find(filter).sort(newestFirst).limit(limit).lean<DeliveryDocument[]>()
      return found.map(fromDocument)
    },
  }
}

function claims(model: DeliveryModel): Pick<DeliveryStore, 'claim' | 'claimOne'> {
  const lease = (leaseEnds: Date) => ({ $set: { state: 'leased', next_at: leaseEnds }, $inc: { claim: 1 } })
  return {
    async claim({ now, leaseEnds, busyHosts, busyAccounts }) {
      const due = {
        state: OPEN,
        next_at: trusted({ $lte: now }),
        ...(busyHosts.length === 0 ? {} : { host: trusted({ $nin: [...busyHosts] }) }),
        ...(busyAccounts.length === 0 ? {} : { account_id: trusted({ $nin: [...busyAccounts] }) }),
      }
      // The state before tells whether the attempt before this one ever reported back.
      const query = model.findOneAndUpdate(due, lease(leaseEnds), {
        sort: { next_at: 1 },
        returnDocument: 'before',
      })
      const before = toDelivery(await query.lean<DeliveryDocument>())
      if (before === undefined) return undefined
      const delivery: Delivery = { ...before, state: 'leased', next_at: leaseEnds, claim: before.claim + 1 }
      return { delivery, interrupted: before.state === 'leased' }
    },
    async claimOne(id, now, leaseEnds) {
      const due = { _id: id, state: 'due', next_at: trusted({ $lte: now }) } as const
      const query = model.findOneAndUpdate(due, lease(leaseEnds), { returnDocument: 'after' })
      return toDelivery(await query.lean<DeliveryDocument>())
    },
  }
}

/**
 * Past mongoose, whose unordered insert leaves invalid documents out without a word: what is left out here would be a
 * delivery that nobody makes.
 */
async function insertNew(
  collection: mongoose.mongo.Collection<DeliveryDocument>,
  deliveries: readonly Delivery[],
): Promise<void> {
  if (deliveries.length === 0) return
  try {
    await collection.insertMany(deliveries.map(toDocument), { ordered: false })
  } catch (error) {
    if (!isOnlyDuplicates(error)) throw error
  }
}

/** Another process carried the same trace, or an earlier attempt of ours did: the rest was inserted all the same. */
function isOnlyDuplicates(error: unknown): boolean {
  if (!(error instanceof mongoose.mongo.MongoBulkWriteError)) return false
  const failures = [error.writeErrors].flat()
  return failures.every(({ code }) => code === 11000) && error.result.getWriteConcernError() === undefined
}

function toDocument({ id, ...rest }: Delivery): DeliveryDocument {
  const { target } = rest
  return { _id: id, ...rest, target_key: target.kind === 'callback' ? 'callback' : target.webhook_id }
}

function fromDocument({ _id, target_key: _key, relay: _relay, ...rest }: DeliveryDocument): Delivery {
  return { id: _id, ...rest }
}

function toDelivery(document: DeliveryDocument | null): Delivery | undefined {
  return document === null ? undefined : fromDocument(document)
}
