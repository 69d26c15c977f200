import mongoose, { Schema } from 'mongoose'
import type { ChatPlatform } from '../../domain/chat.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { unlessTaken } from '../mongo/failures.ts'
import { date, text } from '../mongo/fields.ts'
import { withoutId } from '../mongo/record.ts'

const { trusted } = mongoose

/** A workspace in which the app is installed. */
export interface ChatInstallation {
  platform: ChatPlatform
  /** Slack `team_id` (the enterprise id for an organisation-wide installation), Teams `tid`. */
  tenant: string
  workspace_name: string
  /** Accounts whose owners installed the app here; their cards go to this workspace. */
  account_ids: string[]
  /** The platform's tokens, sealed; only the adapter reads them. */
  sealed: string
  installed_at: Date
}

type InstallationDocument = ChatInstallation & {
  /** `slack:T024BE7LD` */
  _id: string
}

const installationSchema = new Schema<InstallationDocument>(
  {
    _id: text,
    platform: { type: String, enum: ['slack', 'teams'], required: true },
    tenant: text,
    workspace_name: text,
    account_ids: { type: [String], required: true },
    sealed: text,
    installed_at: date,
  },
  STRICT_SCHEMA,
)
installationSchema.index({ platform: 1, account_ids: 1 })

/** Most accounts of one workspace: each gets an audit entry when the app is removed there. */
const MOST_ACCOUNTS = 500

export type ChatInstallationStore = ReturnType<typeof createChatInstallationStore>

/** Workspaces with the app, on mongoose: one document each, however many accounts installed it. */
export function createChatInstallationStore(connection: StoreConnection) {
  const model = connection.model<InstallationDocument>(
    'ChatInstallation',
    installationSchema,
    'chat_installations',
  )
  return {
    /** Inserts it, or replaces its name and tokens and adds the account. @returns false when `most` accounts have it already */
    async put(fresh: ChatInstallation, most = MOST_ACCOUNTS): Promise<boolean> {
      const { account_ids, ...rest } = fresh
      const _id = `${rest.platform}:${rest.tenant}`
      const added = { $set: rest, $addToSet: { account_ids: { $each: account_ids } } }
      const hasRoom = { [`account_ids.${most - 1}`]: trusted({ $exists: false }) }
      const known = { _id, $or: [{ account_ids: trusted({ $all: account_ids }) }, hasRoom] }
      const change = async () => (await model.updateOne(known, added)).matchedCount === 1
      // The last attempt is for an installation that was inserted in between.
      return (await change()) || (await unlessTaken(() => model.create({ _id, ...fresh }))) || change()
    },
    async find(platform: ChatPlatform, tenant: string): Promise<ChatInstallation | undefined> {
      return withoutId(await model.findById(`${platform}:${tenant}`).lean<InstallationDocument>())
    },
    async list(platform: ChatPlatform): Promise<ChatInstallation[]> {
      const found = await model.find({ platform }).sort({ _id: 1 }).lean<InstallationDocument[]>()
      return found.flatMap((document) => withoutId(document) ?? [])
    },
    /** Returns the account's installations, ordered by tenant. */
    async ofAccount(platform: ChatPlatform, accountId: string): Promise<ChatInstallation[]> {
      const query = model.find({ platform, account_ids: accountId }).sort({ _id: 1 })
      return (await query.lean<InstallationDocument[]>()).flatMap((document) => withoutId(document) ?? [])
    },
    /**
     * Removes the account from an installation; one that no account has any more is deleted, with its tokens.
     * @returns the installation before the change; undefined when the account did not have it
     */
    async leave(
      platform: ChatPlatform,
      tenant: string,
      accountId: string,
    ): Promise<ChatInstallation | undefined> {
      const _id = `${platform}:${tenant}`
      // In one write with the tokens: a process that dies between two would leave them to no account, which cannot leave again.
      const last = model.findOneAndDelete({ _id, account_ids: [accountId] })
      const removed = withoutId(await last.lean<InstallationDocument>())
      if (removed !== undefined) return removed
      const change = { $pull: { account_ids: accountId } }
      const before = await model
        .findOneAndUpdate({ _id, account_ids: accountId }, change)
        .lean<InstallationDocument>()
      // An owner may have installed the app again since; then an account has it and it stays.
      await model.deleteOne({ _id, account_ids: trusted({ $size: 0 }) })
      return withoutId(before)
    },
    /** Removes an installation, unless it was installed again since. @returns the removed one */
    async remove({
      platform,
      tenant,
      installed_at,
    }: Pick<ChatInstallation, 'platform' | 'tenant' | 'installed_at'>): Promise<
      ChatInstallation | undefined
    > {
      const known = { _id: `${platform}:${tenant}`, installed_at }
      return withoutId(await model.findOneAndDelete(known).lean<InstallationDocument>())
    },
  }
}
