import mongoose, { Schema } from 'mongoose'
import type { AuditEntry } from '../domain/audit.ts'
import type { TraceSource } from '../flow/delivery-ports.ts'
import type { AuditLog } from '../flow/ports.ts'
import { auditFields } from './audit-fields.ts'
import { isDuplicateKey, STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { carryTraces, createTraceSource, type Nudge, noNudge, type Relayed, tokenOf } from './trace.ts'

type InboxDocument = { _id: string; audit: AuditEntry[] } & Relayed

const inboxSchema = new Schema<InboxDocument>(
  { _id: { type: String, required: true }, audit: { type: [auditFields], required: true } },
  STRICT_SCHEMA,
)
carryTraces(inboxSchema)

/** Entries whose change has no document of its own wait here until they are in the trail, then they are gone. */
export function createAuditInbox(connection: StoreConnection, nudge: Nudge = noNudge): AuditLog {
  const model = connection.model<InboxDocument>('AuditInbox', inboxSchema, 'audit_inbox')
  return {
    async append(...audit) {
      const [first] = audit
      if (first === undefined) return
      try {
        await model.create({ _id: first.eid, audit, ...tokenOf({ audit }) })
      } catch (error) {
        // The same batch, written by an attempt that did not hear back.
        if (!isDuplicateKey(error)) throw error
      }
      nudge()
    },
  }
}

/** The inbox for the relay; the model must exist. */
export function inboxSource(connection: StoreConnection): TraceSource {
  return {
    ...createTraceSource<InboxDocument>(connection, 'AuditInbox'),
    async settle(traces) {
      const ids = mongoose.trusted({ $in: traces.map(({ id }) => id) })
      await connection.model<InboxDocument>('AuditInbox').deleteMany({ _id: ids })
    },
  }
}
