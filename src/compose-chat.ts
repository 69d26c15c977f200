import { createSlack } from '../adapters/slack/slack.ts'
import type { Config } from './config.ts'
import type { ChatPort } from './flow/chat-ports.ts'
import type { FlowDeps } from './flow/deps.ts'
import type { Mount } from './http/http-deps.ts'
import { createChatInstallationStore } from './store/chat-installations.ts'
import { createChatLinkStore } from './store/chat-links.ts'
import { createSeenStore } from './store/chat-seen.ts'
import type { StoreConnection } from './store/connect.ts'

/** What listens to a chat platform. */
export interface ChatReceiver {
  /** The platform's own routes; absent when it is reached by a connection that we open. */
  mount?: Mount
  /** Opens what has to be opened; never throws for a platform that does not answer. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** A configured chat platform: the port sends; the receiver answers, with all verbs at hand. */
export interface ConnectedChat {
  port: ChatPort
  receive(deps: FlowDeps): ChatReceiver
}

/** The chat platforms of the configuration, and the stores that chat alone needs. */
export function composeChat(
  config: Config,
  connection: StoreConnection,
  parts: Pick<FlowDeps, 'vault' | 'clock' | 'log'>,
): { connected: ConnectedChat[]; stores: Pick<FlowDeps, 'chatLinks' | 'installations' | 'seen'> } {
  const { slack, baseUrl } = config
  const installations = createChatInstallationStore(connection)
  const connected = slack === undefined ? [] : [createSlack(slack, { ...parts, installations, baseUrl })]
  const chatLinks = createChatLinkStore(connection)
  return { connected, stores: { chatLinks, installations, seen: createSeenStore(connection, parts.clock) } }
}
