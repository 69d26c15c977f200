import { Schema } from 'mongoose'
import type { AuditEntry } from '../domain/audit.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { text } from './fields.ts'
import { addOutbox, noWake, type OutboxToken, outboxToken, type Wake } from './outbox.ts'
import { createInserter } from './shared-trips.ts'

type InboxDocument = { _id: string; audit: AuditEntry[] } & OutboxToken

const inboxSchema = new Schema<InboxDocument>({ _id: text }, STRICT_SCHEMA)
addOutbox(inboxSchema)

export type AuditLog = ReturnType<typeof createAuditInbox>

/**
 * Audit entries of changes that have no document of their own (the others travel inside their document) wait here until they
 * are in the trail, then they are gone.
 */
export function createAuditInbox(connection: StoreConnection, wake: Wake = noWake) {
  connection.model('AuditInbox', inboxSchema, 'audit_inbox')
  const insert = createInserter<InboxDocument>(connection, 'audit_inbox')
  return {
    /** One call is one write; calling again with the same entries writes nothing twice. */
    async append(...audit: AuditEntry[]): Promise<void> {
      const [first] = audit
      if (first === undefined) return
      // Taken: the same batch, written by an attempt that did not hear back.
      await insert({ _id: first.eid, audit, ...outboxToken({ audit }) })
      wake()
    },
  }
}
