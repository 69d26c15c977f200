import { Schema } from 'mongoose'
import type { LinkedIdentity } from '../domain/chat.ts'
import type { User } from '../domain/user.ts'
import { STRICT_SCHEMA } from './connect.ts'
import { date, flag, number, part, text } from './fields.ts'
import { addOutbox, type OutboxToken } from './outbox.ts'

/** A person as stored: each chat identity carries its key, for the unique index. */
export type UserDocument = Omit<User, 'id' | 'chat'> & {
  _id: string
  chat: (LinkedIdentity & { key: string })[]
} & OutboxToken

const passkeyFields = new Schema(
  {
    id: text,
    credential_id: text,
    public_key: text,
    algorithm: number,
    name: text,
    counter: number,
    transports: { type: [String], required: true },
    aaguid: String,
    attestation: String,
    attested: Boolean,
    backup_eligible: flag,
    synced: flag,
    created_at: date,
    last_used_at: { type: Date, default: null },
    suspended_at: { type: Date, default: null },
  },
  part,
)

const totpFields = new Schema(
  {
    sealed_seed: text,
    confirmed_at: date,
    last_step: number,
    failures: number,
    locked_until: { type: Date, default: null },
    locks: number,
    disabled_at: { type: Date, default: null },
  },
  part,
)

const totpPendingFields = new Schema(
  {
    sealed_seed: text,
    expires_at: date,
    tries: number,
  },
  part,
)

const deviceFields = new Schema({ hash: text, created_at: date }, part)

const identityFields = new Schema(
  {
    key: text,
    platform: text,
    tenant: text,
    user: text,
    linked_at: date,
    shown_as: new Schema({ person: text, workspace: text }, part),
  },
  part,
)

const delegateFields = new Schema(
  {
    user_id: text,
    starts_at: date,
    ends_at: date,
  },
  part,
)

/** People (`domain/user.ts`). The unique indexes guarantee one person per address, one holder per
 * credential and per chat identity, and one founder. */
export const userSchema = new Schema<UserDocument>(
  {
    _id: text,
    email: text,
    name: text,
    account_id: text,
    home_account_id: String,
    invited_by_account: String,
    delegate: delegateFields,
    approver: text,
    user_handle: text,
    default_ttl_seconds: number,
    passkeys: { type: [passkeyFields], required: true },
    totp: totpFields,
    totp_pending: totpPendingFields,
    backup_codes: { type: [String], required: true },
    devices: { type: [deviceFields], required: true },
    factor_epoch: Number,
    chat: { type: [identityFields], required: true },
    created_at: date,
    enrolled_at: { type: Date, default: null },
    no_browsers: Boolean,
    founder: Boolean,
    version: number,
  },
  STRICT_SCHEMA,
)
userSchema.index({ email: 1 }, { unique: true })
userSchema.index({ account_id: 1 })
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
