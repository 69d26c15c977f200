import mongoose from 'mongoose'
import type { Bootstrap } from '../domain/bootstrap.ts'
import type { BootstrapStore } from '../flow/bootstrap-ports.ts'
import { type BootstrapDocument, bootstrapSchema } from './bootstrap-schema.ts'
import { isDuplicateKey, type StoreConnection } from './connect.ts'
import { type Nudge, noNudge, tokenOf, traced } from './trace.ts'

const { trusted } = mongoose

/** The store's own clock, in the operation that acts on it (T75, T77). */
const UNEXPIRED = trusted({ $gt: ['$expires_at', '$$NOW'] })
const EXPIRED = trusted({ $lte: ['$expires_at', '$$NOW'] })

/** How far our clock may lag behind the database's without hiding what is due. */
const CLOCK_MARGIN_MS = 5_000

type BootstrapModel = mongoose.Model<BootstrapDocument>
type Reads = 'find' | 'findBySecret' | 'holders' | 'waitingFor' | 'uncollected' | 'lapsed' | 'nextExpiry'

/** Bootstrap requests on mongoose; see the port for what each method promises. */
export function createBootstrapStore(connection: StoreConnection, nudge: Nudge = noNudge): BootstrapStore {
  const model: BootstrapModel = connection.model<BootstrapDocument>(
    'Bootstrap',
    bootstrapSchema,
    'bootstraps',
  )
  return { ...reads(model), ...writes(model, nudge) }
}

function reads(model: BootstrapModel): Pick<BootstrapStore, Reads> {
  const oldest = async (
    filter: mongoose.QueryFilter<BootstrapDocument>,
    by: 'created_at' | 'expires_at',
    limit = 0,
  ) => {
    const query = model.find(filter).sort({ [by]: 1, _id: 1 })
    return (await query.limit(limit).lean<BootstrapDocument[]>()).map(fromDocument)
  }
  return {
    find: async (id) => toBootstrap(await model.findById(id).lean<BootstrapDocument>()),
    async findBySecret(hash) {
      if (!/^[0-9a-f]{64}$/.test(hash)) throw new TypeError('not a hash')
      return toBootstrap(await model.findOne({ secret_hash: hash }).lean<BootstrapDocument>())
    },
    holders: (slots) => oldest({ slot: trusted({ $in: [...slots] }) }, 'created_at'),
    waitingFor: (accountId) =>
      oldest({ account_id: String(accountId), status: 'pending', $expr: UNEXPIRED }, 'created_at'),
    uncollected: (since, limit) =>
      oldest(
        { status: 'approved', expires_at: trusted({ $gt: since }), collected: null },
        'expires_at',
        limit,
      ),
    lapsed(now, limit) {
      const soon = trusted({ $lte: new Date(now.getTime() + CLOCK_MARGIN_MS) })
      return oldest({ status: 'pending', expires_at: soon, $expr: EXPIRED }, 'expires_at', limit)
    },
    async nextExpiry() {
      const query = model.findOne({ status: 'pending' }, { expires_at: 1 }).sort({ expires_at: 1 })
      return (await query.lean<Pick<BootstrapDocument, 'expires_at'>>())?.expires_at
    },
  }
}

function writes(model: BootstrapModel, nudge: Nudge): Omit<BootstrapStore, Reads> {
  const update = async (
    filter: mongoose.QueryFilter<BootstrapDocument>,
    change: mongoose.UpdateQuery<BootstrapDocument>,
  ) => {
    const query = model.findOneAndUpdate(filter, change, { returnDocument: 'after' })
    const changed = toBootstrap(await query.lean<BootstrapDocument>())
    if (changed !== undefined) nudge()
    return changed
  }
  return {
    async insert({ id, ...rest }) {
      try {
        await model.create({ _id: id, ...rest, ...tokenOf(rest) })
        nudge()
        return true
      } catch (error) {
        if (isDuplicateKey(error, 'slot')) return false
        throw error
      }
    },
    settle: (id, { consent, key_id, collect_by, events, audit }) =>
      update(
        { _id: id, status: 'pending', $expr: UNEXPIRED },
        traced(
          closing(consent.decision, {
            consent,
            ...(key_id === undefined ? {} : { key_id }),
            ...(collect_by === undefined ? {} : { collect_by }),
          }),
          audit,
          events,
        ),
      ),
    countWrongCode(id, before, rejection) {
      const open = { _id: id, status: 'pending', wrong_codes: before, $expr: UNEXPIRED } as const
      const counted = { wrong_codes: before + 1 }
      if (rejection === undefined) return update(open, { $set: counted, $inc: { version: 1 } })
      return update(open, traced(closing('rejected', counted), [rejection]))
    },
    expire: (id, audit) =>
      update({ _id: id, status: 'pending', $expr: EXPIRED }, traced(closing('expired'), [audit])),
    giveUp: (id, audit) => update({ _id: id, status: 'pending' }, traced(closing('expired'), [audit])),
    async poll(id, before, at) {
      const rested = [{ polled_at: null }, { polled_at: trusted({ $lte: before }) }]
      const taken = await model.updateOne({ _id: id, $or: rested }, { $set: { polled_at: at } })
      return taken.matchedCount === 1
    },
    noteCollected: (id, collected, audit) =>
      update(
        { _id: id, status: 'approved', collected: null },
        traced({ $set: { collected }, $inc: { version: 1 } }, [audit]),
      ),
    deleteOld: (before, limit) => deleteOld(model, before, limit),
  }
}

async function deleteOld(model: BootstrapModel, before: Date, limit: number): Promise<number> {
  const old = { status: trusted({ $ne: 'pending' as const }), expires_at: trusted({ $lt: before }) }
  const found = await model
    .find({ ...old, relay: null }, { _id: 1 })
    .limit(limit)
    .lean<{ _id: string }[]>()
  const ids = found.map(({ _id }) => _id)
  if (ids.length === 0) return 0
  return (await model.deleteMany({ _id: trusted({ $in: ids }), relay: null })).deletedCount
}

/** It stops to be pending: its place is free for the next one. */
function closing(status: Bootstrap['status'], more: object = {}) {
  return { $set: { status, ...more }, $inc: { version: 1 }, $unset: { slot: 1 } }
}

function fromDocument({ _id, relay: _relay, ...rest }: BootstrapDocument): Bootstrap {
  return { id: _id, ...rest }
}

function toBootstrap(document: BootstrapDocument | null): Bootstrap | undefined {
  return document === null ? undefined : fromDocument(document)
}
