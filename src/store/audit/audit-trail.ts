import { mongo, Schema } from 'mongoose'
import { type AuditRecord, isByTime } from '../../domain/audit.ts'
import { given } from '../../domain/given.ts'
import type { AuditTrail } from '../../ports/ports.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { isDuplicateKey } from '../mongo/failures.ts'
import { number, part } from '../mongo/fields.ts'
import { beyond, during } from '../mongo/filters.ts'

/** The fields of a record that are 32 bytes: stored as such, where schema versions before 14 stored 64 hex digits. */
const HASHES = ['salt', 'content_sha256', 'subject_sha256', 'hash'] as const

/** A record as it is read; its fields may have any form if it was altered. */
export type RecordDocument = Omit<AuditRecord, 'seq'> & { _id: number }

const recordSchema = new Schema<RecordDocument>(
  {
    _id: number,
    entry: part,
    salt: Buffer,
    content_sha256: Buffer,
    subject_sha256: Buffer,
    hash: Buffer,
  },
  STRICT_SCHEMA,
)
// Sparse: records that were erased before this kept it have no `eid`, and must not collide with one another.
recordSchema.index({ 'entry.eid': 1 }, { unique: true, sparse: true })
// Ascending, as those of requests.
recordSchema.index({ 'entry.account_id': 1, _id: 1 })
recordSchema.index({ 'entry.account_id': 1, 'entry.at': 1, _id: 1 })
recordSchema.index({ 'entry.subject': 1, _id: 1 })
recordSchema.index({ 'entry.type': 1, _id: 1 })
// Sparse: only erased records have it here.
recordSchema.index({ subject_sha256: 1 }, { sparse: true })

/** What an erased record loses; the hash of it stays. */
const CONTENTS = Object.fromEntries(
  ['type', 'at', 'actor', 'account_id', 'subject', 'detail']
    .map((name) => `entry.${name}`)
    .concat('salt')
    .map((path) => [path, 1 as const]),
)

/** Ids of records: a foreign document has another kind of id, and an id too large for a successor must not become the head. */
const NUMBERED = { $gte: 1, $lt: Number.MAX_SAFE_INTEGER }

/** Why such a document is refused as the head: a record linked to it would hide that it was put there from outside. */
const NO_HEAD = 'the last document of the audit trail is not a record; run: countersign audit check'

/** The audit trail on mongoose; its documents are inserted and read; only `erase` changes any. */
export function createAuditTrail(connection: StoreConnection): AuditTrail {
  const model = connection.model<RecordDocument>('AuditRecord', recordSchema, 'audit_log')
  const collection = connection.collection<RecordDocument>(model.collection.name)
  const added = connection.collection<{ _id: number }>(model.collection.name)
  const find: Find = async (filter, sort, limit) => {
    // One batch: the default of 101 would take two commands.
    const options = { sort, limit, batchSize: limit + 1 }
    return (await collection.find(filter, options).toArray()).map(toRecord)
  }
  return {
    async head() {
      const newest = collection.find({ _id: NUMBERED }).sort({ _id: -1 }).limit(1)
      const [last] = await newest.toArray()
      const head = last && toRecord(last)
      if (head !== undefined && !/^[0-9a-f]{64}$/.test(head.hash)) throw new Error(NO_HEAD)
      return head
    },
    async known(eids) {
      const wanted = { 'entry.eid': { $in: [...eids] } }
      const projection = { _id: 0, 'entry.eid': 1 }
      const found = await collection.find(wanted, { projection }).toArray()
      return new Set(found.flatMap(({ entry }) => entry?.eid ?? []))
    },
    async insert(records) {
      if (records.length === 0) return 0
      try {
        await added.insertMany(records.map(toDocument), { ordered: true })
        return records.length
      } catch (error) {
        if (error instanceof mongo.MongoBulkWriteError && isDuplicateKey(error)) return error.insertedCount
        throw error
      }
    },
    async erase(records) {
      if (records.length === 0) return
      // Its random id stays: another process's relay may still hold the entry, and would append it again.
      const writes = records.map(({ seq: _id, ...kept }) => {
        const update = { $unset: CONTENTS, $set: hashesIn(kept) }
        return { updateOne: { filter: { _id }, update } }
      })
      await collection.bulkWrite(writes, { ordered: false })
    },
    list: createList(find),
    async findErased(subject_sha256) {
      const [found] = await find(hashesIn({ subject_sha256 }), { _id: 1 }, 1)
      return found
    },
    scan: (from, limit) => find({ _id: { $gte: from } }, { _id: 1 }, limit),
  }
}

type Find = (filter: mongo.Filter<RecordDocument>, sort: mongo.Sort, limit: number) => Promise<AuditRecord[]>

/** Reads the pages shown to people. */
function createList(find: Find): AuditTrail['list'] {
  return async ({ account_id, type, subject, from, to, before, limit }) => {
    const subjects = typeof subject === 'object' ? { $in: [...subject] } : subject
    const about = given({ 'entry.account_id': account_id, 'entry.type': type, 'entry.subject': subjects })
    if (!isByTime(given({ from, to }))) {
      const _id = { ...NUMBERED, ...(before === undefined ? {} : { $lt: before.seq }) }
      return find({ ...about, _id }, { _id: -1 }, limit)
    }
    const times = during('entry.at', from, to, before?.at)
    const past = before?.at === undefined ? {} : beyond('$lt', 'entry.at', before.at, before.seq)
    return find({ ...about, ...times, _id: NUMBERED, ...past }, { 'entry.at': -1, _id: -1 }, limit)
  }
}

/** Makes the document of a record that was linked to the trail just now. */
function toDocument({ seq, entry, ...hashes }: AuditRecord): { _id: number } {
  return { _id: seq, ...given({ entry }), ...hashesIn(hashes) }
}

function hashesIn(hashes: Record<string, string>): Record<string, mongo.Binary> {
  const bytes = Object.entries(hashes).map(([name, hex]) => [name, new mongo.Binary(Buffer.from(hex, 'hex'))])
  return Object.fromEntries(bytes)
}

/** Keeps unknown fields and foreign values: a check of the trail must see them. */
export function toRecord({ _id, entry, ...rest }: RecordDocument): AuditRecord {
  // Of an erased entry only the id is left.
  const isErased = typeof entry === 'object' && entry !== null && Object.keys(entry).join() === 'eid'
  const record: AuditRecord = { seq: _id, ...(entry === undefined || isErased ? {} : { entry }), ...rest }
  for (const name of HASHES) {
    const value: unknown = record[name]
    if (value instanceof mongo.Binary && value.sub_type === 0 && value.position === 32)
      record[name] = value.toString('hex')
  }
  return record
}
