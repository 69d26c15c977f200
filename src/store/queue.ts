import { randomUUID } from 'node:crypto'
import mongoose, { type mongo, type Schema } from 'mongoose'
import type { AuditEntry } from '../domain/audit.ts'
import type { OutboxEvent } from '../domain/event.ts'
import { ATTEMPTS_KEPT, type Attempt } from '../domain/webhook.ts'
import type { StoreConnection } from './connect.ts'
import { deleteSome } from './each.ts'
import { damageTold, findSound, leanSound, PASSED_OVER } from './failures.ts'
import { date, number, text } from './fields.ts'
import { addOutbox, type OutboxToken, withOutbox } from './outbox.ts'
import { failuresOf, type Outcome, outcomesOf, settled, shareTrips } from './shared-trips.ts'

const { trusted } = mongoose

/** What only the store keeps of a document of a queue. */
export interface QueueToken extends OutboxToken {
  /** The newest claim, or the write of its result. */
  holder?: string
}

/** What a document of a queue holds besides what is to be sent. */
interface QueueDocument extends QueueToken {
  _id: string
  account_id: string
  state: string
  /**
   * When a claim may take it next: due at, and while it is leased the end of the lease. One field for both, so that one
   * index gives what has waited longest, whether it is due or was left behind.
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

/** What was claimed. `interrupted`: the attempt before this one never reported back. */
export interface Claimed<R> {
  record: R
  interrupted: boolean
}

/** What a claim takes of what it found. */
export interface Choice<R> {
  limit: number
  choose(found: readonly R[]): R[]
}

/** From when to when a claim holds. */
export interface Lease {
  now: Date
  leaseEnds: Date
}

/** How an attempt ends in the store. */
export interface AttemptResult<State extends string> {
  state: State
  next_at: Date
  tries: number
  attempts: Attempt[]
  audit: AuditEntry[]
  events?: OutboxEvent[]
}

const OPEN_STATES = ['due', 'leased'] as const
const OPEN = trusted({ $in: OPEN_STATES })

/**
 * Adds to a schema what makes its collection a queue: the fields, and the index of what is open.
 * @param receiver fields by which a claim passes over what is busy, without reading the documents behind them
 */
export function makeQueue(schema: Schema, name: string, receiver: readonly string[] = []): void {
  schema.add({ state: text, next_at: date, tries: number, fence: number })
  schema.add({ holder: String })
  const fields = Object.fromEntries(['next_at', ...receiver].map((field) => [field, 1 as const]))
  schema.index(fields, { partialFilterExpression: { state: { $in: OPEN_STATES } }, name })
  addOutbox(schema)
}

/** The index by which what came to rest is cleaned up. */
export function indexResting(schema: Schema, states: readonly string[]): void {
  const resting = { partialFilterExpression: { state: { $in: states } }, name: 'resting_by_time' }
  schema.index({ state: 1, next_at: 1 }, resting)
}

/** Not this one of these values, if there are any. */
export function noneOf<Field extends string>(field: Field, values: readonly string[]) {
  return values.length === 0 ? {} : { [field]: trusted({ $nin: [...values] }) }
}

/**
 * The queue in the collection of that model. A claim is a lease with a fencing token, so a worker that was too slow can write
 * nothing (T82). Every write is one conditional write of one document.
 */
export function createQueue<D extends QueueDocument, R>(
  connection: StoreConnection,
  modelName: string,
  fromDocument: (document: D) => R,
) {
  const model = connection.model<QueueDocument>(modelName)
  const collection = connection.collection<{ _id: string }>(model.collection.name)
  // Results that are written at the same moment share one command.
  const finish = shareTrips((writes: readonly ConditionalWrite[]) => writeEach(collection, writes))
  const damaged = passDamaged(connection)
  const lookMany = (which: object, now: Date, limit: number): Promise<D[]> => {
    const due = { ...which, ...damaged.others(), state: OPEN, next_at: { $lte: now } }
    const options = { sort: { next_at: 1 }, limit, batchSize: limit + 1 } as const
    return findSound<{ _id: string }, D>(collection, due, options)
  }
  return {
    /** Takes of those that match and are due longest, or whose lease ended, the chosen, in one write. */
    async claim({ now, leaseEnds, limit, choose }: Lease & Choice<R>, which: object): Promise<Claimed<R>[]> {
      const found = await lookMany(which, now, limit)
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
        const outcome = outcomes[index] ?? 'taken'
        if (damageTold(outcome) !== undefined) {
          // The others are leased by now, and to be sent.
          damaged.add(before._id, outcome)
          return []
        }
        if (!settled(outcome)) return []
        const held = { ...before, state: 'leased', next_at: leaseEnds, fence: before.fence + 1 }
        // The state before tells whether the attempt before this one ever reported back.
        return [{ record: fromDocument(held), interrupted: before.state === 'leased' }]
      })
    },
    /** Writes the result of the claimed attempt. @returns false when the claim is no longer the newest */
    async finish(id: string, fence: number, result: AttemptResult<string>): Promise<boolean> {
      const { state, next_at, tries, attempts, audit, events } = result
      const $push = { attempts: { $each: attempts, $slice: -ATTEMPTS_KEPT } }
      const update = withOutbox({ $set: { state, next_at, tries }, $push }, audit, events)
      return settled(await finish({ filter: { _id: id, fence, state: 'leased' }, update }))
    },
    /** When the next one is due or its lease ends. */
    async nextDue(which: Filter = {}): Promise<Date | undefined> {
      const query = model.findOne({ ...which, state: OPEN }, { next_at: 1 }).sort({ next_at: 1 })
      return (await leanSound<QueueDocument | null>(query))?.next_at
    },
    /**
     * Deletes some that came to rest before that time; never one whose outbox still waits.
     * @returns how many, at most `limit`
     */
    async deleteRested(states: readonly string[], before: Date, limit: number): Promise<number> {
      const rested = { state: { $in: [...states] }, next_at: { $lt: before }, outbox_token: null }
      // Asked with each once more: one of them may have been replayed meanwhile.
      return deleteSome(collection, rested, limit)
    },
    /**
     * Inserts those whose name (the unique index) is not taken, and returns their ids. Past mongoose, whose unordered insert leaves invalid
     * documents out without a word: what is left out here would never be sent.
     */
    async insertNew(documents: readonly D[]): Promise<ReadonlySet<string>> {
      const ids = documents.map(({ _id }) => _id)
      if (documents.length === 0) return new Set()
      try {
        await collection.insertMany([...documents], { ordered: false })
        return new Set(ids)
      } catch (error) {
        const failures = failuresOf(error)
        // Another process carried the same entry, or an earlier attempt of ours did: the rest was inserted all the same.
        if (failures.some(({ code }) => code !== 11000)) throw error
        const refused = new Set(failures.map(({ index }) => index))
        return new Set(ids.filter((_, index) => !refused.has(index)))
      }
    },
  }
}

