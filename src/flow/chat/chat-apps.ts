import { type ChatPlatform, UNKNOWN_TENANT } from '../../domain/chat.ts'
import type { ChatPort, ChatSetup } from '../chat-ports.ts'
import type { FlowDeps } from '../deps.ts'

/** How each platform is set up for an account; undefined: not at all on this service. */
export type ChatApps = Record<ChatPlatform, ChatSetup | undefined>

/** What an owner needs to know to have cards come to chat. Never throws because of a platform. */
export async function readChatApps(deps: Pick<FlowDeps, 'chats'>, accountId: string): Promise<ChatApps> {
  const setupOf = (platform: ChatPlatform): Promise<ChatSetup> | undefined => {
    const port = deps.chats.find((chat) => chat.platform === platform)
    return port && setupFor(port, accountId)
  }
  const [slack, teams] = await Promise.all([setupOf('slack'), setupOf('teams')])
  return { slack, teams }
}

async function setupFor(port: ChatPort, accountId: string): Promise<ChatSetup> {
  if (port.setupFor !== undefined) return port.setupFor(accountId)
  const tenants = (await port.tenantsOf(accountId)).filter((tenant) => tenant !== UNKNOWN_TENANT)
  return { mode: 'one', workspaces: tenants.map((tenant) => ({ tenant })) }
}
