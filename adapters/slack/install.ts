import { type Installation, InstallProvider, type OrgInstallation } from '@slack/oauth'
import type { SlackSettings } from '../../src/config/slack.ts'
import { cookieName } from '../../src/domain/cookie-name.ts'
import { Refusal, refusal } from '../../src/domain/errors.ts'
import { addInstallation, finishInstall, startInstall } from '../../src/flow/chat/connect-account.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { Edge, Mount, Notice } from '../../src/http/http-deps.ts'
import type { Log } from '../../src/ports/ports.ts'
import { BOT_SCOPES } from './manifest.ts'
import { callingOnce, createSlackLog } from './web-client.ts'

const START = '/slack/install'
const DONE = '/slack/installed'
const SIGN_IN = `/signin?next=${encodeURIComponent(START)}`
/** The sign-in page that asks a signed-in person to prove presence again. */
const PROVE = `${SIGN_IN}&again`
const ABOUT = { title: 'Countersign was not installed in Slack', link: { href: START, text: 'Start again' } }

/**
 * Mounts `GET /slack/install`, `/slack/oauth_redirect` and `/slack/installed`: a signed-in owner who proved presence just now
 * has their account's cards go to a workspace in which they may install apps. Does nothing unless `settings` say that
 * workspaces install the app.
 * @param forget is called with the workspace whose tokens are new
 */
export function mountInstall(
  [app, edge]: Parameters<Mount>,
  settings: SlackSettings,
  deps: FlowDeps,
  forget: (tenant: string) => void,
): void {
  const { workspaces } = settings
  if (workspaces.kind !== 'many') return
  const { clientId, clientSecret } = workspaces
  const parts = { baseUrl: deps.settings.baseUrl, log: deps.log }
  const flow = createOAuthFlow(settings, { clientId, clientSecret }, parts)
  app.get(START, edge.page(ABOUT, beginInstall(deps, edge, flow)))
  app.get('/slack/oauth_redirect', edge.page(ABOUT, endInstall(deps, edge, flow, forget)))
  app.get(DONE, edge.page(ABOUT, showInstalled(deps, edge)))
}

/**
 * Mounts a page at `/slack/install` that says that the operator has connected the only workspace. Programs get a 404, as for
 * every address that does not exist.
 */
export function mountFixed([app, edge]: Parameters<Mount>): void {
  const tell: Handler = async (request) => {
    if (request.accepts(['json', 'html']) !== 'html') throw refusal('not_found')
    return FIXED
  }
  app.get(START, edge.page(FIXED, tell))
}

const FIXED: Notice = {
  title: 'Slack is connected already',
  text: 'The operator of this service has connected it to one Slack workspace for all accounts; nothing has to be installed. In Slack, type /countersign link to link yourself, and /countersign help for the other commands.',
  link: { href: '/integrations', text: 'Go to your integrations' },
}

type Handler = Parameters<Edge['page']>[1]

function beginInstall(deps: FlowDeps, edge: Edge, flow: OAuthFlow): Handler {
  return async function beginInstall(request, response) {
    const visitor = await edge.visitor(request, response)
    if (visitor === undefined) response.redirect(303, SIGN_IN)
    else if (visitor.proven !== 'recently') response.redirect(303, PROVE)
    else await flow.begin(request, response, await startInstall(deps, visitor.sessionId))
    return undefined
  }
}

function endInstall(deps: FlowDeps, edge: Edge, flow: OAuthFlow, forget: (tenant: string) => void): Handler {
  return async function endInstall(request, response) {
    const visitor = await edge.visitor(request, response)
    if (visitor === undefined) throw refusal('not_signed_in')
    // The minutes at Slack are the person's own; a factor found to be copied meanwhile connects nothing.
    if (!visitor.proven) throw refusal('proof_required')
    const verify = (state: string) => finishInstall(deps, visitor.sessionId, state)
    const found = readInstalled(await flow.end(request, response, verify))
    const { tenant, workspace_name, tokens } = found
    const sealed = deps.vault.seal(Buffer.from(JSON.stringify(tokens)), `slack-installation:${tenant}`)
    const fresh = { platform: 'slack', tenant, workspace_name, sealed } as const
    await addInstallation(deps, visitor.owner, fresh, visitor.user)
    forget(tenant)
    // Redirects to a page that can be reloaded, because this address works only once.
    response.redirect(303, `${DONE}?${new URLSearchParams({ workspace: tenant })}`)
    return undefined
  }
}

/** Tells the owner of an account that this workspace is connected; others learn nothing. */
function showInstalled(deps: FlowDeps, edge: Edge): Handler {
  return async function showInstalled(request, response) {
    const visitor = await edge.visitor(request, response)
    if (visitor === undefined) throw refusal('not_signed_in')
    const { workspace } = request.query
    const installed =
      typeof workspace === 'string' ? await deps.installations.find('slack', workspace) : undefined
    if (!installed?.account_ids.includes(visitor.owner.accountId)) throw refusal('not_found')
    return installedIn(installed.workspace_name)
  }
}

/**
 * Reads the workspace (or the organisation, for an organisation-wide installation) and the bot's token.
 * @throws Refusal `install_failed` for tokens that expire after hours (rotation), which are not renewed, and without a bot
 */
