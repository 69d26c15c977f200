import type { webApi } from '@slack/bolt'
import type { SlackSettings } from '../../src/config/slack.ts'
import { UNKNOWN_TENANT } from '../../src/domain/chat.ts'
import type { ChatSetup } from '../../src/flow/chat-ports.ts'
import { createInstalledWorkspaces } from './installed-workspaces.ts'
import { createOwnWorkspace } from './own-workspace.ts'
import type { SlackParts } from './slack.ts'

/** A workspace with the app in it. */
export interface Workspace {
  /** `team_id`; of an organisation-wide installation the enterprise id. */
  tenant: string
  name: string
  token: string
  botUserId?: string
  /** Calls once and throws; nothing it is given or says may be logged. */
  client: webApi.WebClient
}

/** The workspaces that calls can be made in. None of these throws because of Slack. */
export interface Workspaces {
  /** With one token its workspace, or `UNKNOWN_TENANT` until Slack has said which that is; else those that installed the app. */
  tenantsOf(accountId: string): Promise<string[]>
  /** As `ChatPort.setupFor`. */
  setupFor(accountId: string): Promise<ChatSetup>
  /** `not_known_yet`: Slack has not said whether it is that of the token; ask again. */
  find(tenant: string): Promise<Workspace | 'not_installed' | 'not_known_yet'>
  tokenOf(tenant: string): Promise<{ token: string; botUserId?: string } | undefined>
  nameOf(tenant: string): Promise<string | undefined>
  /** False also while nobody can say. */
  known(tenant: string): Promise<boolean>
  client(tenant: string): Promise<webApi.WebClient | undefined>
  /** Its tokens are new, or gone. */
  forget(tenant: string): void
}

/** How long whoever lists tenants waits for Slack to name the only one. */
const NAMED_WITHIN_MS = 2_000

/** Calls nobody before it is asked. */
export function createWorkspaces(
  { apiUrl, workspaces: setting }: SlackSettings,
  parts: Pick<SlackParts, 'installations' | 'vault' | 'log'>,
): Workspaces {
  if (setting.kind === 'one')
    return withShortcuts(oneWorkspace(createOwnWorkspace(apiUrl, setting, parts.log)))
  const { installations } = parts
  const { find, forget } = createInstalledWorkspaces(apiUrl, parts)
  return withShortcuts({
    tenantsOf: (accountId) => installations.tenantsOf('slack', accountId),
    async setupFor(accountId) {
      const installed = await installations.ofAccount('slack', accountId)
      const workspaces = installed.map(({ tenant, workspace_name: name, installed_at }) => {
        return { tenant, name, installed_at }
      })
      return { mode: 'many', workspaces }
    },
    find: async (tenant) => (await find(tenant)) ?? 'not_installed',
    forget,
  })
}

type Essence = Pick<Workspaces, 'tenantsOf' | 'setupFor' | 'find' | 'forget'>

function oneWorkspace(own: () => Promise<Workspace | undefined>): Essence {
  // Cards are made meanwhile, and webhooks do not wait for Slack.
  const named = () => Promise.race([own(), after(NAMED_WITHIN_MS)])
  return {
    tenantsOf: async () => [(await named())?.tenant ?? UNKNOWN_TENANT],
    async setupFor() {
      const known = await named()
      return {
        mode: 'one',
        workspaces: known === undefined ? [] : [{ tenant: known.tenant, name: known.name }],
      }
    },
    async find(tenant) {
      const workspace = await own()
      if (workspace === undefined || tenant === UNKNOWN_TENANT) return 'not_known_yet'
      return workspace.tenant === tenant ? workspace : 'not_installed'
    },
    // The token is that of the configuration, and stays in its workspace.
    forget: () => undefined,
  }
}

function withShortcuts(essence: Essence): Workspaces {
  const find = async (tenant: string): Promise<Workspace | undefined> => {
    const found = await essence.find(tenant)
    return typeof found === 'string' ? undefined : found
  }
  return {
    ...essence,
    async tokenOf(tenant) {
      const found = await find(tenant)
      if (found === undefined) return undefined
      const { token, botUserId } = found
      return botUserId === undefined ? { token } : { token, botUserId }
    },
    nameOf: async (tenant) => (await find(tenant))?.name,
    known: async (tenant) => (await find(tenant)) !== undefined,
    client: async (tenant) => (await find(tenant))?.client,
  }
}

function after(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref())
}
