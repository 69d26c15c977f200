import { Schema } from 'mongoose'
import type { Account } from '../domain/account.ts'
import { DEFAULT_POLICY, type Policy } from '../domain/policy.ts'
import type { AccountStore } from '../flow/ports.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'

/** `reminders` came later than the first accounts. */
type StoredPolicy = Omit<Policy, 'reminders'> & Partial<Pick<Policy, 'reminders'>>
type AccountDocument = Omit<Account, 'id' | 'policy' | 'channels'> & {
  _id: string
  policy: StoredPolicy
  /** Came later than the first accounts. */
  channels?: Account['channels']
}

const policyFields = new Schema(
  {
    approvers: { type: [String], required: true },
    quorum: { type: Number, required: true, min: 1 },
    passkey_only: { type: Boolean, required: true },
    reminders: { type: [Number], default: undefined },
  },
  { _id: false, strict: 'throw' },
)

const channelFields = new Schema(
  {
    platform: { type: String, required: true },
    tenant: { type: String, required: true },
    channel: { type: String, required: true },
  },
  { _id: false, strict: 'throw' },
)

const accountSchema = new Schema<AccountDocument>(
  {
    _id: { type: String, required: true },
    owner_id: { type: String, required: true },
    name: { type: String, required: true },
    policy: { type: policyFields, required: true },
    channels: { type: [channelFields], default: undefined },
    monthly_quota: { type: Number, required: true, min: 0 },
    created_at: { type: Date, required: true },
  },
  STRICT_SCHEMA,
)
accountSchema.index({ owner_id: 1 }, { unique: true })

/** Accounts on mongoose. */
export function createAccountStore(connection: StoreConnection): AccountStore {
  const model = connection.model<AccountDocument>('Account', accountSchema, 'accounts')
  return {
    async insert({ id, ...rest }) {
      await model.create({ _id: id, ...rest })
    },
    async find(accountId) {
      const document = await model.findById(accountId).lean<AccountDocument>()
      if (document === null) return undefined
      const { _id, policy, channels = [], ...rest } = document
      return { id: _id, ...rest, channels, policy: { ...DEFAULT_POLICY, ...policy } }
    },
  }
}
