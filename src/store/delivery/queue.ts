import { randomUUID } from 'node:crypto'
import mongoose, { type mongo, type Schema } from 'mongoose'
import type { AuditEntry } from '../../domain/audit.ts'
import type { OutboxEvent } from '../../domain/event.ts'
import { given } from '../../domain/given.ts'
import { ATTEMPTS_KEPT, type Attempt } from '../../domain/webhook.ts'
import { beyond } from '../clock.ts'
import { deleteEach, type Outcome, outcomesOf, wasDone } from '../mongo/bulk-writes.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import { date, number, text } from '../mongo/fields.ts'
import { addOutbox, type OutboxToken, type Wake, type Written, withOutbox } from '../mongo/outbox.ts'
import { shareCommands } from '../mongo/shared-commands.ts'

const { trusted } = mongoose

/** The fields of a queue's document that only the store uses. */
export interface QueueToken extends OutboxToken {
  /** A mark of the newest claim or result, by which a bulk write finds out which documents it changed. */
  holder?: string
}

/** The fields of a queue's document besides the content to send. */
interface QueueDocument extends QueueToken {
  _id: string
  account_id: string
  state: string
  /**
   * When a claim may take it next: its due time or, while it is leased, the end of the lease. One field for both, so that
   * one index finds what has waited longest, whether due or left behind by a dead process.
   */
  next_at: Date
  tries: number
  /** The fencing token: grows with every claim, so a process that holds an older one has lost the lease. */
  fence: number
  host?: string
  platform?: string
  recipient_key?: string
}

type Filter = mongoose.QueryFilter<QueueDocument>

/** A claimed record. `interrupted`: the attempt before this one never reported back. */
export interface Claimed<R> {
  record: R
  interrupted: boolean
}

/** Which records a claim takes: `choose` picks from up to `limit` found ones. */
export interface Choice<R> {
  limit: number
  choose(found: readonly R[]): R[]
}

/** The time of a claim, and when its lease ends. */
export interface Lease {
  now: Date
  leaseEnds: Date
}

/** The outcome of an attempt, as the store writes it. */
export interface AttemptResult<State extends string, Tried = Attempt> {
  state: State
  next_at: Date
  tries: number
  attempts: Tried[]
  audit: AuditEntry[]
  events?: OutboxEvent[]
}

/** What a result changes besides, in queues whose records hold more than a content to send. */
interface Besides {
  /** A further condition on the record. */
  only?: object
  $set?: object
  $unset?: object
  arrayFilters?: mongo.Document[]
}

/** No lease is longer. */
const LONGEST_LEASE_MS = 120_000

/** A partial index of open documents must state them in these very words. */
export const OPEN_STATES = ['due', 'leased'] as const
const OPEN = trusted({ $in: OPEN_STATES })

/**
 * Adds to a schema what makes its collection a queue: the fields, and the index of open documents.
 * @param receiver fields of the index by which a claim skips busy receivers without reading their documents
 */
export function makeQueue(schema: Schema, name: string, receiver: readonly string[] = []): void {
  schema.add({ state: text, next_at: date, tries: number, fence: number })
  schema.add({ holder: String })
  const fields = Object.fromEntries(['next_at', ...receiver].map((field) => [field, 1 as const]))
  schema.index(fields, { partialFilterExpression: { state: { $in: OPEN_STATES } }, name })
  addOutbox(schema)
}

/** Adds the index for cleaning up documents at rest. */
export function indexResting(schema: Schema, states: readonly string[]): void {
  const resting = { partialFilterExpression: { state: { $in: states } }, name: 'resting_by_time' }
  schema.index({ state: 1, next_at: 1 }, resting)
}

/** The filter for a field with none of these values; no condition when there are none. */
export function noneOf<Field extends string>(field: Field, values: readonly string[]) {
  return values.length === 0 ? {} : { [field]: trusted({ $nin: [...values] }) }
}

/**
 * The queue in the model's collection. A claim is a lease with a fencing token, so a worker that has lost its lease cannot
 * write (T82). Every write is one conditional write of one document.
 */
