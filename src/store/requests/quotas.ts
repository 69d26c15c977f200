import mongoose, { type mongo, Schema } from 'mongoose'
import { MOST_PENDING } from '../../domain/attention.ts'
import { given } from '../../domain/given.ts'
import { deleteEach, type Outcome, outcomesOf, wasDone } from '../mongo/bulk-writes.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { part, text } from '../mongo/fields.ts'
import { UNEXPIRED } from '../mongo/filters.ts'
import { shareCommands } from '../mongo/shared-commands.ts'
import type { RequestDocument } from './request-schema.ts'

/** A request that has reserved some of an approver's attention. */
export interface Reservation {
  id: string
  at: Date
}

/** Two kinds of counter in one collection, so that a request takes from both in one command. */
interface QuotaDocument {
  /** `<account>:<YYYY-MM>`: the account's use of its quota in that month. `<account>:<approver>`: reservations before them. */
  _id: string
  used?: number
  month?: string
  /** The calls under an `Idempotency-Key`, or with `reuse`, that took from it last. */
  calls?: string[]
  held?: Reservation[]
}

const quotaSchema = new Schema<QuotaDocument>(
  {
    _id: text,
    used: Number,
    month: String,
    calls: part,
    held: part,
  },
  STRICT_SCHEMA,
)
quotaSchema.index({ month: 1 })

/** What a request takes: one unit of its account's quota for the month, and a reservation before each of these people. */
export interface Taken {
  accountId: string
  /** `YYYY-MM`, UTC. */
  month: string
  /** 0 = no limit. */
  quota: number
  people: readonly string[]
  reservation: Reservation
  /** Names the call, if it has an `Idempotency-Key` or `reuse`. */
  call?: string
}

/** The number of calls that a month's counter remembers: those of the same moment, in which another process may make the request. */
const CALLS_KEPT = 32

/** One addition to a counter: to the month's use, within the quota, or to an approver's reservations. */
type Taking =
  | { _id: string; month: string; quota: number; call?: string }
  | ({ _id: string; person: string } & Reservation)

/**
 * Limits on new requests, exact across processes: how many an account makes per calendar month, and how many wait before one
 * approver, `MOST_PENDING` per account (T24). Callers at the same moment share one conditional upsert per counter.
 */
export function createQuotaStore(connection: StoreConnection) {
  const model = connection.model<QuotaDocument>('Quota', quotaSchema, 'quotas')
  const take = createTaker(connection)
  const reservations = (accountId: string, userId: string) => ({ _id: `${accountId}:${userId}` })
  return {
    /**
     * Takes the reservations, then one unit of the quota.
     * @returns `full`: the people without room for a reservation (then no quota was taken); `usedUp`: the quota is used up
     */
    async take(taken: Taken): Promise<{ full: string[]; usedUp: boolean }> {
      const { accountId, month, quota, people, reservation, call } = taken
      const refused = await take({
        first: people.map((person) => ({ ...reservations(accountId, person), person, ...reservation })),
        last: { _id: `${accountId}:${month}`, month, quota, ...given({ call }) },
      })
      const full = refused.flatMap((one) => ('person' in one ? [one.person] : []))
      return { full, usedUp: full.length < refused.length }
    },
    /** Gives one unit of the quota back, when the request was not made after all. */
    async giveBack(accountId: string, month: string, call?: string): Promise<void> {
      const taken = { _id: `${accountId}:${month}`, used: mongoose.trusted({ $gt: 0 }) }
      await model.updateOne(taken, {
        $inc: { used: -1 },
        ...(call === undefined ? {} : { $pull: { calls: call } }),
      })
    },
    /** Checks whether this call is among those that took from the month's quota last and gave nothing back. */
    async hasTaken(accountId: string, month: string, call: string): Promise<boolean> {
      return (await model.exists({ _id: `${accountId}:${month}`, calls: call })) !== null
    },
    /** Returns how much of the month's quota was taken. */
    async used(accountId: string, month: string): Promise<number> {
      const found = await model.findById(`${accountId}:${month}`).lean<QuotaDocument>()
      return found?.used ?? 0
    },
    /** Returns the reservations before that person. */
    async held(accountId: string, userId: string): Promise<Reservation[]> {
      const found = await model.findOne(reservations(accountId, userId)).lean<QuotaDocument>()
      return found?.held ?? []
    },
    /** Frees the reservations of these requests. */
    async free(accountId: string, userId: string, requestIds: readonly string[]): Promise<void> {
      if (requestIds.length === 0) return
      const ids = mongoose.trusted({ $in: [...requestIds] })
      await model.updateOne(reservations(accountId, userId), { $pull: { held: { id: ids } } })
    },
    /** Deletes the quota counters of earlier months. */
    async prune(month: string): Promise<void> {
      await deleteEach(connection.collection('quotas'), { month: { $lt: month } })
    },
  }
}

