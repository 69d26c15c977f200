import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { BOT_SCOPES } from '../../../adapters/slack/manifest.ts'
import { type InstalledToken, inspectInstallations } from '../../compose/inspect-store.ts'
import type { Config } from '../../config/config.ts'
import type { SlackSettings } from '../../config/slack.ts'
import type { CommandResult } from '../terminal.ts'
import {
  type Check,
  checkCards,
  checkHttps,
  checkUnsigned,
  diagnose,
  fail,
  lookInStore,
  ok,
  printableCode,
  send,
  statusOf,
  warn,
} from './checks.ts'

/** `countersign doctor slack`: asks Slack and our own address, changes nothing, and says what to do. */
export function runSlackDoctor(): Promise<CommandResult> {
  return diagnose(examine)
}

async function examine(config: Config): Promise<Check[]> {
  const { slack } = config
  if (slack === undefined) {
    return [fail('Slack', 'not set up: no SLACK_ variable is set', howToBegin(config.baseUrl))]
  }
  const called = [...(await checkSending(config, slack)), ...(await checkReceiving(config, slack))]
  return [describe(slack), ...called.filter(isNew), ...(await checkCards(config, 'slack'))]
}

/** Tells how to set Slack up: over Socket Mode if BASE_URL is not https:, because Slack sends only to https: addresses. */
function howToBegin(baseUrl: string): string {
  return baseUrl.startsWith('https:')
    ? 'Make the app: npx countersign slack manifest\nThen set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET (docs/slack.md).'
    : 'Make the app: npx countersign slack manifest --socket\nThen set SLACK_BOT_TOKEN and SLACK_APP_TOKEN (docs/slack.md).'
}

/** Drops repeated checks: each question finds by itself that Slack does not answer, and one line about it is enough. */
function isNew({ name, detail }: Check, index: number, all: readonly Check[]): boolean {
  return all.findIndex((other) => other.name === name && other.detail === detail) === index
}

function describe({ workspaces, receive, apiUrl }: SlackSettings): Check {
  const where = workspaces.kind === 'one' ? 'one workspace by its bot token' : 'workspaces install the app'
  const how = receive.kind === 'http' ? 'requests to BASE_URL' : 'Socket Mode'
  return ok('Slack', `${where}; ${how}; ${apiUrl}`)
}

async function checkSending(config: Config, { apiUrl, workspaces }: SlackSettings): Promise<Check[]> {
  if (workspaces.kind === 'one') return checkBotToken(apiUrl, workspaces.botToken)
  const client = await checkClient(apiUrl, workspaces)
  return client.status === 'fail' ? [client] : [client, ...(await checkWorkspaces(config, apiUrl))]
}

async function checkReceiving(config: Config, { apiUrl, receive }: SlackSettings): Promise<Check[]> {
  if (receive.kind === 'socket') return [await checkAppToken(apiUrl, receive.appToken)]
  return checkEventsAddress(config.baseUrl, receive.signingSecret)
}

/** Checks whether Slack can send to us, and we refuse unsigned requests and accept those signed with our secret. */
async function checkEventsAddress(baseUrl: string, signingSecret: string): Promise<Check[]> {
  const fix = 'Set BASE_URL to the public https: address, or use Socket Mode: SLACK_APP_TOKEN.'
  const secure = checkHttps('Slack', baseUrl, fix)
  const address = `${baseUrl}/slack/events`
  const body = new URLSearchParams({ payload: '{}' })
  const unsigned = await checkUnsigned({ name: 'Events address', platform: 'Slack', address, body })
  return unsigned.status === 'ok'
    ? [secure, unsigned, await checkSigned(address, signingSecret)]
    : [secure, unsigned]
}

/** Checks whether Slack would let us connect. The address it hands out is not used, and expires by itself. */
async function checkAppToken(apiUrl: string, token: string): Promise<Check> {
  const name = 'App token'
  const answer = await callSlack(apiUrl, 'apps.connections.open', { token })
  if (answer === undefined) return noAnswer(apiUrl)
  if (answer.ok) return ok(name, 'Slack accepts connections (Socket Mode)')
  const fix = [
    'Switch Socket Mode on in the settings of the app, make an app-level token with connections:write',
    '(Basic Information, App-Level Tokens), and set SLACK_APP_TOKEN to it.',
  ]
  return fail(name, `Slack refuses it: ${answer.error}`, fix.join('\n'))
}

