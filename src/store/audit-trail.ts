import { Schema } from 'mongoose'
import type { AuditRecord } from '../domain/audit.ts'
import { given } from '../domain/given.ts'
import type { AuditTrail } from '../flow/ports.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { isDuplicateKey } from './failures.ts'
import { auditFields, number, text } from './fields.ts'
import { beyond, during } from './filters.ts'

type RecordDocument = Omit<AuditRecord, 'seq'> & { _id: number }

const recordSchema = new Schema<RecordDocument>(
  {
    _id: number,
    entry: auditFields,
    salt: String,
    content_sha256: text,
    hash: text,
  },
  STRICT_SCHEMA,
)
// Sparse: erased records have no entry, and none of them may stand in the way of another.
recordSchema.index({ 'entry.eid': 1 }, { unique: true, sparse: true })
recordSchema.index({ 'entry.account_id': 1, _id: -1 })
recordSchema.index({ 'entry.account_id': 1, 'entry.at': -1, _id: -1 })
recordSchema.index({ 'entry.subject': 1, _id: -1 })
recordSchema.index({ 'entry.type': 1, _id: -1 })

/** Foreign documents have other ids; a number so large that it has no successor must not become the head either. */
const NUMBERED = { $gte: 1, $lt: Number.MAX_SAFE_INTEGER }

/** Linking to it would hide that it was put there from outside. */
const NO_HEAD = 'the audit trail ends in a document that is no record; run: countersign audit check'

/** The audit trail on mongoose; its documents are inserted and read, never changed. */
export function createAuditTrail(connection: StoreConnection): AuditTrail {
  const model = connection.model<RecordDocument>('AuditRecord', recordSchema, 'audit_log')
  const collection = connection.collection<RecordDocument>(model.collection.name)
  return {
    async head() {
      const [last] = await collection.find({ _id: NUMBERED }).sort({ _id: -1 }).limit(1).toArray()
      if (last !== undefined && !/^[0-9a-f]{64}$/.test(String(last.hash))) throw new Error(NO_HEAD)
      return last && toRecord(last)
    },
    async known(eids) {
      const wanted = { 'entry.eid': { $in: [...eids] } }
      const found = await collection.find(wanted, { projection: { _id: 0, 'entry.eid': 1 } }).toArray()
      return new Set(found.flatMap(({ entry }) => entry?.eid ?? []))
    },
    async insert(records) {
      if (records.length === 0) return true
      try {
        await collection.insertMany(records.map(toDocument), { ordered: true })
        return true
      } catch (error) {
        if (isDuplicateKey(error)) return false
        throw error
      }
    },
    async list({ account_id, type, subject, before, limit }) {
      const filter = {
        ...given({ 'entry.account_id': account_id, 'entry.type': type, 'entry.subject': subject }),
        _id: { ...NUMBERED, ...(before === undefined ? {} : { $lt: before }) },
      }
      const found = await collection.find(filter).sort({ _id: -1 }).limit(limit).toArray()
      return found.map(toRecord)
    },
    async listByTime({ account_id, type, subject, from, to, before, limit }) {
      const filter = {
        'entry.account_id': account_id,
        ...given({ 'entry.type': type, 'entry.subject': subject }),
        ...during('entry.at', from, to, before?.at),
        _id: NUMBERED,
        ...(before === undefined ? {} : beyond('$lt', 'entry.at', before.at, before.seq)),
      }
      const latestFirst = { 'entry.at': -1, _id: -1 } as const
      return (await collection.find(filter).sort(latestFirst).limit(limit).toArray()).map(toRecord)
    },
    async scan(from, limit) {
      const found = await collection
        .find({ _id: { $gte: from } })
        .sort({ _id: 1 })
        .limit(limit)
        .toArray()
      return found.map(toRecord)
    },
  }
}

function toDocument({ seq, ...rest }: AuditRecord): RecordDocument {
  return { _id: seq, ...rest }
}

/** Whatever else a document holds stays visible: who checks the trail must see it. */
function toRecord({ _id, ...rest }: RecordDocument): AuditRecord {
  return { seq: _id, ...rest }
}
