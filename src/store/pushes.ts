import mongoose, { Schema } from 'mongoose'
import type { Push } from '../domain/push.ts'
import { ATTEMPTS_KEPT } from '../domain/webhook.ts'
import type { PushStore } from '../flow/push-ports.ts'
import { auditFields } from './audit-fields.ts'
import { isDuplicateKey, STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { noticeFields } from './notice-fields.ts'
import { carryTraces, type Nudge, noNudge, type Relayed, tokenOf, traced } from './trace.ts'

const { trusted } = mongoose

type PushDocument = Omit<Push, 'id'> & { _id: string } & Relayed
type PushModel = mongoose.Model<PushDocument>

const text = { type: String, required: true } as const
const date = { type: Date, required: true } as const
const number = { type: Number, required: true } as const
const part = { _id: false, strict: 'throw' } as const

const subjectFields = new Schema(
  { kind: text, request_id: String, bootstrap_id: String, notice: noticeFields },
  part,
)
const attemptFields = new Schema({ at: date, outcome: text, duration_ms: number }, part)

const pushSchema = new Schema<PushDocument>(
  {
    _id: text,
    account_id: text,
    user_id: text,
    device_id: text,
    event_id: text,
    about: { type: subjectFields, required: true },
    host: text,
    state: text,
    next_at: date,
    expires_at: date,
    tries: number,
    claim: number,
    attempts: { type: [attemptFields], required: true },
    created_at: date,
    audit: { type: [auditFields], required: true },
  },
  STRICT_SCHEMA,
)
pushSchema.index({ event_id: 1, device_id: 1 }, { unique: true })
pushSchema.index(
  { next_at: 1, host: 1, account_id: 1 },
  { partialFilterExpression: { state: { $in: ['due', 'leased'] } }, name: 'open_by_time_and_receiver' },
)
pushSchema.index(
  { state: 1, next_at: 1 },
  { partialFilterExpression: { state: { $in: ['sent', 'dropped', 'dead'] } }, name: 'resting_by_time' },
)
carryTraces(pushSchema)

const OPEN = trusted({ $in: ['due', 'leased'] as const })
const RESTING = trusted({ $in: ['sent', 'dropped', 'dead'] as const })

/** Pushes on mongoose: claims as in deliveries, a lease with a number (T82). Every write is one conditional write. */
export function createPushStore(connection: StoreConnection, nudge: Nudge = noNudge): PushStore {
  const model = connection.model<PushDocument>('Push', pushSchema, 'pushes')
  return {
    insertNew: (pushes) => insertNew(model, pushes),
    find: async (id) => toPush(await model.findById(id).lean<PushDocument>()),
    async ofEvent(eventId) {
      return (await model.find({ event_id: eventId }).lean<PushDocument[]>()).map(fromDocument)
    },
    claim: (query) => claim(model, query),
    async finish(id, holder, { state, next_at, tries, attempts, audit }) {
      const push = { attempts: { $each: attempts, $slice: -ATTEMPTS_KEPT } }
      const update = traced({ $set: { state, next_at, tries }, $push: push }, audit)
      const { matchedCount } = await model.updateOne({ _id: id, claim: holder, state: 'leased' }, update)
      if (matchedCount === 1 && audit.length > 0) nudge()
      return matchedCount === 1
    },
    async nextDue() {
      const query = model.findOne({ state: OPEN }, { next_at: 1 }).sort({ next_at: 1 })
      return (await query.lean<Pick<PushDocument, 'next_at'>>())?.next_at
    },
    async deleteRested(before, limit) {
      const rested = { state: RESTING, next_at: trusted({ $lt: before }), relay: null }
      const found = await model.find(rested, { _id: 1 }).limit(limit).lean<{ _id: string }[]>()
      if (found.length === 0) return 0
      const ids = trusted({ $in: found.map(({ _id }) => _id) })
      return (await model.deleteMany({ ...rested, _id: ids })).deletedCount
    },
  }
}

async function claim(
  model: PushModel,
  { now, leaseEnds, busyHosts, busyAccounts }: Parameters<PushStore['claim']>[0],
) {
  const due = {
    state: OPEN,
    next_at: trusted({ $lte: now }),
    ...(busyHosts.length === 0 ? {} : { host: trusted({ $nin: [...busyHosts] }) }),
    ...(busyAccounts.length === 0 ? {} : { account_id: trusted({ $nin: [...busyAccounts] }) }),
  }
  const lease = { $set: { state: 'leased', next_at: leaseEnds }, $inc: { claim: 1 } } as const
  // The state before tells whether the attempt before this one ever reported back.
  const options = { sort: { next_at: 1 }, returnDocument: 'before' } as const
  const before = toPush(await model.findOneAndUpdate(due, lease, options).lean<PushDocument>())
  if (before === undefined) return undefined
  const push: Push = { ...before, state: 'leased', next_at: leaseEnds, claim: before.claim + 1 }
  return { push, interrupted: before.state === 'leased' }
}

async function insertNew(model: PushModel, pushes: readonly Push[]): Promise<void> {
  if (pushes.length === 0) return
  try {
    await model.insertMany(pushes.map(toDocument), { ordered: false, throwOnValidationError: true })
  } catch (error) {
    // Another process carried the same trace, or an earlier attempt of ours did: the rest was inserted all the same.
    if (!isDuplicateKey(error)) throw error
  }
}

function toDocument({ id, ...rest }: Push): PushDocument {
  return { _id: id, ...rest, ...tokenOf(rest) }
}

function fromDocument({ _id, relay: _relay, ...rest }: PushDocument): Push {
  return { id: _id, ...rest }
}

function toPush(document: PushDocument | null): Push | undefined {
  return document === null ? undefined : fromDocument(document)
}
