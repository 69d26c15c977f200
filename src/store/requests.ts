import mongoose from 'mongoose'
import type { ApprovalRequest, RequestChange } from '../domain/request.ts'
import type { ListPosition, ListQuery, RequestStore, Waiter } from '../flow/ports.ts'
import { isDuplicateKey, type StoreConnection } from './connect.ts'
import { type RequestDocument, requestSchema } from './request-schema.ts'
import { type Nudge, noNudge, tokenOf, traced } from './trace.ts'

const { trusted } = mongoose

/** Expiry is judged by the store's own clock in the same operation that acts on it (T75, T77). */
const UNEXPIRED = trusted({ $gt: ['$expires_at', '$$NOW'] })
const EXPIRED = trusted({ $lte: ['$expires_at', '$$NOW'] })
type RequestModel = mongoose.Model<RequestDocument>

/** Requests on mongoose; see the port for what each method promises. */
export function createRequestStore(connection: StoreConnection, nudge: Nudge = noNudge): RequestStore {
  const model: RequestModel = connection.model<RequestDocument>('Request', requestSchema, 'requests')
  return { ...reads(model), ...attentionReads(model), ...dueReads(model), ...writes(model, nudge) }
}

type Reads = 'find' | 'findByDecision' | 'findMany' | 'list' | 'pendingFor' | 'countPendingFor' | 'versions'
type AttentionReads = 'rejections' | 'holders'
type DueReads = 'lapsed' | 'nextExpiry' | 'remindable' | 'nextReminder'

function reads(model: RequestModel): Pick<RequestStore, Reads> {
  return {
    find: async (id) => toRequest(await model.findById(id).lean<RequestDocument>()),
    findByDecision: async (decisionId) =>
      toRequest(await model.findOne({ 'decision.id': String(decisionId) }).lean<RequestDocument>()),
    async findMany(ids) {
      const filter = { _id: trusted({ $in: [...ids] }) }
      const found = await model
        .find(filter)
        .batchSize(ids.length + 1)
        .lean<RequestDocument[]>()
      return found.map(fromDocument)
    },
    async list(query) {
      const conditions = [inStatus(query.status), beforePosition(query.before)]
      const filter = { api_key_id: query.api_key_id, $and: conditions }
      const newestFirst = { created_at: -1, _id: -1 } as const
      const found = await model.find(filter).sort(newestFirst).limit(query.limit).lean<RequestDocument[]>()
      return found.map(fromDocument)
    },
    async pendingFor(who, limit, after) {
      const filter = { ...waitingFor(who), $and: [afterPosition(after)] }
      const oldestFirst = { created_at: 1, _id: 1 } as const
      const found = await model.find(filter).sort(oldestFirst).limit(limit).lean<RequestDocument[]>()
      return found.map(fromDocument)
    },
    countPendingFor: (who) => model.countDocuments(waitingFor(who)),
    async versions(ids) {
      const filter = { _id: trusted({ $in: [...ids] }) }
      // One batch for all, however many: the default of 101 would make it several commands.
      const query = model.find(filter, { version: 1 }).batchSize(ids.length + 1)
      const found = await query.lean<{ _id: string; version: number }[]>()
      return new Map(found.map((document) => [document._id, document.version]))
    },
  }
}

/** Rejections that are read of one key, the newest: far more than make it silent towards everybody who answers. */
const MOST_REJECTIONS = 500

/** What limits on attention are counted from. One rejection rejects, so whoever rejected closed the request. */
function attentionReads(model: RequestModel): Pick<RequestStore, AttentionReads> {
  return {
    async rejections(keyId, since) {
      const recent = {
        api_key_id: keyId,
        status: 'rejected' as const,
        'decision.decided_at': trusted({ $gte: since }),
        sandbox: false,
      }
      const fields = { 'votes.user_id': 1, 'votes.at': 1, 'votes.decision': 1 }
      const newestFirst = { 'decision.decided_at': -1 } as const
      const found = await model
        .find(recent, fields)
        .sort(newestFirst)
        .limit(MOST_REJECTIONS)
        .lean<Pick<RequestDocument, 'votes'>[]>()
      const votes = found.flatMap((request) =>
        request.votes.filter(({ decision }) => decision === 'rejected'),
      )
      return votes.map(({ user_id, at }) => ({ user_id, at }))
    },
    async holders(ids) {
      const query = model.find({ _id: trusted({ $in: [...ids] }) }, { status: 1, expires_at: 1 })
      const found = await query.batchSize(ids.length + 1).lean<RequestDocument[]>()
      return found.map(({ _id, status, expires_at }) => ({
        id: _id,
        pending: status === 'pending',
        expires_at,
      }))
    },
  }
}

