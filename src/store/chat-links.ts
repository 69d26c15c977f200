import mongoose, { Schema } from 'mongoose'
import { identityKey } from '../domain/chat.ts'
import type { ChatLink, ChatLinkStore } from '../flow/chat-ports.ts'
import { isDuplicateKey, STRICT_SCHEMA, type StoreConnection } from './connect.ts'

type ChatLinkDocument = Omit<ChatLink, 'id' | 'identity'> & {
  _id: string
  /** One open link a kind and identity. */
  holder: string
  identity: ChatLink['identity']
}

const platform = { type: String, enum: ['slack', 'teams'], required: true }
const chatLinkSchema = new Schema<ChatLinkDocument>(
  {
    _id: { type: String, required: true },
    holder: { type: String, required: true },
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
chatLinkSchema.index({ holder: 1 }, { unique: true })
chatLinkSchema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

/** Lost races in a row before giving up. */
const MAX_ATTEMPTS = 8

/** One-time links asked for in chat, on mongoose. A used or replaced one is deleted. */
export function createChatLinkStore(connection: StoreConnection): ChatLinkStore {
  const model = connection.model<ChatLinkDocument>('ChatLink', chatLinkSchema, 'chat_links')
  const unexpired = { $expr: mongoose.trusted({ $gt: ['$expires_at', '$$NOW'] }) }
  return {
    async insert({ id, ...rest }) {
      const holder = `${rest.kind}:${identityKey(rest.identity)}`
      // Somebody who asks twice at once gets two links, of which the later one holds.
      for (let attempt = 1; ; attempt += 1) {
        await model.deleteMany({ holder })
        try {
          await model.create({ _id: id, holder, ...rest })
          return
        } catch (error) {
          if (!isDuplicateKey(error, 'holder') || attempt >= MAX_ATTEMPTS) throw error
        }
      }
    },
    async find(tokenHash) {
      const found = await model.findOne({ token_hash: tokenHash, ...unexpired }).lean<ChatLinkDocument>()
      if (found === null) return undefined
      const { _id, holder: _holder, ...rest } = found
      return { id: _id, ...rest }
    },
    consume: async (id) => (await model.deleteOne({ _id: id, ...unexpired })).deletedCount === 1,
  }
}
