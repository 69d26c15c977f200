import { Schema } from 'mongoose'
import { type ChatLink, identityKey } from '../domain/chat.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { isDuplicateKey } from './failures.ts'
import { date, part, text } from './fields.ts'
import { UNEXPIRED } from './filters.ts'

/** Kind and identity are its name: there is one open link of both. */
type ChatLinkDocument = Omit<ChatLink, 'id'> & { _id: string; link_id: string }

const platform = { type: String, enum: ['slack', 'teams'], required: true }
const chatLinkSchema = new Schema<ChatLinkDocument>(
  {
    _id: text,
    link_id: text,
    kind: { type: String, enum: ['link', 'browser', 'channel'], required: true },
    token_hash: text,
    identity: new Schema({ platform, tenant: text, user: text }, part),
    shown_as: new Schema(
      {
        person: text,
        workspace: text,
        channel: String,
      },
      part,
    ),
    user_id: String,
    channel: new Schema({ platform, tenant: text, channel: text }, part),
    expires_at: date,
    created_at: date,
  },
  STRICT_SCHEMA,
)
chatLinkSchema.index({ token_hash: 1 }, { unique: true })
chatLinkSchema.index({ link_id: 1 }, { unique: true })
chatLinkSchema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

/** Asking twice at once is two upserts, of which one may fail; then there is a link to replace. */
const MAX_ATTEMPTS = 8

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