/** All in the query: what was dropped after a limit would hide younger requests behind old ones that need nobody. */
function waitingFor({ user_id, principals, accounts }: Waiter): mongoose.QueryFilter<RequestDocument> {
  const named = 'requirement.approvers.user_id'
  const open = {
    status: 'pending' as const,
    sandbox: false,
    'votes.user_id': trusted({ $ne: user_id }),
    $expr: UNEXPIRED,
  }
  const own = { [named]: user_id, 'votes.on_behalf_of': trusted({ $ne: user_id }) }
  if (principals.length === 0) return { ...own, ...open }
  const others = principals.map((id) => ({
    account_id: trusted({ $in: [...accounts] }),
    $and: [{ [named]: id }, { [named]: trusted({ $ne: user_id }) }],
    'votes.on_behalf_of': trusted({ $ne: id }),
  }))
  return { [named]: trusted({ $in: [user_id, ...principals] }), ...open, $or: [own, ...others] }
}

/** How far our clock may lag behind the database's without hiding what is due. */
const CLOCK_MARGIN_MS = 5_000

/** An old date, so that only requests with an automatic reminder to come are looked through. */
const LONG_AGO = new Date(0)

/** What sweeps look for. Plain bounds beside the database's clock let an index find it among many that wait. */
function dueReads(model: RequestModel): Pick<RequestStore, DueReads> {
  const status = 'pending' as const
  return {
    async lapsed(now, limit) {
      const soon = trusted({ $lte: new Date(now.getTime() + CLOCK_MARGIN_MS) })
      const query = model.find({ status, expires_at: soon, $expr: EXPIRED })
      const found = await query.sort({ expires_at: 1 }).limit(limit).lean<RequestDocument[]>()
      return found.map(fromDocument)
    },
    async nextExpiry() {
      const query = model.findOne({ status }, { expires_at: 1 }).sort({ expires_at: 1 })
      return (await query.lean<Pick<RequestDocument, 'expires_at'>>())?.expires_at
    },
    async remindable(now, limit) {
      const due = trusted({ $gt: LONG_AGO, $lte: now })
      const query = model.find({ status, remind_at: due, $expr: UNEXPIRED })
      const found = await query.sort({ remind_at: 1 }).limit(limit).lean<RequestDocument[]>()
      return found.map(fromDocument)
    },
    async nextReminder() {
      const planned = { status, remind_at: trusted({ $gt: LONG_AGO }), $expr: UNEXPIRED }
      const query = model.findOne(planned, { remind_at: 1 }).sort({ remind_at: 1 })
      return (await query.lean<Pick<RequestDocument, 'remind_at'>>())?.remind_at
    },
  }
}

/** By the database's clock a request that lapsed unnoticed counts as expired, as every read of it will say. */
function inStatus(status: ListQuery['status']): mongoose.QueryFilter<RequestDocument> {
  if (status === 'pending') return { status, $expr: UNEXPIRED }
  if (status === 'expired') return { $or: [{ status }, { status: 'pending', $expr: EXPIRED }] }
  return status === undefined ? {} : { status }
}

function beforePosition(before: ListPosition | undefined): mongoose.QueryFilter<RequestDocument> {
  if (before === undefined) return {}
  const { created_at, id } = before
  return { $or: [{ created_at: trusted({ $lt: created_at }) }, { created_at, _id: trusted({ $lt: id }) }] }
}

function afterPosition(after: ListPosition | undefined): mongoose.QueryFilter<RequestDocument> {
  if (after === undefined) return {}
  const { created_at, id } = after
  return { $or: [{ created_at: trusted({ $gt: created_at }) }, { created_at, _id: trusted({ $gt: id }) }] }
}

