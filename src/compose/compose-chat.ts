import type { Config } from '../config/config.ts'
import type { FlowDeps } from '../flow/deps.ts'
import type { Mount } from '../http/http-deps.ts'
import type { ChatPort } from '../ports/ports.ts'
import { createChatConversationStores } from '../store/chat/chat-conversations.ts'
import type { StoreConnection } from '../store/mongo/connect.ts'

/** The part that listens to a chat platform. */
export interface ChatReceiver {
  /** The routes that the platform calls; absent when we open the connection to it ourselves. */
  mount?: Mount
  /** Opens the connection, if one is needed; never throws when the platform does not answer. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** A configured chat platform: the port sends cards; the receiver answers the platform, and may use all verbs. */
export interface ConnectedChat {
  port: ChatPort
  receive(deps: FlowDeps): ChatReceiver
}

/**
 * Connects the chat platforms of the configuration. A platform's libraries are loaded only
 * if it is set up: they take time and tens of megabytes.
 */
export async function composeChat(
  { slack, teams, baseUrl }: Config,
  connection: StoreConnection,
  given: Pick<FlowDeps, 'installations' | 'vault' | 'clock' | 'log'>,
): Promise<ConnectedChat[]> {
  const conversations = createChatConversationStores(connection)
  const parts = { ...given, conversations, baseUrl }
  const connected: ConnectedChat[] = []
  if (slack !== undefined) {
    const { createSlack } = await import('../../adapters/slack/slack.ts')
    connected.push(createSlack(slack, parts))
  }
  if (teams !== undefined) {
    const { createTeams } = await import('../../adapters/teams/teams.ts')
    connected.push(createTeams(teams, parts))
  }
  return connected
}
