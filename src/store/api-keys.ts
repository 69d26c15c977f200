import mongoose, { Schema } from 'mongoose'
import type { ApiKey } from '../domain/api-key.ts'
import type { AuditEntry } from '../domain/audit.ts'
import type { OutboxEvent } from '../domain/event.ts'
import type { KeyPolicy } from '../domain/policy.ts'
import { STRICT_SCHEMA, type StoreConnection } from './mongo/connect.ts'
import { isDuplicateKey } from './mongo/failures.ts'
import { date, flag, neededPart, number, part, text } from './mongo/fields.ts'
import { OLDEST_FIRST } from './mongo/filters.ts'
import { addOutbox, noWake, type OutboxToken, type Wake, withOutbox } from './mongo/outbox.ts'
import { documentOf, recordIn, recordOf, replacing } from './mongo/record.ts'
import { createLookup } from './mongo/shared-commands.ts'
import { insertInSlot } from './mongo/slots.ts'
import { createWriter } from './mongo/writer.ts'

const { trusted } = mongoose

type KeyDocument = Omit<ApiKey, 'id'> & { _id: string } & OutboxToken
type KeyModel = mongoose.Model<KeyDocument>

const keySchema = new Schema<KeyDocument>(
  {
    _id: text,
    account_id: text,
    name: text,
    key_hash: String,
    key_prefix: text,
    scopes: { type: [String], required: true },
    sandbox: flag,
    policy: part,
    source_control: Boolean,
    internal: Boolean,
    secret_version: number,
    created_at: date,
    last_used_at: { type: Date, default: null },
    revoked_at: { type: Date, default: null },
    slot: Number,
    outbox: neededPart,
  },
  STRICT_SCHEMA,
)
keySchema.index({ key_hash: 1 }, { unique: true, partialFilterExpression: { key_hash: { $exists: true } } })
keySchema.index({ account_id: 1, created_at: 1 })
keySchema.index({ revoked_at: 1 })
keySchema.index(
  { account_id: 1 },
  { unique: true, partialFilterExpression: { internal: true }, name: 'one_internal_key' },
)
// An account has no more live keys than places.
keySchema.index(
  { account_id: 1, slot: 1 },
  { unique: true, partialFilterExpression: { slot: { $exists: true } } },
)
addOutbox(keySchema)

/** Milliseconds between two writes of a key's last use, so that a busy key costs one write a minute. */
const TOUCH_GAP_MS = 60_000

export type ApiKeyStore = ReturnType<typeof createApiKeyStore>

/** API keys on mongoose. */
export function createApiKeyStore(connection: StoreConnection, wake: Wake = noWake) {
  const model: KeyModel = connection.model<KeyDocument>('ApiKey', keySchema, 'api_keys')
  const writer = createWriter(model, wake, recordOf)
  // Every look-up asks the store, so that a revocation takes effect at once; a revoked key is not found (T54).
  const byHash = createLookup(model, {
    field: 'key_hash',
    only: { revoked_at: null },
  })
  return {
    ...reads(model, createLookup(model)),
    ...writes(model, writer),
    /** Finds a key by its HMAC; a revoked key is not found. */
    async findActiveByHash(hash: string): Promise<ApiKey | undefined> {
      return recordIn(await byHash(activeByHash(hash).key_hash))
    },
    touch: createTouch(model),
  }
}

function reads(model: KeyModel, lookup: (id: string) => Promise<KeyDocument | undefined>) {
  return {
    async find(id: string): Promise<ApiKey | undefined> {
      return recordIn(await lookup(id))
    },
    async list(accountId: string | undefined): Promise<ApiKey[]> {
      const filter = accountId === undefined ? {} : { account_id: accountId }
      const found = await model.find(filter).sort(OLDEST_FIRST).lean<KeyDocument[]>()
      return found.map(recordOf)
    },
    /** Counts the account's keys that are not revoked, without the internal pseudo-key. */
    async countLive(accountId: string): Promise<number> {
      return model.countDocuments(liveOf(accountId))
    },
    /** Returns the revoked ones among these keys: one query for all waiters of a process (T54). */
    async revokedAmong(ids: readonly string[]): Promise<string[]> {
      const filter = { _id: trusted({ $in: [...ids] }), revoked_at: trusted({ $ne: null }) }
      const found = await model.find(filter, { _id: 1 }).lean<{ _id: string }[]>()
      return found.map((document) => document._id)
    },
    /** Returns the keys revoked between the two times, by the clock of the process that revoked them. */
    async revokedBetween(since: Date, until: Date): Promise<string[]> {
      const filter = { revoked_at: trusted({ $gte: since, $lte: until }) }
      const found = await model.find(filter, { _id: 1 }).lean<{ _id: string }[]>()
      return found.map((document) => document._id)
    },
  }
}

