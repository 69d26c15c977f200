import { Schema } from 'mongoose'
import type { SealedKey, SigningKeyStore } from '../flow/ports.ts'
import { auditFields } from './audit-fields.ts'
import { isDuplicateKey, STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { carryTraces, type Nudge, noNudge, type Relayed, tokenOf } from './trace.ts'

type SigningKeyDocument = Omit<SealedKey, 'kid'> & { _id: string } & Relayed

const text = { type: String, required: true } as const
const date = { type: Date, required: true } as const

const signingKeySchema = new Schema<SigningKeyDocument>(
  {
    _id: text,
    purpose: text,
    generation: { type: Number, required: true },
    public_key: text,
    sealed_seed: text,
    not_before: date,
    created_at: date,
    revoked_at: { type: Date, default: null },
    audit: { type: [auditFields], required: true },
  },
  STRICT_SCHEMA,
)
signingKeySchema.index({ purpose: 1, generation: 1 }, { unique: true })
carryTraces(signingKeySchema)

/** Signing keys on mongoose; the unique generation makes concurrent rotations yield one key. */
export function createSigningKeyStore(connection: StoreConnection, nudge: Nudge = noNudge): SigningKeyStore {
  const model = connection.model<SigningKeyDocument>('SigningKey', signingKeySchema, 'signing_keys')
  return {
    async all() {
      const found = await model.find({}).sort({ created_at: 1 }).lean<SigningKeyDocument[]>()
      return found.map(({ _id, relay: _relay, ...rest }) => ({ kid: _id, ...rest }))
    },
    async insert({ kid, ...rest }) {
      try {
        await model.create({ _id: kid, ...rest, ...tokenOf(rest) })
        nudge()
        return true
      } catch (error) {
        if (isDuplicateKey(error)) return false
        throw error
      }
    },
  }
}
