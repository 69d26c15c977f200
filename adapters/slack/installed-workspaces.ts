import { z } from 'zod'
import type { ChatInstallation } from '../../src/flow/chat-ports.ts'
import type { SlackParts } from './slack.ts'
import { createWebClient } from './web-client.ts'
import type { Workspace } from './workspaces.ts'

/** What `ChatInstallation.sealed` holds. */
const tokens = z.object({ bot_token: z.string(), bot_user_id: z.string().optional() })

/** Workspaces whose clients are kept. */
const MOST = 1_000

/**
 * The workspaces that installed the app. Each time the store is asked: another process may have stored new tokens, or have
 * removed them. Only the client, with its connections, is kept as long as the tokens stay the same.
 */
export function createInstalledWorkspaces(
  apiUrl: string,
  { installations, vault, log }: Pick<SlackParts, 'installations' | 'vault' | 'log'>,
): { find(tenant: string): Promise<Workspace | undefined>; forget(tenant: string): void } {
  const kept = new Map<string, { sealed: string; workspace: Workspace }>()
  return {
    async find(tenant) {
      const installation = await installations.find('slack', tenant)
      if (installation === undefined) {
        kept.delete(tenant)
        return undefined
      }
      const { sealed } = installation
      const before = kept.get(tenant)
      if (before?.sealed === sealed) return before.workspace
      const workspace = open(installation)
      if (workspace === undefined) return undefined
      const oldest = kept.size < MOST ? undefined : kept.keys().next().value
      if (oldest !== undefined) kept.delete(oldest)
      kept.set(tenant, { sealed, workspace })
      return workspace
    },
    forget: (tenant) => void kept.delete(tenant),
  }

  function open({ tenant, workspace_name, sealed }: ChatInstallation): Workspace | undefined {
    try {
      const text = Buffer.from(vault.open(sealed, `slack-installation:${tenant}`)).toString('utf8')
      const { bot_token: token, bot_user_id } = tokens.parse(JSON.parse(text))
      const client = createWebClient(apiUrl, token, log)
      const bot = bot_user_id === undefined ? {} : { botUserId: bot_user_id }
      return { tenant, name: workspace_name, token, ...bot, client }
    } catch {
      // What was opened is not told: an error of the parser could quote it.
      log.error({ tenant }, 'the tokens of a slack workspace cannot be opened; have it install the app again')
      return undefined
    }
  }
}