function writes(model: RequestModel, nudge: Nudge): Omit<RequestStore, Reads | AttentionReads | DueReads> {
  const update = async (
    filter: mongoose.QueryFilter<RequestDocument>,
    change: mongoose.UpdateQuery<RequestDocument>,
  ) => {
    const query = model.findOneAndUpdate(filter, change, { returnDocument: 'after' })
    const changed = toRequest(await query.lean<RequestDocument>())
    if (changed !== undefined) nudge()
    return changed
  }
  return {
    async insert(request) {
      try {
        await model.create(toDocument(request))
        nudge()
        return true
      } catch (error) {
        if (isDuplicateKey(error)) return false
        throw error
      }
    },
    recordVote: (id, version, change) =>
      update({ _id: id, status: 'pending', version, $expr: UNEXPIRED }, votingUpdate(change)),
    recordSandboxDecision: (id, version, change) =>
      update({ _id: id, status: 'pending', sandbox: true, version, $expr: UNEXPIRED }, votingUpdate(change)),
    expire: (id, event, audit) =>
      update(
        { _id: id, status: 'pending', $expr: EXPIRED },
        traced({ $set: { status: 'expired' }, $inc: { version: 1 } }, [audit], [event]),
      ),
    cancel: (id, event, audit) =>
      update(
        { _id: id, status: 'pending', $expr: UNEXPIRED },
        traced({ $set: { status: 'expired', cancelled: true }, $inc: { version: 1 } }, [audit], [event]),
      ),
    consume: (id, at, audit) =>
      update(
        { _id: id, status: 'approved', consumed_at: null },
        traced({ $set: { consumed_at: at }, $inc: { version: 1 } }, [audit]),
      ),
    recordReminder(id, gapSeconds, at, event, audit) {
      const before = new Date(at.getTime() - gapSeconds * 1000)
      const free = [{ reminded_at: null }, { reminded_at: trusted({ $lte: before }) }]
      return update(
        { _id: id, status: 'pending', $expr: UNEXPIRED, $or: free },
        traced({ $set: { reminded_at: at }, $inc: { version: 1, reminder_count: 1 } }, [audit], [event]),
      )
    },
    settleReminder(id, version, next, reminder) {
      const open = { _id: id, status: 'pending', version, $expr: UNEXPIRED } as const
      return update(open, settledReminder(next, reminder))
    },
  }
}

/** A reminder left out is no change that anybody waits for: the version stays. */
function settledReminder(
  next: Date | undefined,
  reminder: Parameters<RequestStore['settleReminder']>[3],
): mongoose.UpdateQuery<RequestDocument> {
  const plan = next === undefined ? { $unset: { remind_at: 1 } } : { $set: { remind_at: next } }
  if (reminder === undefined) return plan
  const $set = { ...plan.$set, reminded_at: reminder.at }
  const $inc = { version: 1, reminder_count: 1 }
  return traced({ ...plan, $set, $inc }, [reminder.audit], [reminder.event])
}

function votingUpdate(change: RequestChange): mongoose.UpdateQuery<RequestDocument> {
  const set: Record<string, unknown> = { status: change.status }
  if (change.decision !== undefined) set.decision = change.decision
  if (change.callback !== undefined) set.callback = change.callback
  if (change.signed_votes !== undefined) set.votes = change.signed_votes
  const push = change.signed_votes === undefined ? { votes: change.vote } : {}
  return traced({ $set: set, $inc: { version: 1 }, $push: push }, change.audit, change.events)
}

function toDocument(request: ApprovalRequest): RequestDocument {
  const { id, ...rest } = request
  return { _id: id, ...rest, ...tokenOf(request) }
}

/** The record of a document, without what only the store keeps. */
export function fromDocument(document: RequestDocument): ApprovalRequest {
  const { _id, relay: _relay, ...rest } = document
  return { id: _id, ...rest }
}

function toRequest(document: RequestDocument | null): ApprovalRequest | undefined {
  return document === null ? undefined : fromDocument(document)
}
