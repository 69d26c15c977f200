import { Schema } from 'mongoose'
import type { Bootstrap } from '../domain/bootstrap.ts'
import { auditFields, outboxFields } from './audit-fields.ts'
import { STRICT_SCHEMA } from './connect.ts'
import { evidenceFields } from './request-schema.ts'
import { carryTraces, type Relayed } from './trace.ts'

export type BootstrapDocument = Omit<Bootstrap, 'id'> & { _id: string } & Relayed

const part = { _id: false, strict: 'throw' } as const
const text = { type: String, required: true } as const
const date = { type: Date, required: true } as const
const number = { type: Number, required: true } as const

const consentFields = new Schema(
  {
    decision: text,
    method: text,
    at: date,
    user_id: text,
    intent_json: text,
    evidence: { type: evidenceFields, required: true },
  },
  part,
)

/** Collection `bootstraps`. Neither the `bootstrap_id` nor a key is ever in it, nor an e-mail address. */
export const bootstrapSchema = new Schema<BootstrapDocument>(
  {
    _id: text,
    version: number,
    secret_hash: text,
    account_id: String,
    slot: String,
    status: text,
    client_name: text,
    code: text,
    scopes: { type: [String], required: true },
    code_challenge: String,
    requester: {
      type: new Schema({ address: text, user_agent: { type: String, default: '' } }, part),
      required: true,
    },
    wrong_codes: number,
    created_at: date,
    expires_at: date,
    consent: consentFields,
    key_id: String,
    collect_by: Date,
    collected: new Schema({ at: date, address: String }, part),
    polled_at: Date,
    outbox: { type: [outboxFields], required: true },
    audit: { type: [auditFields], required: true },
  },
  STRICT_SCHEMA,
)
bootstrapSchema.index({ secret_hash: 1 }, { unique: true })
// Unique: whatever comes at once, no e-mail address has more requests waiting than slots.
bootstrapSchema.index({ slot: 1 }, { unique: true, partialFilterExpression: { slot: { $exists: true } } })
bootstrapSchema.index({ status: 1, expires_at: 1 })
bootstrapSchema.index(
  { account_id: 1, status: 1 },
  { partialFilterExpression: { account_id: { $exists: true } } },
)
carryTraces(bootstrapSchema)
