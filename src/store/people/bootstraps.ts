import mongoose, { Schema } from 'mongoose'
import type { AuditEntry } from '../../domain/audit.ts'
import type { Bootstrap, Consent } from '../../domain/bootstrap.ts'
import type { OutboxEvent } from '../../domain/event.ts'
import { given } from '../../domain/given.ts'
import { beyond } from '../clock.ts'
import { deleteEach } from '../mongo/bulk-writes.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { date, neededPart, number, part, text } from '../mongo/fields.ts'
import { EXPIRED, expiredAround, UNEXPIRED } from '../mongo/filters.ts'
import { addOutbox, noWake, type OutboxToken, type Wake, withOutbox } from '../mongo/outbox.ts'
import { documentOf, recordIn, recordOf } from '../mongo/record.ts'
import { createWriter } from '../mongo/writer.ts'

const { trusted } = mongoose

type BootstrapDocument = Omit<Bootstrap, 'id'> & { _id: string } & OutboxToken

/** Collection `bootstraps`. It never holds a `bootstrap_id`, a key or an e-mail address. */
const bootstrapSchema = new Schema<BootstrapDocument>(
  {
    _id: text,
    version: number,
    secret_hash: text,
    account_id: String,
    status: text,
    client_name: text,
    code: text,
    scopes: { type: [String], required: true },
    code_challenge: String,
    requester: neededPart,
    wrong_codes: number,
    created_at: date,
    expires_at: date,
    consent: part,
    key_id: String,
    collect_by: Date,
    collected: part,
    polled_at: Date,
    outbox: neededPart,
  },
  STRICT_SCHEMA,
)
bootstrapSchema.index({ secret_hash: 1 }, { unique: true })
bootstrapSchema.index({ status: 1, expires_at: 1 })
bootstrapSchema.index(
  { account_id: 1, status: 1 },
  { partialFilterExpression: { account_id: { $exists: true } } },
)
addOutbox(bootstrapSchema)

type BootstrapModel = mongoose.Model<BootstrapDocument>
type Filter = mongoose.QueryFilter<BootstrapDocument>

/** The change that the owner's consent makes; `key_id` and `collect_by` are present for an approval. */
export interface ConsentChange {
  consent: Consent
  key_id?: string
  collect_by?: Date
  events: OutboxEvent[]
  audit: AuditEntry[]
}

/**
 * Agents' requests for keys, on mongoose. Every write is one conditional single-document write; the database's clock judges
 * expiry.
 */
export function createBootstrapStore(connection: StoreConnection, wake: Wake = noWake) {
  const model: BootstrapModel = connection.model<BootstrapDocument>(
    'Bootstrap',
    bootstrapSchema,
    'bootstraps',
  )
  return {
    ...reads(model),
    ...writes(model, wake),
    /** Deletes settled bootstraps that expired before `before` and whose outbox the relay has emptied. @returns how many */
    deleteOld(before: Date): Promise<number> {
      const old = { status: { $in: [...SETTLED] }, expires_at: { $lt: before }, outbox_token: null }
      return deleteEach(connection.collection('bootstraps'), old)
    },
  }
}