const NAME = 'Signing secret'

/**
 * Checks whether the running service accepts requests signed with our secret
 * (https://docs.slack.dev/authentication/verifying-requests-from-slack). Sends the `ssl_check` by which Slack itself looks for the
 * service: it is answered, and nothing follows.
 */
async function checkSigned(address: string, signingSecret: string): Promise<Check> {
  const body = 'ssl_check=1'
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`).digest('hex')
  const headers = {
    'Content-Type': 'application/x-www-form-urlencoded',
    'X-Slack-Request-Timestamp': timestamp,
    'X-Slack-Signature': `v0=${signature}`,
  }
  const status = await statusOf(address, body, headers)
  if (status === 200) return ok(NAME, 'the running service accepts requests signed with it')
  if (status === 401) {
    const fix = [
      'Copy the Signing Secret again from Basic Information of the app, into .env or wherever both read it,',
      'and restart the service. If both have the same: the clocks of the two machines are minutes apart.',
    ]
    return fail(NAME, 'the running service has another SLACK_SIGNING_SECRET', fix.join('\n'))
  }
  const fix = 'Make BASE_URL lead to this service: a proxy must pass requests on unchanged.'
  return fail(
    NAME,
    `requests signed with it are answered ${status === undefined ? 'not at all' : `with ${status}`} instead of with 200`,
    fix,
  )
}

const NOT_HERE = 'Allow this machine to reach it directly over https, or correct SLACK_API_URL.'

/** The failed check when nothing answers at the address of the API. */
function noAnswer(apiUrl: string): Check {
  return fail('Slack API', `nothing answers at ${apiUrl}`, NOT_HERE)
}

/** Checks whether the token is good, has the scopes that the app needs, and can look people up. */
async function checkBotToken(apiUrl: string, token: string): Promise<Check[]> {
  const name = 'Bot token'
  const answer = await callSlack(apiUrl, 'auth.test', { token })
  if (answer === undefined) return [noAnswer(apiUrl)]
  if (!answer.ok) return [fail(name, `Slack refuses it: ${answer.error}`, fixForToken(answer.error))]
  const found = ok(name, `valid for ${workspaceOf(answer)}`)
  return [found, checkScopes(answer), await checkLookup(apiUrl, token)]
}

/** The name and id of the workspace in an answer to auth.test. */
function workspaceOf({ body }: SlackAnswer): string {
  return `${printable(body.team)} (${printable(body.team_id)})`
}

/** Compares the scopes that the app was given with those it needs. */
function checkScopes({ scopes }: SlackAnswer): Check {
  const name = 'Scopes'
  if (scopes === undefined) {
    const fix = `Compare OAuth & Permissions of the app with: ${BOT_SCOPES.join(', ')}`
    return warn(name, 'Slack did not report the scopes of the token', fix)
  }
  const missing = BOT_SCOPES.filter((scope) => !scopes.includes(scope))
  if (missing.length === 0) return ok(name, `all ${BOT_SCOPES.length} that are needed`)
  const fix = [
    'Add them under OAuth & Permissions, Bot Token Scopes, at https://api.slack.com/apps, and install the app again;',
    'or paste the output of this command as the manifest of the app: npx countersign slack manifest',
  ]
  return fail(name, `missing: ${missing.join(', ')}`, fix.join('\n'))
}

/** Checks the look-up of people, with an address that is no one's: example.com is reserved (RFC 2606). */
async function checkLookup(apiUrl: string, token: string): Promise<Check> {
  const name = 'Look-up'
  const answer = await callSlack(apiUrl, 'users.lookupByEmail', {
    token,
    args: { email: 'countersign-doctor@example.com' },
  })
  if (answer === undefined) return noAnswer(apiUrl)
  if (answer.ok || answer.error === 'users_not_found') return ok(name, 'finds people by their e-mail address')
  const fix =
    answer.error === 'missing_scope'
      ? 'It needs users:read and users:read.email; see above. Without it only people who linked themselves get cards.'
      : 'Try again. Without it only people who linked themselves get cards.'
  return fail(name, `Slack refuses it: ${answer.error}`, fix)
}

function fixForToken(error: string | undefined): string {
  switch (error) {
    case 'invalid_auth':
    case 'not_authed':
      return 'Copy the Bot User OAuth Token again from OAuth & Permissions of the app into SLACK_BOT_TOKEN.'
    case 'account_inactive':
    case 'token_revoked':
      return 'The app was removed from the workspace. Install it again, and set SLACK_BOT_TOKEN to the new token.'
    case 'token_expired':
      return 'Switch token rotation off (OAuth & Permissions), install the app again, and set SLACK_BOT_TOKEN.'
    default:
      return 'Look the code up at https://docs.slack.dev/reference/methods/auth.test'
  }
}

/** Makes a text safe to print to a terminal: workspaces choose their own names. */
function printable(text: unknown): string {
  return typeof text === 'string' ? text.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?').slice(0, 80) : '?'
}

/** Number of workspaces whose tokens are checked; the others are only counted. */
const MOST = 20

/** Checks whether Slack knows the app: it refuses a made-up code only after it found id and secret good. */
async function checkClient(
  apiUrl: string,
  { clientId, clientSecret }: { clientId: string; clientSecret: string },
): Promise<Check> {
  const name = 'Client'
  const args = { client_id: clientId, client_secret: clientSecret, code: 'countersign-doctor' }
  const answer = await callSlack(apiUrl, 'oauth.v2.access', { args })
  if (answer === undefined) return noAnswer(apiUrl)
  if (answer.error === 'invalid_code') return ok(name, 'Slack knows SLACK_CLIENT_ID and SLACK_CLIENT_SECRET')
  const fix = 'Copy SLACK_CLIENT_ID and SLACK_CLIENT_SECRET again from Basic Information of the app.'
  return fail(name, `Slack refuses it: ${answer.error ?? 'it accepted an invented code'}`, fix)
}

/** Checks for each workspace that installed the app whether its token is good and has the scopes that the app needs. */
function checkWorkspaces(config: Config, apiUrl: string): Promise<Check[]> {
  const name = 'Workspaces'
  const none = warn(
    name,
    'no workspace has installed the app yet',
    `Sign in, and open ${config.baseUrl}/slack/install`,
  )
  return lookInStore(name, config, [none], async () => {
    const installed = await inspectInstallations(config)
    if (installed.length === 0) return [none]
    const left = installed.length - MOST
    const more = left > 0 ? [ok(name, `${left} more, not checked`)] : []
    return [...(await Promise.all(installed.slice(0, MOST).map((one) => checkOne(apiUrl, one)))), ...more]
  })
}

async function checkOne(apiUrl: string, { tenant, name, token }: InstalledToken): Promise<Check> {
  const shown = `${printable(name)} (${tenant})`
  const again = 'Have its owner install the app again: /slack/install'
  if (token === undefined) {
    const fix = `Set SEALING_KEY to the value it had then. Or: ${again}`
    return fail('Workspace', `${shown}: its tokens cannot be opened`, fix)
  }
  const answer = await callSlack(apiUrl, 'auth.test', { token })
  if (answer === undefined) return noAnswer(apiUrl)
  if (!answer.ok) return fail('Workspace', `${shown}: Slack refuses the token: ${answer.error}`, again)
  const scopes = checkScopes(answer)
  if (scopes.status === 'fail') return fail('Workspace', `${shown}: ${scopes.detail}`, again)
  return ok('Workspace', `${shown}: good`)
}

const answerSchema = z.looseObject({ ok: z.boolean(), error: z.string().optional() })

/** Slack's answer to one call of its Web API. */
interface SlackAnswer {
  ok: boolean
  /** Slack's own error code. */
  error: string | undefined
  /** The scopes of the token, if Slack named them. */
  scopes: readonly string[] | undefined
  body: Readonly<Record<string, unknown>>
}

/** Makes one call, with or without a token. @returns undefined when nothing answers, or something other than Slack */
async function callSlack(
  apiUrl: string,
  method: string,
  { token, args = {} }: { token?: string; args?: Record<string, string> },
): Promise<SlackAnswer | undefined> {
  try {
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` }
    const response = await send(new URL(method, apiUrl), new URLSearchParams(args), headers)
    const body = answerSchema.parse(await response.json())
    const scopes = response.headers.get('x-oauth-scopes')?.split(',')
    const error = body.ok ? undefined : printableCode(body.error)
    return { ok: body.ok, error, scopes: scopes?.map((scope) => scope.trim()), body }
  } catch {
    return undefined
  }
}
