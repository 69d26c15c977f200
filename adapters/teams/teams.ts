import type { ChatConversationStore, ChatPort } from '../../src/flow/chat-ports.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { Mount } from '../../src/http/http-deps.ts'
import type { TeamsSettings } from '../../src/teams-config.ts'

export interface TeamsParts {
  conversations: ChatConversationStore
  clock: FlowDeps['clock']
  log: FlowDeps['log']
  baseUrl: string
}

/** Teams: a port that sends, and a receiver that answers. Neither calls Microsoft before it is used. */
export function createTeams(
  settings: TeamsSettings,
  _parts: TeamsParts,
): {
  port: ChatPort
  receive(deps: FlowDeps): { mount?: Mount; start(): Promise<void>; stop(): Promise<void> }
} {
  const refuse = async () => ({ ok: false, outcome: 'failed', duration_ms: 0 }) as const
  return {
    port: {
      platform: 'teams',
      tenantsOf: async () => [settings.tenantId],
      lookup: refuse,
      post: refuse,
      update: refuse,
      reply: refuse,
    },
    receive: () => ({ start: async () => undefined, stop: async () => undefined }),
  }
}
