import { Schema } from 'mongoose'
import type { ChatPlatform } from '../domain/chat.ts'
import type { ChatConversation, ChatConversationStore } from '../flow/chat-ports.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'

type ConversationDocument = ChatConversation & {
  /** `teams:<tenant>:<who>` */
  _id: string
}

const conversationSchema = new Schema<ConversationDocument>(
  {
    _id: { type: String, required: true },
    platform: { type: String, enum: ['slack', 'teams'], required: true },
    tenant: { type: String, required: true },
    who: { type: String, required: true },
    kind: { type: String, enum: ['person', 'channel'], required: true },
    reference: { type: String, required: true },
    email: String,
    name: String,
    seen_at: { type: Date, required: true },
  },
  STRICT_SCHEMA,
)
conversationSchema.index({ platform: 1, tenant: 1, email: 1 })
conversationSchema.index({ platform: 1, tenant: 1, seen_at: 1 })

/** How many of a tenant are known. */
export interface ConversationCounts {
  people: number
  channels: number
}

/** Conversations that a platform has to be told of, on mongoose: one document each, replaced whenever it is seen again. */
export function createChatConversationStore(
  connection: StoreConnection,
): ChatConversationStore & { count(platform: ChatPlatform, tenant: string): Promise<ConversationCounts> } {
  const model = connection.model<ConversationDocument>(
    'ChatConversation',
    conversationSchema,
    'chat_conversations',
  )
  const keyOf = (platform: string, tenant: string, who: string) => `${platform}:${tenant}:${who}`
  return {
    async put(conversation) {
      const _id = keyOf(conversation.platform, conversation.tenant, conversation.who)
      await model.replaceOne({ _id }, { _id, ...conversation }, { upsert: true })
    },
    async describe(platform, tenant, who, known) {
      if (Object.keys(known).length === 0) return
      await model.updateOne({ _id: keyOf(platform, tenant, who) }, { $set: known })
    },
    async find(platform, tenant, who) {
      return present(await model.findById(keyOf(platform, tenant, who)).lean<ConversationDocument>())
    },
    async findByEmail(platform, tenant, email) {
      const people = { platform, tenant, email, kind: 'person' as const }
      const [found, ...others] = await model.find(people).limit(2).lean<ConversationDocument[]>()
      return found === undefined || others.length > 0 ? undefined : present(found)
    },
    async newest(platform, tenant) {
      const found = await model
        .findOne({ platform, tenant })
        .sort({ seen_at: -1 })
        .lean<ConversationDocument>()
      return present(found)
    },
    async remove(platform, tenant, who) {
      await model.deleteOne({ _id: keyOf(platform, tenant, who) })
    },
    async count(platform, tenant) {
      const of = (kind: ChatConversation['kind']) => model.countDocuments({ platform, tenant, kind })
      const [people, channels] = await Promise.all([of('person'), of('channel')])
      return { people, channels }
    },
  }
}

function present(document: ConversationDocument | null): ChatConversation | undefined {
  if (document === null) return undefined
  const { _id, ...conversation } = document
  return conversation
}
