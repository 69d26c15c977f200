import type { Config } from './config.ts'
import { openStore } from './open-store.ts'
import { type ConversationCounts, createChatConversationStore } from './store/chat-conversations.ts'
import { connectStore } from './store/connect.ts'

/**
 * How many people and channels of a Teams tenant can be written to; changes nothing in the store.
 * @throws when the store cannot be opened or does not answer
 */
export async function inspectConversations(config: Config, tenant: string): Promise<ConversationCounts> {
  const store = await openStore(config, true)
  try {
    const connection = await connectStore(store.uri)
    try {
      return await createChatConversationStore(connection).count('teams', tenant)
    } finally {
      await connection.close()
    }
  } finally {
    await store.close()
  }
}