function reads(model: BootstrapModel) {
  const oldest = async (filter: Filter, by: 'created_at' | 'expires_at', limit = 0): Promise<Bootstrap[]> => {
    const query = model
      .find(filter)
      .sort({ [by]: 1, _id: 1 })
      .limit(limit)
    return (await query.lean<BootstrapDocument[]>()).map(recordOf)
  }
  return {
    async find(id: string): Promise<Bootstrap | undefined> {
      return recordIn(await model.findById(id).lean<BootstrapDocument>())
    },
    async findBySecret(hash: string): Promise<Bootstrap | undefined> {
      if (!/^[0-9a-f]{64}$/.test(hash)) throw new TypeError('not a hash')
      return recordIn(await model.findOne({ secret_hash: hash }).lean<BootstrapDocument>())
    },
    /** Returns the account's pending, unexpired bootstraps, oldest first. */
    waitingFor: (accountId: string) =>
      oldest({ account_id: String(accountId), status: 'pending', $expr: UNEXPIRED }, 'created_at'),
    /** Returns approved bootstraps not noted as collected whose `expires_at` lies after `since`. */
    uncollected: (since: Date, limit: number) =>
      oldest(
        { status: 'approved', expires_at: trusted({ $gt: since }), collected: null },
        'expires_at',
        limit,
      ),
    /** Returns pending bootstraps past their expiry, the longest lapsed first; `now` only narrows the search. */
    lapsed: (now: Date, limit: number) =>
      oldest({ status: 'pending', expires_at: expiredAround(now), $expr: EXPIRED }, 'expires_at', limit),
    /** Returns pending bootstraps, whatever their time. */
    pending: (limit: number) => oldest({ status: 'pending' }, 'expires_at', limit),
    /** Returns when the next pending bootstrap expires. */
    async nextExpiry(): Promise<Date | undefined> {
      const query = model.findOne({ status: 'pending' }, { expires_at: 1 }).sort({ expires_at: 1 })
      return (await query.lean<BootstrapDocument | null>())?.expires_at
    },
  }
}

/** Changes return undefined when their condition does not hold (any more). */
function writes(model: BootstrapModel, wake: Wake) {
  const { insert, change: update } = createWriter<BootstrapDocument, Bootstrap>(model, wake, recordOf)
  return {
    insert: (bootstrap: Bootstrap) => insert(documentOf(bootstrap)),
    /** Pending and unexpired → approved or rejected. */
    settle(id: string, { consent, key_id, collect_by, events, audit }: ConsentChange) {
      const change = closing(consent.decision, { consent, ...given({ key_id, collect_by }) })
      return update({ _id: id, status: 'pending', $expr: UNEXPIRED }, withOutbox(change, audit, events))
    },
    /**
     * Counts a wrong matching code after `before` earlier ones; with `rejection`, this one rejects the bootstrap.
     * @returns undefined when another process counted meanwhile, or the bootstrap is no longer pending and unexpired
     */
    countWrongCode(id: string, before: number, rejection?: AuditEntry) {
      const open = { _id: id, status: 'pending', wrong_codes: before, $expr: UNEXPIRED } as const
      const counted = { wrong_codes: before + 1 }
      if (rejection === undefined) return update(open, { $set: counted, $inc: { version: 1 } })
      return update(open, withOutbox(closing('rejected', counted), [rejection]))
    },
    /** Pending and past its time → expired. */
    expire: (id: string, audit: AuditEntry) =>
      update({ _id: id, status: 'pending', $expr: EXPIRED }, withOutbox(closing('expired'), [audit])),
    /** Pending → expired, before its time. */
    end: (id: string, audit: AuditEntry) =>
      update({ _id: id, status: 'pending' }, withOutbox(closing('expired'), [audit])),
    /** From `at` on, no key is made of a consent that was given before. */
    async voidConsents(at: Date): Promise<void> {
      const open = { status: 'approved', collected: null, collect_by: trusted({ $gt: at }) } as const
      await model.updateMany(open, { $set: { collect_by: at } })
    },
    /** Notes a poll at `at`. @returns false when the last poll was between `before` and then. */
    async poll(id: string, before: Date, at: Date): Promise<boolean> {
      const times = [null, trusted({ $lte: before }), trusted({ $gt: beyond(at) })]
      const rested = times.map((polled_at) => ({ polled_at }))
      const taken = await model.updateOne({ _id: id, $or: rested }, { $set: { polled_at: at } })
      return taken.matchedCount === 1
    },
    /** Approved and not noted as collected → noted. */
    noteCollected: (id: string, collected: NonNullable<Bootstrap['collected']>, audit: AuditEntry) =>
      update(
        { _id: id, status: 'approved', collected: null },
        withOutbox({ $set: { collected }, $inc: { version: 1 } }, [audit]),
      ),
  }
}

/** Every status but pending, listed by name so that a query can use the index. */
const SETTLED = ['approved', 'rejected', 'expired'] as const satisfies readonly Bootstrap['status'][]

/** The update that ends the pending state. */
function closing(status: Bootstrap['status'], more: object = {}) {
  return { $set: { status, ...more }, $inc: { version: 1 } }
}