export function createQueue<D extends QueueDocument, R>(
  connection: StoreConnection,
  modelName: string,
  fromDocument: (document: D) => R,
  wake: Wake,
) {
  const model = connection.model<QueueDocument>(modelName)
  const collection = connection.collection<{ _id: string }>(model.collection.name)
  // Results written at the same moment share one command.
  const finish = shareCommands((writes: readonly ConditionalWrite[]) => writeEach(collection, writes))
  const lookMany = (which: object, now: Date, limit: number): Promise<D[]> => {
    const due = { ...which, state: OPEN, next_at: { $lte: now } }
    const options = { sort: { next_at: 1 }, limit, batchSize: limit + 1 } as const
    return collection.find<D>(due, options).toArray()
  }
  return {
    /**
     * Leases, in one command, the chosen among the matching records that are longest due or whose lease ended.
     * @param by filters that match different records; those of an earlier one come first
     */
    async claim(
      { now, leaseEnds, limit, choose }: Lease & Choice<R>,
      ...by: object[]
    ): Promise<Claimed<R>[]> {
      const found = await inTurn(by, limit, (which, most) => lookMany(which, now, most))
      const records = new Map(found.map((document) => [fromDocument(document), document]))
      const chosen = choose([...records.keys()]).flatMap((record) => records.get(record) ?? [])
      if (chosen.length === 0) return []
      const update = { $set: { state: 'leased', next_at: leaseEnds }, $inc: { fence: 1 } }
      const writes = chosen.map(({ _id, state, fence }) => ({
        filter: { _id, state, fence, next_at: { $lte: now } },
        update,
      }))
      const outcomes = await writeEach(collection, writes)
      return chosen.flatMap((before, index) => {
        if (!wasDone(outcomes[index] ?? 'taken')) return []
        const held = { ...before, state: 'leased', next_at: leaseEnds, fence: before.fence + 1 }
        // Still leased before this claim: the previous attempt never reported back.
        return [{ record: fromDocument(held), interrupted: before.state === 'leased' }]
      })
    },
    /**
     * Ends a claim: writes the result of its attempt, whatever that is, if the claim is still the newest.
     * @param more.document the whole document as it is then, if that is known: the relay need not read it
     * @returns false when it is not, or when the further condition does not hold
     */
    async finish(
      id: string,
      fence: number,
      result: AttemptResult<string, object>,
      { document, ...besides }: Besides & Pick<Written, 'document'> = {},
    ): Promise<boolean> {
      const kept = wasDone(await finish(resultWrite(id, fence, result, besides)))
      if (kept && result.audit.length > 0) wake({ outboxOf: model.collection.name, ...given({ document }) })
      return kept
    },
    bringForward: (now: Date) => bringForward(collection, now),
    /** Returns when the next matching document is due or its lease ends. */
    async nextDue(which: Filter = {}): Promise<Date | undefined> {
      const query = model.findOne({ ...which, state: OPEN }, { next_at: 1 }).sort({ next_at: 1 })
      return (await query.lean<QueueDocument | null>())?.next_at
    },
    /** Deletes the documents that came to rest before `before`, but none whose outbox still waits. @returns how many */
    async deleteRested(states: readonly string[], before: Date): Promise<number> {
      const rested = { state: { $in: [...states] }, next_at: { $lt: before }, outbox_token: null }
      // Each delete repeats the filter: a document may have been replayed meanwhile.
      return deleteEach(collection, rested)
    },
    /**
     * Inserts the documents whose unique key is not taken, and returns their ids. Past mongoose, whose unordered insert
     * silently leaves out invalid documents: a document left out here would never be sent.
     */
    async insertNew(documents: readonly D[]): Promise<ReadonlySet<string>> {
      const outcomes = await outcomesOf(documents.length, () =>
        collection.insertMany([...documents], { ordered: false }),
      )
      // Where a key is taken, another process, or an earlier attempt of ours, relayed the same outbox entry.
      const inserted = documents.filter((_, index) => wasDone(outcomes[index] ?? 'taken'))
      return new Set(inserted.map(({ _id }) => _id))
    },
  }
}

function resultWrite(
  id: string,
  fence: number,
  { state, next_at, tries, attempts, audit, events }: AttemptResult<string, object>,
  { only, $set, $unset = {}, ...more }: Besides,
): ConditionalWrite {
  const changes = {
    $set: { ...$set, state, next_at, tries },
    $push: { attempts: { $each: attempts, $slice: -ATTEMPTS_KEPT } },
    ...(Object.keys($unset).length === 0 ? {} : { $unset }),
  }
  const filter = { ...only, _id: id, fence, state: 'leased' }
  return { filter, update: withOutbox(changes, audit, events), ...more }
}

/**
 * Makes due what was stored, or last tried, at a time that is still to come: the clock was set back since. A lease lasts its full
 * length once more, so that an attempt under way is not made twice (T82).
 */
async function bringForward(collection: Collection, now: Date): Promise<void> {
  const leaseEnds = new Date(now.getTime() + LONGEST_LEASE_MS)
  const later = { $gt: beyond(now) }
  const waiting = { state: 'due', next_at: later, $or: [{ created_at: later }, { 'attempts.at': later }] }
  await collection.updateMany(waiting, { $set: { next_at: now } })
  const leased = { state: 'leased', next_at: { $gt: leaseEnds } }
  await collection.updateMany(leased, { $set: { next_at: leaseEnds } })
}

/** Reads by each filter in turn until there are `limit`. */
async function inTurn<D>(
  filters: readonly object[],
  limit: number,
  read: (which: object, most: number) => Promise<D[]>,
): Promise<D[]> {
  const found: D[] = []
  for (const which of filters)
    if (found.length < limit) found.push(...(await read(which, limit - found.length)))
  return found
}

type Collection = mongo.Collection<{ _id: string }>

/** An update of one document, done only if the filter matches. */
interface ConditionalWrite {
  filter: { _id: string; [field: string]: unknown }
  update: { $set?: object }
  arrayFilters?: mongo.Document[]
}

/** Does each write by itself, all in one command. @returns for each whether its condition held */
async function writeEach(collection: Collection, writes: readonly ConditionalWrite[]): Promise<Outcome[]> {
  // A bulk write only says how many filters matched; these marks tell which.
  const batch = randomUUID()
  const marks = writes.map((_, index) => `${batch} ${index}`)
  const marked = writes.map(({ update, ...write }, index) => ({
    updateOne: { ...write, update: { ...update, $set: { ...update.$set, holder: marks[index] } } },
  }))
  let matched = 0
  const outcomes = await outcomesOf(writes.length, async () => {
    matched = (await collection.bulkWrite(marked, { ordered: false })).matchedCount
  })
  if (matched === writes.length) return outcomes
  const theirs = { _id: { $in: writes.map(({ filter }) => filter._id) }, holder: { $in: marks } }
  const found = await collection.find<QueueToken>(theirs, { projection: { holder: 1 } }).toArray()
  const written = new Set(found.map(({ holder }) => holder))
  return outcomes.map((outcome, index) =>
    outcome === 'done' && !written.has(marks[index]) ? 'taken' : outcome,
  )
}