/** A conditional upsert. When its condition does not hold, it fails on the `_id` of the existing document. */
interface Upsert {
  filter: { _id: string } & mongo.Document
  update: mongo.Document
}

/** What one caller takes: `last` is taken only once all of `first` are. */
interface Takings {
  first: readonly Taking[]
  last: Taking
}

/**
 * Takes from counters that many callers use at once: all takings from one counter share a conditional upsert, and all
 * counters share a command. If a counter has no room for all of its takings, each is tried with a condition of its own, so
 * nothing is taken over the limit or refused below it.
 * @returns a function that returns the refused takings: none, some of `first`, or `last`
 */
function createTaker(connection: StoreConnection): (takings: Takings) => Promise<readonly Taking[]> {
  const collection = connection.collection<{ _id: string }>('quotas')
  const upsert = async (upserts: readonly (Upsert | undefined)[], ordered: boolean): Promise<Outcome[]> => {
    const operations = upserts.flatMap((one) => (one ? [{ updateOne: { ...one, upsert: true } }] : []))
    const outcomes = await outcomesOf(operations.length, () => collection.bulkWrite(operations, { ordered }))
    return upserts.map((one) => (one && outcomes.shift()) ?? 'taken')
  }
  /** Stops at the first refused group: nothing after it is taken. */
  const takeInOrder = async (groups: readonly Group[]): Promise<Outcome[]> => {
    const upserts = groups.map(upsertOf)
    const never = upserts.indexOf(undefined)
    const outcomes = await upsert(never < 0 ? upserts : upserts.slice(0, never), true)
    const refused = outcomes.findIndex((outcome) => outcome !== 'done')
    return refused < 0 ? outcomes : outcomes.slice(0, refused)
  }
  const takeEach = async (takings: readonly Taking[], outcomes: Map<Taking, Outcome>): Promise<void> => {
    let groups = groupsOf(takings)
    // The single takings get two rounds: when two of them create a counter at once, one is refused.
    for (let attempt = 0; attempt < 3 && groups.length > 0; attempt += 1) {
      // An error fails only these takings: other callers keep what they have taken by then.
      const results = await upsert(groups.map(upsertOf), false).catch((error: unknown) =>
        groups.map(() => asError(error)),
      )
      note(outcomes, groups, results)
      groups = takings.filter((taking) => outcomes.get(taking) === 'taken').map((taking) => [taking])
    }
  }
  const takeShared = shareCommands(async (asks: readonly Takings[]) => {
    const outcomes = new Map<Taking, Outcome>()
    const all = [asks.flatMap(({ first }) => first), asks.map(({ last }) => last)] as const
    const groups = all.flatMap(groupsOf)
    note(outcomes, groups, await takeInOrder(groups))
    const open = (taking: Taking): boolean => outcomes.get(taking) !== 'done'
    await takeEach(all[0].filter(open), outcomes)
    const able = asks.filter(({ first }) => !first.some(open))
    await takeEach(able.map(({ last }) => last).filter(open), outcomes)
    return asks.map(({ first, last }) =>
      (first.some(open) ? first : [last]).map((one) => [one, outcomes.get(one)] as const),
    )
  })
  return async (takings) =>
    (await takeShared(takings)).flatMap(([taking, outcome = 'taken']) => (wasDone(outcome) ? [] : [taking]))
}

