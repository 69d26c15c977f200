import { Schema } from 'mongoose'
import type { LinkedIdentity } from '../../domain/chat.ts'
import type { User } from '../../domain/user.ts'
import { STRICT_SCHEMA } from '../mongo/connect.ts'
import { date, neededPart, number, part, text } from '../mongo/fields.ts'
import { addOutbox, type OutboxToken } from '../mongo/outbox.ts'

/** A person as stored: each chat identity carries its key, for the unique index. */
export type UserDocument = Omit<User, 'id' | 'chat'> & {
  _id: string
  chat: (LinkedIdentity & { key: string })[]
} & OutboxToken

/** People (`domain/user.ts`). The unique indexes guarantee one person per address, one holder per
 * credential and per chat identity, and one founder. */
export const userSchema = new Schema<UserDocument>(
  {
    _id: text,
    email: text,
    name: text,
    account_id: text,
    no_account: Boolean,
    home_account_id: String,
    invited_by_account: String,
    delegate: part,
    approver: text,
    user_handle: text,
    default_ttl_seconds: number,
    hearing: part,
    next_steps_hidden: Boolean,
    passkeys: neededPart,
    totp: part,
    totp_pending: part,
    backup_codes: { type: [String], required: true },
    devices: neededPart,
    recovery: part,
    factor_epoch: Number,
    chat: neededPart,
    created_at: date,
    enrolled_at: { type: Date, default: null },
    erasing: part,
    erased_at: Date,
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