/** For so long what is damaged is not looked at: it is due longest, and may be all that is found at a time. */
const PASSED_OVER_MS = 60_000

/** Reports what cannot be claimed for damage, and leaves it out. */
function passDamaged(connection: StoreConnection) {
  let ids: string[] = []
  let until = 0
  return {
    others: () => (performance.now() < until ? { _id: { $nin: ids } } : {}),
    add(id: string, error: unknown): void {
      const now = performance.now()
      if (now >= until) {
        ids = []
        until = now + PASSED_OVER_MS
      }
      ids.push(id)
      connection.emit(PASSED_OVER, error)
    },
  }
}

type Collection = mongo.Collection<{ _id: string }>

/** A write of one document, if it is as the filter says. */
interface ConditionalWrite {
  filter: { _id: string; [field: string]: unknown }
  update: { $set?: object }
}

/** Each by itself, all in one command. @returns of each whether its condition held */
async function writeEach(collection: Collection, writes: readonly ConditionalWrite[]): Promise<Outcome[]> {
  // A bulk write says how many matched. Which ones, this tells.
  const batch = randomUUID()
  const marks = writes.map((_, index) => `${batch} ${index}`)
  const marked = writes.map(({ filter, update }, index) => ({
    updateOne: { filter, update: { ...update, $set: { ...update.$set, holder: marks[index] } } },
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
