import mongoose, { Schema } from 'mongoose'
import type { ChatInstallation, ChatInstallationStore } from '../flow/chat-ports.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'

const { trusted } = mongoose

type InstallationDocument = ChatInstallation & {
  /** `slack:T024BE7LD` */
  _id: string
}

const installationSchema = new Schema<InstallationDocument>(
  {
    _id: { type: String, required: true },
    platform: { type: String, enum: ['slack', 'teams'], required: true },
    tenant: { type: String, required: true },
    workspace_name: { type: String, required: true },
    account_ids: { type: [String], required: true },
    sealed: { type: String, required: true },
    installed_at: { type: Date, required: true },
  },
  STRICT_SCHEMA,
)
installationSchema.index({ platform: 1, account_ids: 1 })

/** Workspaces with the app, on mongoose: one document each, whoever installed it. */
export function createChatInstallationStore(connection: StoreConnection): ChatInstallationStore {
  const model = connection.model<InstallationDocument>(
    'ChatInstallation',
    installationSchema,
    'chat_installations',
  )
  return {
    async put({ account_ids, ...rest }) {
      const change = { $set: rest, $addToSet: { account_ids: { $each: account_ids } } }
      await model.updateOne({ _id: `${rest.platform}:${rest.tenant}` }, change, { upsert: true })
    },
    async find(platform, tenant) {
      return present(await model.findById(`${platform}:${tenant}`).lean<InstallationDocument>())
    },
    async list(platform) {
      const found = await model.find({ platform }).sort({ _id: 1 }).lean<InstallationDocument[]>()
      return found.flatMap((document) => present(document) ?? [])
    },
    async tenantsOf(platform, accountId) {
      const found = await model
        .find({ platform, account_ids: accountId }, { tenant: 1 })
        .sort({ _id: 1 })
        .lean<InstallationDocument[]>()
      return found.map(({ tenant }) => tenant)
    },
    async ofAccount(platform, accountId) {
      const query = model.find({ platform, account_ids: accountId }).sort({ _id: 1 })
      return (await query.lean<InstallationDocument[]>()).flatMap((document) => present(document) ?? [])
    },
    async leave(platform, tenant, accountId) {
      const _id = `${platform}:${tenant}`
      const change = { $pull: { account_ids: accountId } }
      const before = await model
        .findOneAndUpdate({ _id, account_ids: accountId }, change)
        .lean<InstallationDocument>()
      // An owner may have installed it again since: then it is nobody's no more.
      await model.deleteOne({ _id, account_ids: trusted({ $size: 0 }) })
      return present(before)
    },
    async remove(platform, tenant) {
      return present(await model.findByIdAndDelete(`${platform}:${tenant}`).lean<InstallationDocument>())
    },
  }
}

function present(document: InstallationDocument | null): ChatInstallation | undefined {
  if (document === null) return undefined
  const { _id, ...installation } = document
  return installation
}
