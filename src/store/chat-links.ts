import { Schema } from 'mongoose'
import { type ChatLink, identityKey } from '../domain/chat.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { isDuplicateKey } from './failures.ts'
import { UNEXPIRED } from './filters.ts'

/** Kind and identity are its name: there is one open link of both. */
type ChatLinkDocument = Omit<ChatLink, 'id'> & { _id: string; link_id: string }

const platform = { type: String, enum: ['slack', 'teams'], required: true }
const chatLinkSchema = new Schema<ChatLinkDocument>(
  {
    _id: { type: String, required: true },
    link_id: { type: String, required: true },
    kind: { type: String, enum: ['link', 'browser', 'channel'], required: true },
    token_hash: { type: String, required: true },
    identity: new Schema(
      { platform, tenant: { type: String, required: true }, user: { type: String, required: true } },
      { _id: false, strict: 'throw' },
    ),
    shown_as: new Schema(
      {
        person: { type: String, required: true },
        workspace: { type: String, required: true },
        channel: String,
      },
      { _id: false, strict: 'throw' },
    ),
    user_id: String,
    channel: new Schema(
      { platform, tenant: { type: String, required: true }, channel: { type: String, required: true } },
      { _id: false, strict: 'throw' },
    ),
    expires_at: { type: Date, required: true },
    created_at: { type: Date, required: true },
  },
  STRICT_SCHEMA,
)
chatLinkSchema.index({ token_hash: 1 }, { unique: true })
chatLinkSchema.index({ link_id: 1 }, { unique: true })
chatLinkSchema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

/** Asking twice at once is two upserts, of which one may fail; then there is a link to replace. */
const MAX_ATTEMPTS = 8

export type ChatLinkStore = ReturnType<typeof createChatLinkStore>

/** One-time links asked for in chat, on mongoose. A used one is deleted. */
export function createChatLinkStore(connection: StoreConnection) {
  const model = connection.model<ChatLinkDocument>('ChatLink', chatLinkSchema, 'chat_links')
  return {
    /** Replaces an open link of that kind and identity. */
    async insert({ id, ...rest }: ChatLink): Promise<void> {
      // Links of one kind have the same fields, so setting all of them replaces the link.
      const update = { $set: { ...rest, link_id: id } }
      const _id = `${rest.kind}:${identityKey(rest.identity)}`
      for (let attempt = 1; ; attempt += 1) {
        try {
          await model.updateOne({ _id }, update, { upsert: true })
          return
        } catch (error) {
          if (!isDuplicateKey(error) || attempt >= MAX_ATTEMPTS) throw error
        }
      }
    },
    /** Unused and, by the database's clock, unexpired. */
    async find(tokenHash: string): Promise<ChatLink | undefined> {
      const found = await model.findOne({ token_hash: tokenHash, $expr: UNEXPIRED }).lean<ChatLinkDocument>()
      if (found === null) return undefined
      const { _id, link_id, ...rest } = found
      return { id: link_id, ...rest }
    },
    /** Uses the link up. @returns false when another call did, or it expired. */
    async consume(id: string): Promise<boolean> {
      return (await model.deleteOne({ link_id: id, $expr: UNEXPIRED })).deletedCount === 1
    },
  }
}
