import { Schema } from 'mongoose'
import type { AuditEntry } from '../../domain/audit.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { text } from '../mongo/fields.ts'
import { addOutbox, noWake, type OutboxToken, outboxToken, type Wake } from '../mongo/outbox.ts'
import { createInserter } from '../mongo/shared-commands.ts'

type InboxDocument = { _id: string; audit: AuditEntry[] } & OutboxToken

const inboxSchema = new Schema<InboxDocument>({ _id: text }, STRICT_SCHEMA)
addOutbox(inboxSchema)

export type AuditInbox = ReturnType<typeof createAuditInbox>

/**
 * Holds audit entries of changes without a document of their own (other entries travel inside their document) until they are
 * in the trail; then they are deleted.
 */
export function createAuditInbox(connection: StoreConnection, wake: Wake = noWake) {
  const model = connection.model<InboxDocument>('AuditInbox', inboxSchema, 'audit_inbox')
  const insert = createInserter(model)
  return {
    /** Appends the entries in one write; repeating the call with the same entries changes nothing. */
    async append(...audit: AuditEntry[]): Promise<void> {
      const [first] = audit
      if (first === undefined) return
      // If the id is taken, an earlier attempt wrote this batch but never got the answer.
      await insert({ _id: first.eid, audit, ...outboxToken({ audit }) })
      wake({ outboxOf: 'audit_inbox' })
    },
  }
}
