import mongoose, { Schema } from 'mongoose'
import type { ChatPlatform } from '../../domain/chat.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { date, text } from '../mongo/fields.ts'
import { withoutId } from '../mongo/record.ts'

const { trusted } = mongoose

/** How to write to a person or channel on a platform where they must contact the app first (Teams conversation references). */
export interface ChatConversation {
  platform: ChatPlatform
  tenant: string
  /** A person's or a channel's id on the platform. */
  who: string
  kind: 'person' | 'channel'
  /** The platform's own reference as JSON text; only the adapter reads it. */
  reference: string
  /** Normalised address from the platform's directory: it may address a card, but proves nothing (T37). */
  email?: string
  /** When the directory last answered about the person. */
  told_at?: Date
  /** The platform's name for them; never safe as markup. */
  name?: string
  /** The directory's id for the person. */
  member?: string
  /** The same id, as long as the directory has not told their address. */
  unasked?: string
  /** How often the directory was asked and had no answer. */
  unanswered?: number
  seen_at: Date
}

type ConversationDocument = ChatConversation & {
  /** `teams:<tenant>:<who>` */
  _id: string
}

const conversationSchema = new Schema<ConversationDocument>(
  {
    _id: text,
    platform: { type: String, enum: ['slack', 'teams'], required: true },
    tenant: text,
    who: text,
    kind: { type: String, enum: ['person', 'channel'], required: true },
    reference: text,
    email: String,
    told_at: Date,
    name: String,
    member: String,
    unasked: String,
    unanswered: Number,
    seen_at: date,
  },
  STRICT_SCHEMA,
)
conversationSchema.index({ platform: 1, tenant: 1, email: 1 })
conversationSchema.index({ platform: 1, tenant: 1, seen_at: 1 })
conversationSchema.index(
  { platform: 1, tenant: 1, unasked: 1 },
  { partialFilterExpression: { unasked: { $exists: true } }, name: 'unasked' },
)

/** Former holders of an address whom the directory no longer knows are among them. */
const MOST_HOLDERS = 20

/** How many conversations of a tenant are known. */
export interface ConversationCounts {
  people: number
  channels: number
}

export type ChatConversationStores = ReturnType<typeof createChatConversationStores>

/** Conversations on platforms where people must contact the app first: one document each, replaced at every contact. */
export function createChatConversationStores(connection: StoreConnection) {
  const model = connection.model<ConversationDocument>(
    'ChatConversation',
    conversationSchema,
    'chat_conversations',
  )
  /** The conversations of one tenant. */
  return (platform: ChatPlatform, tenant: string) => {
    const named = (who: string) => ({ _id: `${platform}:${tenant}:${who}` })
    return {
      /** Inserts or replaces. */
      async put(conversation: ChatConversation): Promise<void> {
        const { _id } = named(conversation.who)
        await model.replaceOne({ _id }, { _id, ...conversation }, { upsert: true })
      },
      /** Notes the directory's facts on an existing conversation; a removed one stays removed. */
      async describe(
        who: string,
        known: Partial<Pick<ChatConversation, 'email' | 'name' | 'told_at'>>,
      ): Promise<void> {
        const former = known.email === undefined ? { email: 1 } : {}
        await model.updateOne(named(who), { $set: known, $unset: { unasked: 1, unanswered: 1, ...former } })
      },
      /** Counts one more time that the directory had no answer about that person. */
      async noteUnanswered(who: string): Promise<void> {
        await model.updateOne(named(who), { $inc: { unanswered: 1 } })
      },
      /** Returns the least asked conversations without an address, except those that had no answer `times` times. */
      async unasked({ limit, times }: { limit: number; times: number }): Promise<ChatConversation[]> {
        const few = trusted({ $not: { $gte: times } })
        const query = { platform, tenant, unasked: trusted({ $exists: true }), unanswered: few }
        const found = model.find(query).sort({ unanswered: 1 }).limit(limit)
        return (await found.lean<ConversationDocument[]>()).flatMap((document) => withoutId(document) ?? [])
      },
      async find(who: string): Promise<ChatConversation | undefined> {
        return withoutId(await model.findOne(named(who)).lean<ConversationDocument>())
      },
      /** Returns the people with that address, of very many only some. */
      async holders(email: string): Promise<ChatConversation[]> {
        const people = { platform, tenant, email, kind: 'person' as const }
        const found = await model.find(people).limit(MOST_HOLDERS).lean<ConversationDocument[]>()
        return found.flatMap((document) => withoutId(document) ?? [])
      },
      /** Returns the conversation seen last, whose service address is the one to reach the tenant by. */
      async newest(): Promise<ChatConversation | undefined> {
        const query = model.findOne({ platform, tenant }).sort({ seen_at: -1 })
        return withoutId(await query.lean<ConversationDocument>())
      },
      async remove(who: string): Promise<void> {
        await model.deleteOne(named(who))
      },
      async count(): Promise<ConversationCounts> {
        const of = (kind: ChatConversation['kind']) => model.countDocuments({ platform, tenant, kind })
        const [people, channels] = await Promise.all([of('person'), of('channel')])
        return { people, channels }
      },
    }
  }
}