/** Live keys that count; the internal pseudo-key does not. */
function liveOf(accountId: string) {
  return { account_id: accountId, revoked_at: null, internal: trusted({ $ne: true as const }) }
}

type Writer = ReturnType<typeof createWriter<KeyDocument, ApiKey>>

function writes(model: KeyModel, writer: Writer) {
  return {
    /**
     * Inserts a key, whichever process makes it.
     * @returns `known` when a key with this id exists already; `full` when the account has `most` live keys
     */
    async insert(key: ApiKey, most: number): Promise<'made' | 'known' | 'full'> {
      const others = await model
        .find(liveOf(key.account_id), { slot: 1 })
        .lean<Pick<KeyDocument, '_id' | 'slot'>[]>()
      if (others.some(({ _id }) => _id === key.id)) return 'known'
      const live = others.map(({ slot }) => slot)
      try {
        const put = (slot: number) => writer.insertNew(documentOf({ ...key, slot }), 'slot')
        return (await insertInSlot(live, most, put)) === 'full' ? 'full' : 'made'
      } catch (error) {
        if (!isDuplicateKey(error, '_id')) throw error
        return 'known'
      }
    },
    /** Changes an unrevoked key of the account; `null` removes a field. @returns undefined when there is no such key. */
    change: (
      id: string,
      accountId: string,
      fields: { name?: string; policy?: KeyPolicy | null; source_control?: true | null },
      audit: AuditEntry,
    ) =>
      writer.change(
        { _id: id, account_id: accountId, internal: null, revoked_at: null },
        withOutbox(replacing(fields), [audit]),
      ),
    /** @returns the key after revocation; undefined when there is no such key or it was revoked already. */
    revoke: (id: string, accountId: string | undefined, at: Date, event: OutboxEvent, audit: AuditEntry) =>
      writer.change(
        { _id: id, revoked_at: null, ...(accountId === undefined ? {} : { account_id: accountId }) },
        withOutbox({ $set: { revoked_at: at }, $unset: { slot: 1 } }, [audit], [event]),
      ),
    /**
     * Replaces the secret `was` of a key that was never used or revoked and is younger than `madeSince`; its webhook secret
     * changes too. @returns false when the key does not meet these conditions
     */
    replaceUnused(
      id: string,
      { was, ...secret }: { was: string; key_hash: string; key_prefix: string },
      madeSince: Date,
      { audit, event }: { audit: AuditEntry; event: OutboxEvent },
    ): Promise<boolean> {
      const made = trusted({ $gt: madeSince })
      const unused = { ...activeByHash(was), _id: id, last_used_at: null, created_at: made }
      const change = withOutbox({ $set: secret, $inc: { secret_version: 1 } }, [audit], [event])
      return writer.update(unused, change)
    },
    /** Returns the account's internal pseudo-key, made on first use; concurrent calls get the same key. */
    async internalKey(fresh: ApiKey): Promise<ApiKey> {
      const mine = { account_id: fresh.account_id, internal: true as const }
      const existing = recordIn(await model.findOne(mine).lean<KeyDocument>())
      if (existing !== undefined) return existing
      await writer.insertNew(documentOf(fresh))
      return recordOf(await model.findOne(mine).orFail().lean<KeyDocument>())
    },
  }
}

/** Keys whose last write a process remembers; past that, the oldest is forgotten, and its next use goes to the store. */
const MOST_TOUCHED = 10_000

/** Writes the use of a key, at most once a minute per process. Rejects when the write fails: no reason to fail the request. */
function createTouch(model: KeyModel): (id: string, at: Date) => Promise<void> {
  const noted = new Map<string, number>()
  return async (id, at) => {
    const last = noted.get(id)
    if (last !== undefined && at.getTime() - last < TOUCH_GAP_MS) return
    noted.delete(id)
    noted.set(id, at.getTime())
    const [oldest] = noted.keys()
    if (noted.size > MOST_TOUCHED && oldest !== undefined) noted.delete(oldest)
    const before = new Date(at.getTime() - TOUCH_GAP_MS)
    const stale = [{ last_used_at: null }, { last_used_at: trusted({ $lt: before }) }]
    await model.updateOne({ _id: id, $or: stale }, { $set: { last_used_at: at } }).catch((error: unknown) => {
      noted.delete(id)
      throw error
    })
  }
}

/** An undefined or odd value in a filter would match documents without the field (T62), so the shape is asserted first. */
function activeByHash(hash: string): { key_hash: string; revoked_at: null } {
  if (!/^[0-9a-f]{64}$/.test(hash)) throw new TypeError('not a key hash')
  return { key_hash: hash, revoked_at: null }
}