function readInstalled({ bot, team, enterprise, isEnterpriseInstall }: Installed) {
  const workspace = isEnterpriseInstall ? enterprise : team
  if (bot === undefined || workspace === undefined) throw installFailed('no_bot_token')
  if (bot.refreshToken !== undefined) throw installFailed('token_rotation_is_on')
  const tokens = { bot_token: bot.token, bot_user_id: bot.userId, scopes: bot.scopes }
  return { tenant: workspace.id, workspace_name: workspace.name ?? workspace.id, tokens }
}

function installedIn(workspace: string): Notice {
  return {
    title: 'Countersign is installed in Slack',
    text: `Approvers of your account who are in ${workspace} now get their requests there. In Slack, type /countersign link to link yourself, and /countersign help for the other commands.`,
    link: { href: '/integrations', text: 'Go to your integrations' },
  }
}

type Request = Parameters<Handler>[0]
type Response = Parameters<Handler>[1]

/** An installation, as Slack described it in answer to our own call. */
type Installed = Installation | OrgInstallation

/** Slack's OAuth 2 (https://docs.slack.dev/authentication/installing-with-oauth), in two visits of a browser. */
interface OAuthFlow {
  /** Sends the browser to Slack's consent page with `state`, which is also kept in a cookie of this browser. */
  begin(request: Request, response: Response, state: string): Promise<void>
  /**
   * Trades the code that the browser brought for tokens, once `verify` has accepted its state.
   * @throws Refusal `install_cancelled`, `install_state_invalid`, `install_failed`, `install_limit`, and what `verify` throws
   */
  end(request: Request, response: Response, verify: (state: string) => Promise<void>): Promise<Installed>
}

function createOAuthFlow(
  { apiUrl }: SlackSettings,
  client: { clientId: string; clientSecret: string },
  { baseUrl, log }: { baseUrl: string; log: Log },
): OAuthFlow {
  const options = { scopes: [...BOT_SCOPES], redirectUri: `${baseUrl}/slack/oauth_redirect` }
  const provider = (verify: (state: string) => Promise<void>) =>
    new InstallProvider({
      ...client,
      // The consent page is on the host of the API: slack.com, slack-gov.com, or a stand-in for tests.
      authorizationUrl: new URL('/oauth/v2/authorize', apiUrl).href,
      directInstall: true,
      // The library sets `Secure; HttpOnly; Path=/`, as `__Host-` demands.
      stateCookieName: cookieName('countersign-slack-install', baseUrl),
      stateStore: {
        generateStateParam: async ({ metadata = '' }) => metadata,
        async verifyStateParam(_now, state) {
          await verify(state)
          return options
        },
      },
      logger: createSlackLog(log),
      clientOptions: callingOnce(apiUrl),
    })
  return {
    async begin(request, response, state) {
      const starting = provider(async () => undefined)
      await starting.handleInstallPath(request, response, undefined, { ...options, metadata: state })
    },
    async end(request, response, verify) {
      let installed: Installed | undefined
      await provider(verify).handleCallback(request, response, {
        // Our caller stores the installation; false keeps the library from showing its own page.
        async afterInstallation(installation) {
          installed = installation
          return false
        },
        async failureAsync(error) {
          throw asRefusal(error, log)
        },
      })
      if (installed === undefined) throw refusal('install_failed')
      return installed
    },
  }
}

function asRefusal(error: unknown, log: Log): unknown {
  if (error instanceof Refusal || !(error instanceof Error)) return error
  const code = 'code' in error ? error.code : undefined
  switch (code) {
    case 'slack_oauth_installer_authorization_error':
      return refusal('install_cancelled')
    case 'slack_oauth_missing_state':
    case 'slack_oauth_invalid_state':
    case 'slack_oauth_missing_code':
      return refusal('install_state_invalid')
    case 'slack_webapi_platform_error':
    case 'slack_webapi_request_error':
    case 'slack_webapi_http_error':
    case 'slack_webapi_rate_limited_error': {
      const reason = saidBySlack(error) ?? 'no_answer'
      log.warn({ reason }, 'Slack did not complete an installation')
      return installFailed(reason)
    }
    default:
      return error
  }
}

/** What the person who installs can do about it, by the reason: Slack's own codes, and ours. */
const REMEDIES: Readonly<Record<string, string>> = {
  no_bot_token: 'Slack made no bot: add the bot scopes of the manifest to the Slack app, then start again.',
  token_rotation_is_on:
    'Token rotation is on in the Slack app: create the app again without it, then start again.',
  no_answer: 'Slack did not answer: start again in a moment.',
  bad_client_secret:
    'Slack refused the client secret: the operator must set SLACK_CLIENT_SECRET to that of the app.',
  invalid_client_id:
    'Slack does not know the client ID: the operator must set SLACK_CLIENT_ID to that of the app.',
  bad_redirect_uri:
    'Slack refused the redirect URL: the operator must list /slack/oauth_redirect of this service in the Slack app.',
  code_already_used: 'This step was done before: start again.',
  invalid_code: 'This step took too long: start again.',
}

function installFailed(reason: string): Refusal {
  const detail =
    REMEDIES[reason] ?? 'Slack refused it; the log of the service has the reason. Start again later.'
  return refusal('install_failed', { detail, reason })
}

/** Returns Slack's own error code, such as `bad_client_secret`, if the error has one. */
function saidBySlack(error: Error): string | undefined {
  const data: unknown = 'data' in error ? error.data : undefined
  const code = data !== null && typeof data === 'object' && 'error' in data ? data.error : undefined
  return typeof code === 'string' && /^[a-z_]{1,60}$/.test(code) ? code : undefined
}