function note(outcomes: Map<Taking, Outcome>, groups: readonly Group[], results: readonly Outcome[]): void {
  for (const [index, group] of groups.entries())
    for (const taking of group) outcomes.set(taking, results[index] ?? 'taken')
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

/** All takings from one counter. */
type Group = readonly [Taking, ...Taking[]]

function groupsOf(takings: readonly Taking[]): Group[] {
  const groups = new Map<string, [Taking, ...Taking[]]>()
  for (const taking of takings) {
    const counter = counterOf(taking)
    const group = groups.get(counter)
    if (group === undefined) groups.set(counter, [taking])
    else group.push(taking)
  }
  return [...groups.values()]
}

function counterOf(taking: Taking): string {
  return 'quota' in taking ? `${taking._id} ${taking.quota}` : taking._id
}

/** Builds the upsert. A counter without room does not match, so the upsert fails on the existing `_id`. */
function upsertOf(takings: readonly [Taking, ...Taking[]]): Upsert | undefined {
  const [taking] = takings
  const { _id } = taking
  const times = takings.length
  if ('quota' in taking) {
    const { month, quota } = taking
    // An upsert creates a missing counter whatever the condition, so it never asks for more than the whole quota.
    if (quota !== 0 && times > quota) return undefined
    const room = quota === 0 ? {} : { used: { $lte: quota - times } }
    const calls = takings.flatMap((one) => ('quota' in one && one.call !== undefined ? [one.call] : []))
    const remember = calls.length > 0 && { $push: { calls: { $each: calls, $slice: -CALLS_KEPT } } }
    const update = { $inc: { used: times }, $setOnInsert: { month }, ...remember }
    return { filter: { _id, ...room }, update }
  }
  const held = takings.flatMap((one) => ('person' in one ? [{ id: one.id, at: one.at }] : []))
  return {
    filter: { _id, [`held.${MOST_PENDING - times}`]: { $exists: false } },
    update: { $push: { held: { $each: held } } },
  }
}

/** The state of a request that holds a reservation before an approver. */
interface PlaceHolder {
  id: string
  pending: boolean
  expires_at: Date
}

/** Most rejections read per key, the newest: far more than it takes to silence a key towards every approver. */
const MOST_REJECTIONS = 500

/** Reads for the limits on attention. A single rejection closes a request, so its rejecting vote is the one that closed it. */
export function attentionReads(model: mongoose.Model<RequestDocument>) {
  return {
    /**
     * Returns who has rejected live (not sandbox) requests of this key since `since`, and when. Those that shared a card were one
     * question to its reader, and count once.
     */
    async rejections(keyId: string, since: Date): Promise<{ user_id: string; at: Date }[]> {
      const recent = {
        api_key_id: keyId,
        status: 'rejected' as const,
        'decision.decided_at': mongoose.trusted({ $gte: since }),
        sandbox: false,
      }
      const fields = { 'votes.user_id': 1, 'votes.at': 1, 'votes.decision': 1, 'batch.id': 1 }
      const newestFirst = { 'decision.decided_at': -1 } as const
      const query = model.find(recent, fields).sort(newestFirst).limit(MOST_REJECTIONS)
      const found = await query.lean<Pick<RequestDocument, '_id' | 'votes' | 'batch'>[]>()
      const answers = found.flatMap(({ _id, votes, batch }) =>
        votes
          .filter(({ decision }) => decision === 'rejected')
          .map(({ user_id, at }) => [`${user_id} ${batch?.id ?? _id}`, { user_id, at }] as const),
      )
      return [...new Map(answers).values()]
    },
    /** Checks whether a pending request of any other account names the person. */
    async waitElsewhere(userId: string, accountId: string): Promise<boolean> {
      const named = { 'requirement.approvers.user_id': userId, status: 'pending' as const, $expr: UNEXPIRED }
      const filter = { ...named, account_id: mongoose.trusted({ $ne: accountId }) }
      return (await model.findOne(filter, { _id: 1 }).lean()) !== null
    },
    /** Returns, of those of these requests that exist, whether they wait for this approver. */
    async holders(ids: readonly string[], approverId: string): Promise<PlaceHolder[]> {
      const fields = { status: 1, expires_at: 1, 'votes.on_behalf_of': 1 }
      const query = model.find({ _id: mongoose.trusted({ $in: [...ids] }) }, fields)
      const found = await query.batchSize(ids.length + 1).lean<RequestDocument[]>()
      return found.map(({ _id, status, expires_at, votes }) => ({
        id: _id,
        pending: status === 'pending' && votes.every(({ on_behalf_of }) => on_behalf_of !== approverId),
        expires_at,
      }))
    },
  }
}
