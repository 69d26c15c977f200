import mongoose, { Schema } from 'mongoose'
import { type Account, type AccountChannel, hasChannel } from '../../domain/account.ts'
import type { AuditEntry } from '../../domain/audit.ts'
import type { ChatChannel } from '../../domain/chat.ts'
import { type ChatPlace, type ChatTrouble, MOST_TROUBLES } from '../../domain/chat-trouble.ts'
import type { OutboxEvent } from '../../domain/event.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { unlessTaken } from '../mongo/failures.ts'
import { date, neededPart, number, part, text } from '../mongo/fields.ts'
import { mergeNewest } from '../mongo/filters.ts'
import { addOutbox, noWake, type OutboxToken, type Wake, withOutbox } from '../mongo/outbox.ts'
import { createLookup } from '../mongo/shared-commands.ts'
import { createWriter } from '../mongo/writer.ts'

const { trusted } = mongoose

type AccountDocument = Omit<Account, 'id'> & {
  _id: string
  audit?: AuditEntry[]
  outbox?: OutboxEvent[]
} & OutboxToken

const accountSchema = new Schema<AccountDocument>(
  {
    _id: text,
    owner_id: text,
    name: text,
    policy: neededPart,
    members: neededPart,
    channels: neededPart,
    chat_troubles: part,
    names_in_channels: Boolean,
    volumes: part,
    reject_reasons: { type: [String], default: undefined },
    monthly_quota: { type: Number, required: true, min: 0 },
    created_at: date,
    no_webhooks: Boolean,
    retention_days: Number,
    erased_until: Date,
    version: number,
    outbox: part,
  },
  STRICT_SCHEMA,
)
accountSchema.index({ owner_id: 1 }, { unique: true })
accountSchema.index(
  { 'members.user_id': 1 },
  { partialFilterExpression: { 'members.user_id': { $exists: true } } },
)
accountSchema.index(
  { 'chat_troubles.since': 1 },
  { partialFilterExpression: { 'chat_troubles.since': { $exists: true } } },
)
accountSchema.index(
  { 'channels.tenant': 1 },
  { partialFilterExpression: { 'channels.tenant': { $exists: true } } },
)
addOutbox(accountSchema)

type Writer = ReturnType<typeof createWriter<AccountDocument, Account>>

/** Accounts on mongoose. */
export function createAccountStore(connection: StoreConnection, wake: Wake = noWake) {
  const model = connection.model<AccountDocument>('Account', accountSchema, 'accounts')
  const writer = createWriter(model, wake, fromDocument)
  const lookup = createLookup(model)
  const find = async (id: string): Promise<Account | undefined> => {
    const document = await lookup(id)
    return document && fromDocument(document)
  }
  return {
    async insert({ id, ...rest }: Account): Promise<void> {
      await model.create({ _id: id, ...rest })
    },
    /** Stores the account, unless it is there. */
    async insertNew({ id, ...rest }: Account): Promise<void> {
      await unlessTaken(() => model.create({ _id: id, ...rest }))
    },
    /** Notes that the account may have webhooks. Call it before storing one: every later request then looks for webhooks. */
    async willHaveWebhook(id: string): Promise<void> {
      await model.updateOne({ _id: id, no_webhooks: true }, { $unset: { no_webhooks: 1 } })
    },
    find,
    /** Returns all accounts, or those that keep their requests for a time of their own. */
    withRetention: (own: boolean) => read(model, own ? { retention_days: trusted({ $gt: 0 }) } : {}),
    /** Notes until when all requests made in the account are erased; never an earlier time than before. */
    async noteErased(id: string, until: Date): Promise<void> {
      await model.updateOne({ _id: id }, { $max: { erased_until: until } })
    },
    /** Returns the account this person owns and those in which they are a member or invited, oldest first. */
    async ofPerson(userId: string): Promise<Account[]> {
      // Two reads, because each condition has an index and their `$or` has none. An account never changes its owner.
      const mine = [{ owner_id: userId }, { 'members.user_id': userId }]
      const reads = await Promise.all(mine.map((part) => read(model, part)))
      return mergeNewest(reads, Number.MAX_SAFE_INTEGER).reverse()
    },
    /** Replaces the given fields if the account still has that version. @returns undefined when it has not: read it again. */
    async change(
      id: string,
      version: number,
      fields: Partial<
        Pick<
          Account,
          | 'name'
          | 'policy'
          | 'members'
          | 'names_in_channels'
          | 'reject_reasons'
          | 'volumes'
          | 'monthly_quota'
          | 'retention_days'
        >
      >,
      audit: AuditEntry[],
    ): Promise<Account | undefined> {
      const update = withOutbox({ $set: { ...fields, version: version + 1 } }, audit)
      return writer.change({ _id: id, version }, update)
    },
    ...channels(model, find, writer),
    ...troubles(model, writer),
  }
}

