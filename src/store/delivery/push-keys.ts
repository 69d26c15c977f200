import { Schema } from 'mongoose'
import type { AuditEntry } from '../../domain/audit.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { date, text } from '../mongo/fields.ts'
import { addOutbox, noWake, type OutboxToken, type Wake } from '../mongo/outbox.ts'
import { documentOf, recordOf } from '../mongo/record.ts'
import { createWriter } from '../mongo/writer.ts'

/** The key pair at rest. There is only ever one: every subscription is bound to it. */
export interface SealedPushKey {
  public_key: string
  sealed_private_key: string
  created_at: Date
  audit: AuditEntry[]
}

type PushKeyDocument = SealedPushKey & { _id: string } & OutboxToken

/** The id of the only document: browsers are bound to the key they subscribed with, so there is never a second key. */
const ONLY = 'vapid'

const pushKeySchema = new Schema<PushKeyDocument>(
  {
    _id: text,
    public_key: text,
    sealed_private_key: text,
    created_at: date,
  },
  STRICT_SCHEMA,
)
addOutbox(pushKeySchema)

export type PushKeyStore = ReturnType<typeof createPushKeyStore>

/** The VAPID key on mongoose. When two processes make one at once, the second finds the key of the first. */
export function createPushKeyStore(connection: StoreConnection, wake: Wake = noWake) {
  const model = connection.model<PushKeyDocument>('PushKey', pushKeySchema, 'push_keys')
  const { insertNew } = createWriter(model, wake, recordOf)
  return {
    async find(): Promise<SealedPushKey | undefined> {
      const found = await model.findById(ONLY).lean<PushKeyDocument>()
      if (found === null) return undefined
      const { _id, outbox_token: _token, ...key } = found
      return key
    },
    /** @returns false when there is a key already. */
    insert: (key: SealedPushKey) => insertNew(documentOf({ id: ONLY, ...key })),
  }
}
