import mongoose from 'mongoose'
import type { AuditEntry } from '../../domain/audit.ts'
import type { OutboxEvent } from '../../domain/event.ts'
import { given } from '../../domain/given.ts'
import type { ApprovalRequest, RequestChange, RequestStatus, Seen } from '../../domain/request.ts'
import type { Clock } from '../../ports/ports.ts'
import { beyond } from '../clock.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import {
  beforePosition,
  ENDING_FIRST,
  type EndPosition,
  EXPIRED,
  endingAfter,
  expiredAround,
  type ListPosition,
  mergeNewest,
  NEWEST_FIRST,
  UNEXPIRED,
} from '../mongo/filters.ts'
import { noWake, type OutboxHint, type Wake, withOutbox } from '../mongo/outbox.ts'
import { documentOf } from '../mongo/record.ts'
import { createInserter, createLookup } from '../mongo/shared-commands.ts'
import { kindSha256 } from '../schema/note-kinds.ts'
import { heldReads, notHeld } from './held-requests.ts'
import { attentionReads } from './quotas.ts'
import { type RequestDocument, requestOf, requestSchema } from './request-schema.ts'

const { trusted } = mongoose

type RequestModel = mongoose.Model<RequestDocument>
type Filter = mongoose.QueryFilter<RequestDocument>

export type RequestStore = ReturnType<typeof createRequestStore>

/** The unique fields by which later calls find the request of an earlier one. */
type Mark = 'idempotency_sha256' | 'open_sha256'

export interface ListQuery {
  api_key_id: string
  status?: RequestStatus
  limit: number
  /** Exclusive position: only requests older than this one. */
  before?: ListPosition
}

/** Which requests wait for a person: their own, and those of whom they stand in for. */
export interface InboxScope {
  user_id: string
  principals: readonly string[]
  /** Accounts in which the person may decide for their principals. */
  accounts: readonly string[]
}

/** Returns the id of the restore that holds what its copy left open, if one does. */
type Holding = () => string | undefined

/** Requests on mongoose. Every method is one single-document operation, or a plain read. */
export function createRequestStore(
  connection: StoreConnection,
  wake: Wake = noWake,
  clock: Pick<Clock, 'now'> = { now: () => new Date() },
  holding: Holding = () => undefined,
) {
  const model: RequestModel = connection.model<RequestDocument>('Request', requestSchema, 'requests')
  const lookup = createLookup(model)
  const byMark = {
    idempotency_sha256: createLookup(model, { field: 'idempotency_sha256' }),
    open_sha256: createLookup(model, { field: 'open_sha256' }),
  }
  const insert = createInserter(model)
  return {
    ...reads(model, lookup, clock),
    ...attentionReads(model),
    ...dueReads(model, holding),
    ...heldReads(model),
    ...writes(connection, model, wake, holding),
    /** Finds the request that has this mark, whatever its state. */
    async findMarked(mark: Mark, sha256: string): Promise<ApprovalRequest | undefined> {
      return requestIn(await byMark[mark](sha256))
    },
    /** @param quietly the relay is not told: call `tellRelay` afterwards. @returns false when its id or a mark is taken */
    async insert(request: ApprovalRequest, hint?: OutboxHint, quietly = false): Promise<boolean> {
      const document = documentOf(request)
      const inserted = await insert(document)
      if (inserted && !quietly) wake({ outboxOf: 'requests', document, ...given({ hint }) })
      return inserted
    },
    tellRelay: () => wake({ outboxOf: 'requests' }),
    /** Returns the requests of these batches, in the order in which they were asked for. */
    async ofBatches(ids: readonly string[]): Promise<ApprovalRequest[]> {
      const query = model.find({ 'batch.id': trusted({ $in: ids.map(String) }) }).sort({ 'batch.place': 1 })
      return (await query.lean<RequestDocument[]>()).map(requestOf)
    },
  }
}