function channels(
  model: mongoose.Model<AccountDocument>,
  find: (id: string) => Promise<Account | undefined>,
  writer: Writer,
) {
  return {
    /** Adds a channel and its audit entry, unless the account has the channel already or has `most` channels. */
    async addChannel(
      id: string,
      channel: AccountChannel,
      most: number,
      audit: AuditEntry,
    ): Promise<'added' | 'known' | 'full'> {
      const { platform, tenant, channel: name } = channel
      const free = {
        _id: id,
        channels: trusted({ $not: { $elemMatch: { platform, tenant, channel: name } } }),
        [`channels.${most - 1}`]: trusted({ $exists: false }),
      }
      const added = await writer.update(free, withOutbox({ $push: { channels: channel } }, [audit]))
      if (added) return 'added'
      return hasChannel(await find(id), channel) ? 'known' : 'full'
    },
    /** Returns the accounts that have a channel in that workspace. */
    withChannels: (tenant: string) => read(model, { 'channels.tenant': tenant }),
    /** Removes a channel and its reported trouble. @returns false when the account does not have the channel. */
    removeChannel(
      id: string,
      { platform, tenant, channel }: ChatChannel,
      audit: AuditEntry,
    ): Promise<boolean> {
      const same = { platform, tenant, channel }
      const holding = { _id: id, channels: trusted({ $elemMatch: same }) }
      return writer.update(holding, withOutbox({ $pull: { channels: same, chat_troubles: same } }, [audit]))
    },
  }
}

/** The audit entry and the webhook event that report a change. */
interface Told {
  audit: AuditEntry
  event: OutboxEvent
}

function troubles(model: mongoose.Model<AccountDocument>, writer: Writer) {
  return {
    /** Notes a trouble. @returns false if the place has one, its channel is not the account's (any more), or the list is full. */
    beginTrouble(id: string, trouble: ChatTrouble, { audit, event }: Told): Promise<boolean> {
      const place = placeOf(trouble)
      const held = place.channel === null ? {} : { channels: trusted({ $elemMatch: place }) }
      const hasRoom = { [`chat_troubles.${MOST_TROUBLES - 1}`]: trusted({ $exists: false }) }
      const free = { _id: id, ...held, chat_troubles: trusted({ $not: { $elemMatch: place } }), ...hasRoom }
      return writer.update(free, withOutbox({ $push: { chat_troubles: trouble } }, [audit], [event]))
    },
    /** Ends a trouble; without `told`, no audit entry or event is written. @returns false when it had ended already. */
    endTrouble(id: string, ended: ChatPlace, told?: Told): Promise<boolean> {
      const place = placeOf(ended)
      const holding = { _id: id, chat_troubles: trusted({ $elemMatch: place }) }
      const pull = { $pull: { chat_troubles: place } }
      return writer.update(holding, told === undefined ? pull : withOutbox(pull, [told.audit], [told.event]))
    },
    /** Returns the accounts that have a workspace or channel in trouble. */
    inTrouble: () => read(model, { 'chat_troubles.since': trusted({ $exists: true }) }),
  }
}

/** Turns a place into a filter. The trouble of a whole workspace has no channel. */
function placeOf({ platform, tenant, channel }: ChatPlace) {
  return { platform, tenant, channel: channel ?? null }
}

async function read(model: mongoose.Model<AccountDocument>, filter: object): Promise<Account[]> {
  return (await model.find(filter).lean<AccountDocument[]>()).map(fromDocument)
}

function fromDocument(document: AccountDocument): Account {
  const { _id, audit: _audit, outbox: _outbox, outbox_token: _token, ...account } = document
  return { id: _id, ...account }
}
