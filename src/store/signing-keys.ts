import mongoose, { Schema } from 'mongoose'
import type { AuditEntry } from '../domain/audit.ts'
import type { KeyPurpose } from '../signing/key-record.ts'
import { STRICT_SCHEMA, type StoreConnection } from './mongo/connect.ts'
import { date, number, text } from './mongo/fields.ts'
import { addOutbox, noWake, type OutboxToken, type Wake, withOutbox } from './mongo/outbox.ts'
import { documentOf, recordOf } from './mongo/record.ts'
import { createWriter } from './mongo/writer.ts'

/** A signing key at rest: its seed is sealed under the service's sealing key. */
export interface SealedKey {
  /** RFC 7638 thumbprint. */
  kid: string
  purpose: KeyPurpose
  /** 1, 2, 3 … per purpose; unique, so two rotations at once yield one key. */
  generation: number
  /** base64url of the raw 32 bytes. */
  public_key: string
  sealed_seed: string
  not_before: Date
  created_at: Date
  revoked_at: Date | null
  /** Settings of the service that made the key: fingerprints of its secrets, the host of its passkeys. */
  made_with: Readonly<Record<string, string>>
  audit: AuditEntry[]
}

type SigningKeyDocument = Omit<SealedKey, 'kid'> & { _id: string } & OutboxToken

const signingKeySchema = new Schema<SigningKeyDocument>(
  {
    _id: text,
    purpose: text,
    generation: number,
    public_key: text,
    sealed_seed: text,
    not_before: date,
    created_at: date,
    revoked_at: { type: Date, default: null },
    made_with: { type: Object, required: true },
  },
  STRICT_SCHEMA,
)
signingKeySchema.index({ purpose: 1, generation: 1 }, { unique: true })
addOutbox(signingKeySchema)

export type SigningKeyStore = ReturnType<typeof createSigningKeyStore>

/** Signing keys on mongoose; the unique generation makes concurrent rotations yield one key. */
export function createSigningKeyStore(connection: StoreConnection, wake: Wake = noWake) {
  const model = connection.model<SigningKeyDocument>('SigningKey', signingKeySchema, 'signing_keys')
  const writer = createWriter(model, wake, recordOf)
  return {
    /** Returns all keys, oldest first. */
    async all(): Promise<SealedKey[]> {
      const found = await model.find({}).sort({ created_at: 1 }).lean<SigningKeyDocument[]>()
      return found.map(({ _id, outbox_token: _token, ...rest }) => ({ kid: _id, ...rest }))
    },
    /** @returns false when that generation exists already. */
    insert: ({ kid, ...rest }: SealedKey) => writer.insertNew(documentOf({ id: kid, ...rest })),
    /** Revokes a key. @returns false when it is already revoked as of that time or an earlier one. */
    revoke(kid: string, revoked_at: Date, audit: AuditEntry): Promise<boolean> {
      const later = mongoose.trusted({ $not: { $lte: revoked_at } })
      return writer.update({ _id: kid, revoked_at: later }, withOutbox({ $set: { revoked_at } }, [audit]))
    },
  }
}