function reads(
  model: RequestModel,
  lookup: (id: string) => Promise<RequestDocument | undefined>,
  clock: Pick<Clock, 'now'>,
) {
  return {
    find: async (id: string): Promise<ApprovalRequest | undefined> => requestIn(await lookup(id)),
    /** Finds the request whose decision has this id (`dec_…`). */
    findByDecision: async (id: string): Promise<ApprovalRequest | undefined> =>
      requestIn(await model.findOne({ 'decision.id': String(id) }).lean<RequestDocument>()),
    /** Returns those of these requests that exist. */
    async findMany(ids: readonly string[]): Promise<ApprovalRequest[]> {
      const query = model.find({ _id: trusted({ $in: [...ids] }) }).batchSize(ids.length + 1)
      return (await query.lean<RequestDocument[]>()).map(requestOf)
    },
    /** Lists newest first. A request lapsed by the database's clock counts as expired, even if its stored `status` is pending. */
    async list({ api_key_id, status, limit, before }: ListQuery): Promise<ApprovalRequest[]> {
      const reads: ApprovalRequest[][] = []
      for (const part of partsOfStatus(status, clock.now())) {
        const filter = { api_key_id, ...part, ...beforePosition(before) }
        const found = await model.find(filter).sort(NEWEST_FIRST).limit(limit).lean<RequestDocument[]>()
        reads.push(found.map(requestOf))
      }
      return mergeNewest(reads, limit)
    },
    /**
     * Returns the requests that wait for this person, the first to expire first: pending, unexpired by the database's clock,
     * naming the person or one they stand in for, without that approver's vote and without any vote cast by the person; no
     * dry-runs. `after`: exclusive position, only requests that expire later.
     */
    async pendingFor(who: InboxScope, limit: number, after?: EndPosition): Promise<ApprovalRequest[]> {
      const filter = { ...waitingFor(who), $and: [endingAfter(after)] }
      const found = await model.find(filter).sort(ENDING_FIRST).limit(limit).lean<RequestDocument[]>()
      return found.map(requestOf)
    },
    /**
     * Returns pending requests with a vote that the person cast, also as a delegate, the first to expire first. It looks through
     * all on which they ever voted: for the operator alone.
     */
    async withVoteOf(userId: string, limit: number): Promise<string[]> {
      const filter = { 'votes.user_id': userId, status: 'pending', $expr: UNEXPIRED } as const
      const found = await model
        .find(filter, { _id: 1 })
        .sort(ENDING_FIRST)
        .limit(limit)
        .lean<{ _id: string }[]>()
      return found.map(({ _id }) => _id)
    },
    /** Counts what `pendingFor` would return without a limit. */
    countPendingFor: (who: InboxScope): Promise<number> => model.countDocuments(waitingFor(who)),
    /** Returns the version of each request that exists: one query for all waiters of a process. */
    async versions(ids: readonly string[]): Promise<Map<string, number>> {
      const filter = { _id: trusted({ $in: [...ids] }) }
      // One batch for all of them: the default of 101 would take several commands.
      const query = model.find(filter, { version: 1 }).batchSize(ids.length + 1)
      const found = await query.lean<Pick<RequestDocument, '_id' | 'version'>[]>()
      return new Map(found.map((document) => [document._id, document.version]))
    },
    /** Reads which requests got a new version in that time, by the database's clock. @returns undefined if too many did */
    movedBetween: (since: Date, until: Date) =>
      stampsOf(model, { moved_at: trusted({ $gte: since, $lte: until }) }),
    /** Reads which requests these keys made in that time. @returns undefined if they are too many */
    createdBetween: (keyIds: readonly string[], since: Date, until: Date) =>
      stampsOf(model, {
        api_key_id: trusted({ $in: [...keyIds] }),
        created_at: trusted({ $gte: since, $lte: until }),
      }),
    /** Returns the key's pending requests, the newest first, also those that have lapsed and are not marked yet. */
    async pendingOf(api_key_id: string, most: number): Promise<Pick<ApprovalRequest, 'id' | 'version'>[]> {
      const query = model.find({ api_key_id, status: 'pending' }, { version: 1 }).sort(NEWEST_FIRST)
      const found = await query
        .limit(most)
        .batchSize(most + 1)
        .lean<Pick<RequestDocument, '_id' | 'version'>[]>()
      return found.map(({ _id: id, version }) => ({ id, version }))
    },
  }
}

function requestIn(document: RequestDocument | null | undefined): ApprovalRequest | undefined {
  return document === null || document === undefined ? undefined : requestOf(document)
}

/** From this many changes on, `movedBetween` and `createdBetween` give up. */
const MOST_MOVED = 1_000

/** A version of a request. */
export type Stamp = Pick<ApprovalRequest, 'id' | 'version' | 'api_key_id'>

async function stampsOf(model: RequestModel, filter: Filter): Promise<Stamp[] | undefined> {
  const query = model.find(filter, { version: 1, api_key_id: 1 }).limit(MOST_MOVED).batchSize(MOST_MOVED)
  const found = await query.lean<Pick<RequestDocument, '_id' | 'version' | 'api_key_id'>[]>()
  if (found.length === MOST_MOVED) return undefined
  return found.map(({ _id: id, version, api_key_id }) => ({ id, version, api_key_id }))
}

