import mongoose, { Schema } from 'mongoose'
import type { ChatPlatform } from '../domain/chat.ts'
import { STRICT_SCHEMA, type StoreConnection } from './connect.ts'
import { date, text } from './fields.ts'

const { trusted } = mongoose

/** Where a person, or a channel, can be written to on a platform that has to be met first (Teams conversation references). */
export interface ChatConversation {
  platform: ChatPlatform
  tenant: string
  /** A person's or a channel's id on the platform. */
  who: string
  kind: 'person' | 'channel'
  /** The platform's own reference as JSON text; opaque here; only the adapter reads it. */
  reference: string
  /** Normalised; as the platform's directory says it: addresses a card, proves nothing (T37). */
  email?: string
  /** As the platform names them; never safe markup. */
  name?: string
  /** What the directory, which has not told the address yet, calls the person. */
  unasked?: string
  /** How often it had no answer then. */
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
    name: String,
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

/** How many of a tenant are known. */
export interface ConversationCounts {
  people: number
  channels: number
}

export type ChatConversationStores = ReturnType<typeof createChatConversationStores>

/** Conversations of platforms that must be met before they can be written to: one document each, replaced whenever it is seen. */
export function createChatConversationStores(connection: StoreConnection) {
  const model = connection.model<ConversationDocument>(
    'ChatConversation',
    conversationSchema,
    'chat_conversations',
  )
  /** Those of one tenant. */
  return (platform: ChatPlatform, tenant: string) => {
    const named = (who: string) => ({ _id: `${platform}:${tenant}:${who}` })
    return {
      /** Inserts or replaces. */
      async put(conversation: ChatConversation): Promise<void> {
        const { _id } = named(conversation.who)
        await model.replaceOne({ _id }, { _id, ...conversation }, { upsert: true })
      },
      /** Adds what the directory told of a conversation that is there; one that was removed stays removed. */
      async describe(who: string, known: Partial<Pick<ChatConversation, 'email' | 'name'>>): Promise<void> {
        await model.updateOne(named(who), { $set: known, $unset: { unasked: 1, unanswered: 1 } })
      },
      /** The directory had no answer about that person once more. */
      async noteUnanswered(who: string): Promise<void> {
        await model.updateOne(named(who), { $inc: { unanswered: 1 } })
      },
      /** Some whose address the directory has not told yet, without those for whom it had no answer so many times. */
      async unasked({ limit, times }: { limit: number; times: number }): Promise<ChatConversation[]> {
        const few = trusted({ $not: { $gte: times } })
        const query = { platform, tenant, unasked: trusted({ $exists: true }), unanswered: few }
        return (await model.find(query).limit(limit).lean<ConversationDocument[]>()).map(toConversation)
      },
      async find(who: string): Promise<ChatConversation | undefined> {
        return present(await model.findOne(named(who)).lean<ConversationDocument>())
      },
      /** @returns the one person with that address; undefined as well when there are several: a guess addresses no card */
      async findByEmail(email: string): Promise<ChatConversation | undefined> {
        const people = { platform, tenant, email, kind: 'person' as const }
        const [found, ...others] = await model.find(people).limit(2).lean<ConversationDocument[]>()
        return found === undefined || others.length > 0 ? undefined : present(found)
      },
      /** The one seen last: tells by which service address the tenant is reached. */
      async newest(): Promise<ChatConversation | undefined> {
        const query = model.findOne({ platform, tenant }).sort({ seen_at: -1 })
        return present(await query.lean<ConversationDocument>())
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

function present(document: ConversationDocument | null): ChatConversation | undefined {
  return document === null ? undefined : toConversation(document)
}

function toConversation({ _id, ...conversation }: ConversationDocument): ChatConversation {
  return conversation
}
