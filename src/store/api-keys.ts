import mongoose, { Schema } from 'mongoose'
import type { ApiKey } from '../domain/account.ts'
import type { ApiKeyStore } from '../flow/ports.ts'
import { auditFields, outboxFields } from './audit-fields.ts'
import { isDuplicateKey, STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { carryTraces, type Nudge, noNudge, type Relayed, tokenOf, traced } from './trace.ts'

const { trusted } = mongoose

type KeyDocument = Omit<ApiKey, 'id'> & { _id: string } & Relayed
type KeyModel = mongoose.Model<KeyDocument>

const keyPolicyFields = new Schema(
  {
    approvers: { type: [String], default: undefined },
    quorum: Number,
    passkey_only: Boolean,
    high_impact: Boolean,
  },
  { _id: false, strict: 'throw' },
)

const keySchema = new Schema<KeyDocument>(
  {
    _id: { type: String, required: true },
    account_id: { type: String, required: true },
    name: { type: String, required: true },
    key_hash: String,
    key_prefix: { type: String, required: true },
    scopes: { type: [String], required: true },
    sandbox: { type: Boolean, required: true },
    policy: keyPolicyFields,
    source_control: Boolean,
    internal: Boolean,
    secret_version: { type: Number, required: true },
    created_at: { type: Date, required: true },
    last_used_at: { type: Date, default: null },
    revoked_at: { type: Date, default: null },
    outbox: { type: [outboxFields], required: true },
    audit: { type: [auditFields], required: true },
  },
  STRICT_SCHEMA,
)
keySchema.index({ key_hash: 1 }, { unique: true, partialFilterExpression: { key_hash: { $exists: true } } })
keySchema.index({ account_id: 1, created_at: 1 })
keySchema.index(
  { account_id: 1 },
  { unique: true, partialFilterExpression: { internal: true }, name: 'one_internal_key' },
)

carryTraces(keySchema)

/** The gap between two notes of a key's use, so that a busy key costs one write a minute. */
const TOUCH_GAP_MS = 60_000

/** API keys on mongoose. */
export function createApiKeyStore(connection: StoreConnection, nudge: Nudge = noNudge): ApiKeyStore {
  const model: KeyModel = connection.model<KeyDocument>('ApiKey', keySchema, 'api_keys')
  return {
    async insert({ id, ...rest }) {
      await model.create({ _id: id, ...rest, ...tokenOf(rest) })
      nudge()
    },
    ...bootstrapWrites(model, nudge),
    find: async (id) => toKey(await model.findById(id).lean<KeyDocument>()),
    findActiveByHash: async (hash) => toKey(await model.findOne(activeByHash(hash)).lean<KeyDocument>()),
    async list(accountId) {
      const filter = accountId === undefined ? {} : { account_id: accountId }
      const found = await model.find(filter).sort({ created_at: 1, _id: 1 }).lean<KeyDocument[]>()
      return found.map(fromDocument)
    },
    async change(id, accountId, fields, audit) {
      const open = { _id: id, account_id: accountId, internal: null, revoked_at: null }
      const query = model.findOneAndUpdate(open, traced(replacing(fields), [audit]), {
        returnDocument: 'after',
      })
      const changed = toKey(await query.lean<KeyDocument>())
      if (changed !== undefined) nudge()
      return changed
    },
    async countLive(accountId) {
      const live = { account_id: accountId, revoked_at: null, internal: trusted({ $ne: true as const }) }
      return model.countDocuments(live)
    },
    async revoke(id, accountId, at, event, audit) {
      const filter = {
        _id: id,
        revoked_at: null,
        ...(accountId === undefined ? {} : { account_id: accountId }),
      }
      const change = traced({ $set: { revoked_at: at } }, [audit], [event])
      const query = model.findOneAndUpdate(filter, change, { returnDocument: 'after' })
      const revoked = toKey(await query.lean<KeyDocument>())
      if (revoked !== undefined) nudge()
      return revoked
    },
    async internalKey({ id, ...fresh }) {
      const mine = { account_id: fresh.account_id, internal: true as const }
      const existing = toKey(await model.findOne(mine).lean<KeyDocument>())
      if (existing !== undefined) return existing
      try {
        await model.create({ _id: id, ...fresh, ...tokenOf(fresh) })
        nudge()
      } catch (error) {
        if (!isDuplicateKey(error)) throw error
      }
      return fromDocument(await model.findOne(mine).orFail().lean<KeyDocument>())
    },
    async touch(id, at) {
      const before = new Date(at.getTime() - TOUCH_GAP_MS)
      const stale = [{ last_used_at: null }, { last_used_at: trusted({ $lt: before }) }]
      await model.updateOne({ _id: id, $or: stale }, { $set: { last_used_at: at } })
    },
    async revokedAmong(ids) {
      const filter = { _id: trusted({ $in: [...ids] }), revoked_at: trusted({ $ne: null }) }
      const found = await model.find(filter, { _id: 1 }).lean<{ _id: string }[]>()
      return found.map((document) => document._id)
    },
  }
}

/** What bootstraps need: a key that exists once whoever makes it, and another secret for one that got lost. */
function bootstrapWrites(model: KeyModel, nudge: Nudge): Pick<ApiKeyStore, 'insertNew' | 'replaceUnused'> {
  return {
    async insertNew({ id, ...rest }) {
      try {
        await model.create({ _id: id, ...rest, ...tokenOf(rest) })
        nudge()
        return true
      } catch (error) {
        if (isDuplicateKey(error, '_id')) return false
        throw error
      }
    },
    async replaceUnused(id, { was, ...secret }, madeSince, audit) {
      const unused = {
        ...activeByHash(was),
        _id: id,
        last_used_at: null,
        created_at: trusted({ $gt: madeSince }),
      }
      const change = traced({ $set: secret, $inc: { secret_version: 1 } }, [audit])
      const replaced = (await model.updateOne(unused, change)).matchedCount === 1
      if (replaced) nudge()
      return replaced
    },
  }
}

/** An undefined or odd value in a filter would match documents without the field (T62), so the shape is asserted first. */
function activeByHash(hash: string): { key_hash: string; revoked_at: null } {
  if (!/^[0-9a-f]{64}$/.test(hash)) throw new TypeError('not a key hash')
  return { key_hash: hash, revoked_at: null }
}

function fromDocument({ _id, relay: _relay, ...rest }: KeyDocument): ApiKey {
  return { id: _id, ...rest }
}

function toKey(document: KeyDocument | null): ApiKey | undefined {
  return document === null ? undefined : fromDocument(document)
}

/** `null` removes a field. */
function replacing(fields: Record<string, unknown>): mongoose.UpdateQuery<KeyDocument> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  const set = Object.fromEntries(given.filter(([, value]) => value !== null))
  const unset = Object.fromEntries(given.filter(([, value]) => value === null).map(([key]) => [key, 1]))
  return {
    ...(Object.keys(set).length > 0 ? { $set: set } : {}),
    ...(Object.keys(unset).length > 0 ? { $unset: unset } : {}),
  }
}
