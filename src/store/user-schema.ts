import { Schema } from 'mongoose'
import type { LinkedIdentity } from '../domain/chat.ts'
import type { User } from '../domain/user.ts'
import { STRICT_SCHEMA } from './connect.ts'
import { auditFields } from './fields.ts'
import { addOutbox, type OutboxToken } from './outbox.ts'

/** `chat` came later than the first people. Each identity carries its key, for the unique index. */
export type UserDocument = Omit<User, 'id' | 'chat'> & {
  _id: string
  chat?: (LinkedIdentity & { key: string })[]
} & OutboxToken

const PART = { _id: false, id: false, strict: 'throw', minimize: false } as const

const passkeyFields = new Schema(
  {
    id: { type: String, required: true },
    credential_id: { type: String, required: true },
    public_key: { type: String, required: true },
    algorithm: { type: Number, required: true },
    name: { type: String, required: true },
    counter: { type: Number, required: true },
    transports: { type: [String], required: true },
    aaguid: String,
    attestation: String,
    attested: Boolean,
    backup_eligible: { type: Boolean, required: true },
    synced: { type: Boolean, required: true },
    created_at: { type: Date, required: true },
    last_used_at: { type: Date, default: null },
    suspended_at: { type: Date, default: null },
  },
  PART,
)

const totpFields = new Schema(
  {
    sealed_seed: { type: String, required: true },
    confirmed_at: { type: Date, required: true },
    last_step: { type: Number, required: true },
    failures: { type: Number, required: true },
    locked_until: { type: Date, default: null },
    locks: { type: Number, required: true },
    disabled_at: { type: Date, default: null },
  },
  PART,
)

const totpPendingFields = new Schema(
  {
    sealed_seed: { type: String, required: true },
    expires_at: { type: Date, required: true },
    tries: { type: Number, required: true },
  },
  PART,
)

const deviceFields = new Schema(
  { hash: { type: String, required: true }, created_at: { type: Date, required: true } },
  PART,
)

const identityFields = new Schema(
  {
    key: { type: String, required: true },
    platform: { type: String, required: true },
    tenant: { type: String, required: true },
    user: { type: String, required: true },
    linked_at: { type: Date, required: true },
    shown_as: new Schema(
      { person: { type: String, required: true }, workspace: { type: String, required: true } },
      PART,
    ),
  },
  PART,
)

const delegateFields = new Schema(
  {
    user_id: { type: String, required: true },
    starts_at: { type: Date, required: true },
    ends_at: { type: Date, required: true },
  },
  PART,
)

/** People (`domain/user.ts`). The unique indexes carry promises: one person per address, one holder per
 * credential and per chat identity, one founder. */
export const userSchema = new Schema<UserDocument>(
  {
    _id: { type: String, required: true },
    email: { type: String, required: true },
    name: { type: String, required: true },
    account_id: { type: String, required: true },
    home_account_id: String,
    invited_by_account: String,
    delegate: delegateFields,
    approver: { type: String, required: true },
    user_handle: { type: String, required: true },
    default_ttl_seconds: { type: Number, required: true },
    passkeys: { type: [passkeyFields], required: true },
    totp: totpFields,
    totp_pending: totpPendingFields,
    backup_codes: { type: [String], required: true },
    devices: { type: [deviceFields], required: true },
    factor_epoch: Number,
    chat: { type: [identityFields], default: undefined },
    created_at: { type: Date, required: true },
    enrolled_at: { type: Date, default: null },
    no_browsers: Boolean,
    founder: Boolean,
    version: { type: Number, required: true },
    audit: { type: [auditFields], required: true },
  },
  STRICT_SCHEMA,
)
userSchema.index({ email: 1 }, { unique: true })
userSchema.index(
  { 'delegate.user_id': 1 },
  { partialFilterExpression: { 'delegate.user_id': { $exists: true } } },
)
userSchema.index({ approver: 1 }, { unique: true })
userSchema.index({ user_handle: 1 }, { unique: true })
// Partial: people without a passkey would otherwise collide on the missing value.
userSchema.index(
  { 'passkeys.credential_id': 1 },
  { unique: true, partialFilterExpression: { 'passkeys.credential_id': { $exists: true } } },
)
userSchema.index(
  { 'chat.key': 1 },
  { unique: true, partialFilterExpression: { 'chat.key': { $exists: true } } },
)
userSchema.index({ founder: 1 }, { unique: true, partialFilterExpression: { founder: { $exists: true } } })
userSchema.index({ 'devices.hash': 1 })
addOutbox(userSchema)
