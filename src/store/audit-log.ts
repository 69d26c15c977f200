import { Schema } from 'mongoose'
import type { AuditEntry } from '../domain/audit.ts'
import type { AuditLog } from '../flow/ports.ts'
import { auditFields } from './audit-fields.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'

interface AuditDocument {
  /** The entry's `eid`. */
  _id: string
  entry: AuditEntry
}

const auditSchema = new Schema<AuditDocument>(
  { _id: { type: String, required: true }, entry: { type: auditFields, required: true } },
  STRICT_SCHEMA,
)
auditSchema.index({ 'entry.account_id': 1, 'entry.at': -1 })

/** Audit entries whose change has no document of its own. */
export function createAuditLog(connection: StoreConnection): AuditLog {
  const model = connection.model<AuditDocument>('AuditEntry', auditSchema, 'audit_entries')
  return {
    async append(entry) {
      await model.create({ _id: entry.eid, entry })
    },
  }
}
