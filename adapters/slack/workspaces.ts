import type { webApi } from '@slack/bolt'
import { z } from 'zod'
import type { SlackSettings } from '../../src/config/slack.ts'
import { UNKNOWN_TENANT } from '../../src/domain/chat.ts'
import type { ChatSetup } from '../../src/domain/views.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { Log } from '../../src/ports/ports.ts'
import type { ChatInstallation, ChatInstallationStore } from '../../src/store/chat/chat-installations.ts'
import { createWebClient, type Trouble, troubleOf } from './web-client.ts'

/** A workspace in which the app is installed. */
export interface Workspace {
  /** `team_id`; for an organisation-wide installation, the enterprise id. */
  tenant: string
  name: string
  token: string
  /** Tries a call once and throws when it fails; neither its arguments nor its answers may be logged. */
  client: webApi.WebClient
}

/** The workspaces in which calls can be made. None of these methods throws because of Slack. */
export interface Workspaces {
  /** With one token, its workspace, or `UNKNOWN_TENANT` until Slack has named it; else those that installed the app. */
  tenantsOf(accountId: string): Promise<string[]>
  /** See `ChatPort.setupFor`. */
  setupFor(accountId: string): Promise<ChatSetup>
  /** `not_known_yet`: Slack has not said yet whether this is the workspace of the token; ask again. */
  find(tenant: string): Promise<Workspace | 'not_installed' | 'not_known_yet'>
  /** Returns why the workspace of the token is not known yet, if asking Slack failed. */
  whyUnknown(): Trouble | undefined
  /** Drops the workspace's client, because its tokens are new or gone. */
  forget(tenant: string): void
}

/** The dependencies for opening the tokens of workspaces that installed the app. */
interface WorkspaceParts {
  installations: ChatInstallationStore
  vault: FlowDeps['vault']
  log: Log
}

/** Milliseconds that listing the tenants waits for Slack to name the only workspace. */
const NAMED_WITHIN_MS = 2_000

/** Creates the workspaces; calls Slack only when one of them is asked for. */
export function createWorkspaces(
  { apiUrl, workspaces: setting }: SlackSettings,
  parts: WorkspaceParts,
): Workspaces {
  if (setting.kind === 'one') return oneWorkspace(createOwnWorkspace(apiUrl, setting, parts.log))
  const { installations } = parts
  const { find, forget } = createInstalledWorkspaces(apiUrl, parts)
  return {
    tenantsOf: async (accountId) =>
      (await installations.ofAccount('slack', accountId)).map(({ tenant }) => tenant),
    async setupFor(accountId) {
      const installed = await installations.ofAccount('slack', accountId)
      const workspaces = installed.map(({ tenant, workspace_name: name, installed_at }) => {
        return { tenant, name, installed_at }
      })
      return { mode: 'many', workspaces }
    },
    find: async (tenant) => (await find(tenant)) ?? 'not_installed',
    whyUnknown: () => undefined,
    forget,
  }
}

function oneWorkspace({ own, whyUnknown }: ReturnType<typeof createOwnWorkspace>): Workspaces {
  // Limited, because cards are created meanwhile and webhooks do not wait for Slack.
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
    whyUnknown,
    // The token comes from the configuration and always belongs to the same workspace.
    forget: () => undefined,
  }
}

function after(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref())
}

const whoami = z.object({
  team_id: z.string(),
  team: z.string().optional(),
  enterprise_id: z.string().nullish(),
  is_enterprise_install: z.boolean().nullish(),
})

/** Milliseconds before Slack is asked again whose the token is, after it could not say. */
const NOT_AGAIN_MS = 5_000

/**
 * Finds the workspace of the only token, which only Slack can name. Slack is asked when the workspace is first needed, once
 * for all callers that wait, and again later until it has answered.
 */
function createOwnWorkspace(
  apiUrl: string,
  { botToken }: SlackSettings['workspaces'] & { kind: 'one' },
  log: Log,
) {
  const client = createWebClient(apiUrl, botToken, log)
  let known: Workspace | undefined
  let asking: Promise<Workspace | undefined> | undefined
  let notBefore = 0
  let trouble: Trouble | undefined

  const ask = async (): Promise<Workspace | undefined> => {
    try {
      const said = whoami.parse(await client.auth.test())
      const wide = said.is_enterprise_install === true ? said.enterprise_id : undefined
      const tenant = wide ?? said.team_id
      known = { tenant, name: said.team ?? tenant, token: botToken, client }
    } catch (error) {
      notBefore = performance.now() + NOT_AGAIN_MS
      trouble = troubleOf(error)
      log.error({ reason: trouble.code }, 'finding the workspace of the Slack bot token failed')
    }
    asking = undefined
    return known
  }
  return {
    async own(): Promise<Workspace | undefined> {
      if (known !== undefined) return known
      if (asking === undefined && performance.now() >= notBefore) asking = ask()
      return asking
    },
    whyUnknown: () => trouble,
  }
}

/** The content of `ChatInstallation.sealed`. */
const tokens = z.object({ bot_token: z.string() })

/** The most workspaces whose clients are kept. */
const MOST = 1_000

/**
 * The workspaces that installed the app. Every look-up reads the store, because another process may have replaced or
 * removed the tokens. Only the client, with its connections, is kept as long as the tokens stay the same.
 */
export function createInstalledWorkspaces(
  apiUrl: string,
  { installations, vault, log }: WorkspaceParts,
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
      const { bot_token: token } = tokens.parse(JSON.parse(text))
      const client = createWebClient(apiUrl, token, log)
      return { tenant, name: workspace_name, token, client }
    } catch {
      // The error is not logged, because the parser's could quote the opened tokens.
      log.error(
        { tenant },
        'decrypting the tokens of a Slack workspace failed; have the app installed there again',
      )
      return undefined
    }
  }
}
