import mongoose, { Schema } from 'mongoose'
import { type Account, hasChannel } from '../domain/account.ts'
import type { AuditEntry } from '../domain/audit.ts'
import { DEFAULT_POLICY, type Policy } from '../domain/policy.ts'
import type { AccountStore } from '../flow/ports.ts'
import { auditFields } from './audit-fields.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { carryTraces, type Nudge, noNudge, type Relayed, traced } from './trace.ts'

const { trusted } = mongoose

/** These came later than the first accounts. */
type StoredPolicy = Omit<Policy, 'reminders' | 'high_impact'> &
  Partial<Pick<Policy, 'reminders' | 'high_impact'>>
type AccountDocument = Omit<Account, 'id' | 'policy' | 'channels' | 'members' | 'version'> & {
  _id: string
  policy: StoredPolicy
  /** These came later than the first accounts. */
  channels?: Account['channels']
  members?: Account['members']
  version?: number
  audit?: AuditEntry[]
} & Relayed

const policyFields = new Schema(
  {
    approvers: { type: [String], required: true },
    quorum: { type: Number, required: true, min: 1 },
    passkey_only: { type: Boolean, required: true },
    high_impact: Boolean,
    reminders: { type: [Number], default: undefined },
  },
  { _id: false, strict: 'throw' },
)

const memberFields = new Schema(
  {
    user_id: { type: String, required: true },
    role: { type: String, required: true },
    state: { type: String, required: true },
    invited_at: { type: Date, required: true },
    joined_at: { type: Date, default: null },
    name: String,
  },
  { _id: false, strict: 'throw' },
)

const channelFields = new Schema(
  {
    platform: { type: String, required: true },
    tenant: { type: String, required: true },
    channel: { type: String, required: true },
    name: String,
    workspace: String,
  },
  { _id: false, strict: 'throw' },
)

const accountSchema = new Schema<AccountDocument>(
  {
    _id: { type: String, required: true },
    owner_id: { type: String, required: true },
    name: { type: String, required: true },
    policy: { type: policyFields, required: true },
    members: { type: [memberFields], default: undefined },
    channels: { type: [channelFields], default: undefined },
    monthly_quota: { type: Number, required: true, min: 0 },
    created_at: { type: Date, required: true },
    version: Number,
    audit: { type: [auditFields], default: undefined },
  },
  STRICT_SCHEMA,
)
accountSchema.index({ owner_id: 1 }, { unique: true })
accountSchema.index(
  { 'members.user_id': 1 },
  { partialFilterExpression: { 'members.user_id': { $exists: true } } },
)
carryTraces(accountSchema)

/** Accounts on mongoose. */
export function createAccountStore(connection: StoreConnection, nudge: Nudge = noNudge): AccountStore {
  const model = connection.model<AccountDocument>('Account', accountSchema, 'accounts')
  const find = async (accountId: string): Promise<Account | undefined> => {
    const document = await model.findById(accountId).lean<AccountDocument>()
    return document === null ? undefined : fromDocument(document)
  }
  return {
    async insert({ id, ...rest }) {
      await model.create({ _id: id, ...rest })
    },
    find,
    async ofPerson(userId) {
      const mine = { $or: [{ owner_id: userId }, { 'members.user_id': userId }] }
      const found = await model.find(mine).sort({ created_at: 1, _id: 1 }).lean<AccountDocument[]>()
      return found.map(fromDocument)
    },
    async change(id, version, fields, audit) {
      // The first accounts have no version.
      const unmoved = version === 0 ? trusted({ $in: [0, null] }) : version
      const update = traced({ $set: { ...fields, version: version + 1 } }, audit)
      const query = model.findOneAndUpdate({ _id: id, version: unmoved }, update, { returnDocument: 'after' })
      const changed = await query.lean<AccountDocument>()
      if (changed === null) return undefined
      nudge()
      return fromDocument(changed)
    },
    async addChannel(id, channel, most, audit) {
      const { platform, tenant, channel: name } = channel
      const free = {
        _id: id,
        channels: trusted({ $not: { $elemMatch: { platform, tenant, channel: name } } }),
        [`channels.${most - 1}`]: trusted({ $exists: false }),
      }
      const added = await model.updateOne(free, traced({ $push: { channels: channel } }, [audit]))
      if (added.modifiedCount === 1) {
        nudge()
        return 'added'
      }
      return hasChannel(await find(id), channel) ? 'known' : 'full'
    },
    async removeChannel(id, { platform, tenant, channel }, audit) {
      const same = { platform, tenant, channel }
      const holding = { _id: id, channels: trusted({ $elemMatch: same }) }
      const removed = await model.updateOne(holding, traced({ $pull: { channels: same } }, [audit]))
      if (removed.modifiedCount === 1) nudge()
      return removed.modifiedCount === 1
    },
  }
}

function fromDocument(document: AccountDocument): Account {
  const {
    _id,
    policy,
    channels = [],
    members = [],
    version = 0,
    audit: _audit,
    relay: _relay,
    ...rest
  } = document
  return { id: _id, ...rest, channels, members, version, policy: { ...DEFAULT_POLICY, ...policy } }
}
