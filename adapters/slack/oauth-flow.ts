import { type Installation, InstallProvider, type OrgInstallation } from '@slack/oauth'
import type { SlackSettings } from '../../src/config/slack.ts'
import { Refusal, refusal } from '../../src/domain/errors.ts'
import type { Log } from '../../src/flow/ports.ts'
import type { Edge } from '../../src/http/http-deps.ts'
import { BOT_SCOPES } from './scopes.ts'
import { createSlackLog } from './slack-log.ts'

type Handler = Parameters<Edge['page']>[1]
type Request = Parameters<Handler>[0]
type Response = Parameters<Handler>[1]

/** Somebody's installation, as Slack told of it over its own connection. */
export type Installed = Installation | OrgInstallation

/** Slack's OAuth 2 (https://docs.slack.dev/authentication/installing-with-oauth), between the two visits of a browser. */
export interface OAuthFlow {
  /** Sends the browser to Slack's consent page; `state` goes along, and stays in a cookie of this browser too. */
  begin(request: Request, response: Response, state: string): Promise<void>
  /**
   * Trades the code the browser brought for tokens, after `verify` found its state good.
   * @throws Refusal `install_cancelled`, `install_state_invalid`, `install_failed`, and what `verify` throws
   */
  end(request: Request, response: Response, verify: (state: string) => Promise<void>): Promise<Installed>
}

const CALL_MS = 5_000

export function createOAuthFlow(
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
      stateCookieName: stateCookie(baseUrl),
      stateStore: {
        generateStateParam: async ({ metadata = '' }) => metadata,
        async verifyStateParam(_now, state) {
          await verify(state)
          return options
        },
      },
      logger: createSlackLog(log),
      clientOptions: {
        slackApiUrl: apiUrl,
        retryConfig: { retries: 0 },
        timeout: CALL_MS,
        rejectRateLimitedCalls: true,
      },
    })
  return {
    async begin(request, response, state) {
      const starting = provider(async () => undefined)
      await starting.handleInstallPath(request, response, undefined, { ...options, metadata: state })
    },
    async end(request, response, verify) {
      let installed: Installed | undefined
      await provider(verify).handleCallback(request, response, {
        // Kept by our caller; false keeps the library from showing its own page.
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

/** The library sets it `Secure; HttpOnly; Path=/`, which is what the prefix demands. Browsers refuse the prefix on plain http. */
function stateCookie(baseUrl: string): string {
  const name = 'countersign-slack-install'
  return baseUrl.startsWith('https:') ? `__Host-${name}` : name
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
      const detail = saidBySlack(error) ?? 'no_answer'
      log.warn({ reason: detail }, 'slack did not complete an installation')
      return refusal('install_failed', { detail })
    }
    default:
      return error
  }
}

/** Slack's own error code, if it is one: `bad_client_secret`. */
function saidBySlack(error: Error): string | undefined {
  const data: unknown = 'data' in error ? error.data : undefined
  const code = data !== null && typeof data === 'object' && 'error' in data ? data.error : undefined
  return typeof code === 'string' && /^[a-z_]{1,60}$/.test(code) ? code : undefined
}