/** The whole condition is in the query: filtering after the limit would let requests that do not need this person hide others. */
function waitingFor({ user_id, principals, accounts }: InboxScope): Filter {
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

/** A lower bound that excludes requests without `remind_at` from the index scan. */
const LONG_AGO = new Date(0)

/** Reads for the sweeps. */
function dueReads(model: RequestModel, holding: Holding) {
  const status = 'pending' as const
  // One that is held can not be decided, so nobody is reminded of it until the hold is lifted.
  const reminding = (before: Date | undefined): Filter => ({
    status,
    remind_at: trusted({ $gt: LONG_AGO, ...given({ $lte: before }) }),
    $expr: UNEXPIRED,
    ...notHeld(holding()),
  })
  type Time = 'expires_at' | 'remind_at'
  const due = async (filter: Filter, by: Time, limit: number): Promise<ApprovalRequest[]> => {
    const query = model
      .find(filter)
      .sort({ [by]: 1 })
      .limit(limit)
    return (await query.lean<RequestDocument[]>()).map(requestOf)
  }
  const next = async (filter: Filter, by: Time): Promise<Date | undefined> => {
    const query = model.findOne(filter, { [by]: 1 }).sort({ [by]: 1 })
    return (await query.lean<RequestDocument | null>())?.[by]
  }
  return {
    /** Returns pending requests that lapsed by the database's clock, the longest lapsed first; `now` only narrows the search. */
    lapsed: (now: Date, limit: number) =>
      due({ status, expires_at: expiredAround(now), $expr: EXPIRED }, 'expires_at', limit),
    /** Returns when the next pending request expires. */
    nextExpiry: () => next({ status }, 'expires_at'),
    /** Returns pending, unexpired requests that are not held, with an automatic reminder due at `now`, the longest due first. */
    remindable: (now: Date, limit: number) => due(reminding(now), 'remind_at', limit),
    /** Returns when the next automatic reminder of such a request is due. */
    nextReminder: () => next(reminding(undefined), 'remind_at'),
  }
}

/**
 * Returns the filters that together find the requests with this status. A request that lapsed by the database's clock counts
 * as expired before it is marked, as in every other read. One query each, because each filter has an index and their `$or`
 * has none. Query them in this order: then a request that is marked in between is found by one of them.
 * @param now only narrows the search
 */
export function partsOfStatus(status: RequestStatus | undefined, now: Date): Filter[] {
  if (status === 'pending') return [{ status, $expr: UNEXPIRED }]
  if (status !== 'expired') return [status === undefined ? {} : { status }]
  return [{ status: 'pending', expires_at: expiredAround(now), $expr: EXPIRED }, { status }]
}

/** Most first looks noted per request: it asks a few people, and those who stand in for them. */
const MOST_SEEN = 50

/** A reminder to record, with its event and its audit entry. */
interface Reminder {
  at: Date
  event: OutboxEvent
  audit: AuditEntry[]
}

/**
 * Makes the conditional write of one document; it returns undefined when its condition does not hold (any more): read again. It
 * goes to the driver, as inserts do: all of it comes from the domain, and the model would make a document of each vote only to
 * cast it. Undefined must not be ignored there: a filter without its `_id` would match any request (T62).
 */
function createUpdate(connection: StoreConnection, model: RequestModel, wake: Wake) {
  const collection = connection.collection<RequestDocument>(model.collection.name)
  return async (
    filter: Filter,
    change: mongoose.UpdateQuery<RequestDocument>,
  ): Promise<ApprovalRequest | undefined> => {
    const moves = change.$inc?.version !== undefined && { $currentDate: { moved_at: true } }
    // Widened: the driver's types do not know those of mongoose.
    const [where, what]: [object, object] = [filter, { ...change, ...moves }]
    const after = { returnDocument: 'after' } as const
    const changed = await collection.findOneAndUpdate({ ...where }, { ...what }, after)
    if (changed !== null) wake({ outboxOf: 'requests', document: changed })
    return requestIn(changed)
  }
}

/** `until`: when the approval lapses. */
type StoredUse = Pick<ApprovalRequest, 'consumed_at' | 'consumed_with'> & { until?: Date }

/** Each is one conditional write (`createUpdate`). */
function writes(connection: StoreConnection, model: RequestModel, wake: Wake, holding: Holding) {
  const update = createUpdate(connection, model, wake)
  return {
    /**
     * Writes a vote with its tally and decision at once, only while the request is pending, has that version, is not held after a
     * restore and is unexpired by the database's clock.
     */
    recordVote: (id: string, version: number, change: RequestChange) =>
      update(
        { _id: id, status: 'pending', version, $expr: UNEXPIRED, ...notHeld(holding()) },
        votingUpdate(change),
      ),
    /** Does the same as `recordVote`, for sandbox requests only. */
    recordSandboxDecision: (id: string, version: number, change: RequestChange) =>
      update(
        { _id: id, status: 'pending', sandbox: true, version, $expr: UNEXPIRED, ...notHeld(holding()) },
        votingUpdate(change),
      ),
    /** Pending and past its time by the database's clock → expired. */
    expire: (id: string, event: OutboxEvent, audit: AuditEntry) =>
      update(
        { _id: id, status: 'pending', $expr: EXPIRED },
        withOutbox({ $set: { status: 'expired' }, $inc: { version: 1 } }, [audit], [event]),
      ),
    /** Pending and, by the database's clock, unexpired → expired and `cancelled`. */
    cancel: (id: string, event: OutboxEvent, audit: AuditEntry) =>
      update(
        { _id: id, status: 'pending', $expr: UNEXPIRED },
        withOutbox({ $set: { status: 'expired', cancelled: true }, $inc: { version: 1 } }, [audit], [event]),
      ),
    /** Lifts the hold of this restore for one request, whatever its state. @returns undefined when it is not held */
    release: (id: string, restore: string, audit: AuditEntry) =>
      update(
        { _id: id, made_after: trusted({ $ne: restore }), released: trusted({ $ne: restore }) },
        withOutbox({ $set: { released: restore }, $inc: { version: 1 } }, [audit]),
      ),
    /** Notes an approver's first look at a pending request. No reader waits for it, so the version stays. */
    async noteSeen(id: string, seen: Seen): Promise<void> {
      const hasRoom = { [`seen.${MOST_SEEN - 1}`]: trusted({ $exists: false }) }
      const first = { 'seen.approver': trusted({ $ne: seen.approver }), ...hasRoom }
      await model.updateOne({ _id: id, status: 'pending', ...first }, { $push: { seen } })
    },
    /** Frees a mark for another request. No reader waits for it, so the version stays. */
    async giveUpMark(id: string, mark: Mark): Promise<void> {
      await model.updateOne({ _id: id }, { $unset: { [mark]: 1 } })
    },
    /** Approved, not erased, not held after a restore, never used and, by the database's clock, before `until` → used. */
    consume: (id: string, { until, ...use }: StoredUse, audit: AuditEntry) =>
      update(
        {
          ...{ _id: id, status: 'approved', consumed_at: null, erased_at: null, ...notHeld(holding()) },
          ...(until && { $expr: trusted({ $gt: [until, '$$NOW'] }) }),
        },
        withOutbox({ $set: use, $inc: { version: 1 } }, [audit]),
      ),
    /** Records a caller's reminder: only while the request is pending, and at least `gapSeconds` after their previous one. */
    recordReminder(id: string, gapSeconds: number, { at, event, audit }: Reminder) {
      const before = new Date(at.getTime() - gapSeconds * 1000)
      const times = [null, trusted({ $lte: before }), trusted({ $gt: beyond(at) })]
      const free = times.map((caller_reminded_at) => ({ caller_reminded_at }))
      const $set = { reminded_at: at, caller_reminded_at: at }
      return update(
        { _id: id, status: 'pending', $expr: UNEXPIRED, $or: free },
        withOutbox({ $set, $inc: { version: 1, reminder_count: 1 } }, audit, [event]),
      )
    },
    /**
     * Records the due automatic reminder (`reminder`) or skips it, and notes when the next one is due: only while the request
     * is pending, has that version and is unexpired by the database's clock.
     */
    settleReminder(id: string, version: number, next: Date | undefined, reminder?: Reminder) {
      const open = { _id: id, status: 'pending', version, $expr: UNEXPIRED } as const
      return update(open, settledReminder(next, reminder))
    },
  }
}

/** Builds the update. No reader waits for a skipped reminder, so the version stays. */
function settledReminder(
  next: Date | undefined,
  reminder: Reminder | undefined,
): mongoose.UpdateQuery<RequestDocument> {
  const plan = next === undefined ? { $unset: { remind_at: 1 } } : { $set: { remind_at: next } }
  if (reminder === undefined) return plan
  const $set = { ...plan.$set, reminded_at: reminder.at }
  const $inc = { version: 1, reminder_count: 1 }
  return withOutbox({ ...plan, $set, $inc }, reminder.audit, [reminder.event])
}

function votingUpdate(change: RequestChange): mongoose.UpdateQuery<RequestDocument> {
  const set: Record<string, unknown> = { status: change.status }
  if (change.decision !== undefined) {
    // The vote has the receipt.
    const { receipt: _, ...decision } = change.decision
    set.decision = decision
  }
  if (change.callback !== undefined) set.callback = change.callback
  if (change.kind !== undefined) set.kind_sha256 = kindSha256(change.kind)
  if (change.decided_after !== undefined) set.decided_after = change.decided_after
  if (change.signed_votes !== undefined) set.votes = change.signed_votes
  const push = change.signed_votes === undefined ? { votes: change.vote } : {}
  return withOutbox({ $set: set, $inc: { version: 1 }, $push: push }, change.audit, change.events)
}
