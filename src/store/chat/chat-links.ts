import { Schema } from 'mongoose'
import { type ChatLink, identityKey } from '../../domain/chat.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { isDuplicateKey } from '../mongo/failures.ts'
import { date, part, text } from '../mongo/fields.ts'
import { UNEXPIRED } from '../mongo/filters.ts'

/** The `_id` is kind and identity: there is at most one open link for each pair. */
type ChatLinkDocument = Omit<ChatLink, 'id'> & { _id: string; link_id: string }

const chatLinkSchema = new Schema<ChatLinkDocument>(
  {
    _id: text,
    link_id: text,
    kind: { type: String, enum: ['link', 'browser', 'channel'], required: true },
    token_hash: text,
    identity: part,
    shown_as: part,
    user_id: String,
    channel: part,
    expires_at: date,
    created_at: date,
  },
  STRICT_SCHEMA,
)
chatLinkSchema.index({ token_hash: 1 }, { unique: true })
chatLinkSchema.index({ link_id: 1 }, { unique: true })
chatLinkSchema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

/** Tries of an upsert. Of two concurrent upserts one may fail with a duplicate key; its retry replaces the other's link. */
const MAX_ATTEMPTS = 8

/** One-time links requested in chat, on mongoose. A used link is deleted. */
export function createChatLinkStore(connection: StoreConnection) {
  const model = connection.model<ChatLinkDocument>('ChatLink', chatLinkSchema, 'chat_links')
  return {
    /** Stores a link in place of any open one of the same kind and identity. */
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
    /** Finds a link that is unused and, by the database's clock, unexpired. */
    async find(tokenHash: string): Promise<ChatLink | undefined> {
      const found = await model.findOne({ token_hash: tokenHash, $expr: UNEXPIRED }).lean<ChatLinkDocument>()
      if (found === null) return undefined
      const { _id, link_id, ...rest } = found
      return { id: link_id, ...rest }
    },
    /** Uses the link up. @returns false when another call has used it, or it expired. */
    async consume(id: string): Promise<boolean> {
      return (await model.deleteOne({ link_id: id, $expr: UNEXPIRED })).deletedCount === 1
    },
  }
}
