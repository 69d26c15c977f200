import { z } from 'zod'
import { credential } from './credential.ts'

/** The Slack part of the environment; all unset = no Slack. */
export const slackVariables = {
  SLACK_BOT_TOKEN: z
    .string()
    .regex(/^xoxb-/, 'must be a bot token, which starts with xoxb-')
    .optional(),
  SLACK_SIGNING_SECRET: credential,
  SLACK_APP_TOKEN: z
    .string()
    .regex(/^xapp-/, 'must be an app-level token, which starts with xapp-')
    .optional(),
  SLACK_CLIENT_ID: z.string().optional(),
  SLACK_CLIENT_SECRET: credential,
  SLACK_API_URL: z.string().optional(),
}

type Values = { [name in keyof typeof slackVariables]?: string | undefined }

/** How we reach Slack, and how Slack reaches us. */
export interface SlackSettings {
  /** `https://slack.com/api/`, with a slash at the end. */
  readonly apiUrl: string
  /** One workspace by its token, or any number that install the app. */
  readonly workspaces:
    | { readonly kind: 'one'; readonly botToken: string }
    | { readonly kind: 'many'; readonly clientId: string; readonly clientSecret: string }
  /** Requests to `/slack/events` of the public address, or a connection that we open (Socket Mode). */
  readonly receive:
    | { readonly kind: 'http'; readonly signingSecret: string }
    | { readonly kind: 'socket'; readonly appToken: string }
}

const SLACK_API_URL = 'https://slack.com/api/'

/**
 * Reads the Slack part; undefined when none of it is set. Adds missing and contradictory settings to `problems`.
 * In production only `https:` is allowed: every call carries the bot token.
 */
export function readSlack(
  values: Values,
  production: boolean,
  problems: string[],
): SlackSettings | undefined {
  const set = Object.keys(slackVariables).some((name) => values[name as keyof Values] !== undefined)
  if (!set) return undefined
  const before = problems.length
  const workspaces = readWorkspaces(values, problems)
  const receive = readReceive(values, problems)
  const apiUrl = readApiUrl(values.SLACK_API_URL, production, problems)
  if (problems.length > before || workspaces === undefined || receive === undefined) return undefined
  return Object.freeze({ apiUrl, workspaces: Object.freeze(workspaces), receive: Object.freeze(receive) })
}

function readWorkspaces(values: Values, problems: string[]): SlackSettings['workspaces'] | undefined {
  const { SLACK_BOT_TOKEN: botToken, SLACK_CLIENT_ID: clientId, SLACK_CLIENT_SECRET: clientSecret } = values
  if (botToken !== undefined && (clientId !== undefined || clientSecret !== undefined)) {
    problems.push(
      'SLACK_BOT_TOKEN: is for one workspace; leave it out when SLACK_CLIENT_ID and SLACK_CLIENT_SECRET let workspaces install the app',
    )
    return undefined
  }
  if (botToken !== undefined) return { kind: 'one', botToken }
  if (clientId !== undefined && clientSecret !== undefined) return { kind: 'many', clientId, clientSecret }
  if (clientId === undefined && clientSecret === undefined) {
    problems.push(
      'SLACK_BOT_TOKEN: must be set for one workspace, or SLACK_CLIENT_ID and SLACK_CLIENT_SECRET for many',
    )
  } else {
    const missing = clientId === undefined ? 'SLACK_CLIENT_ID' : 'SLACK_CLIENT_SECRET'
    problems.push(`${missing}: must be set as well, to let workspaces install the app`)
  }
  return undefined
}

function readReceive(values: Values, problems: string[]): SlackSettings['receive'] | undefined {
  const { SLACK_SIGNING_SECRET: signingSecret, SLACK_APP_TOKEN: appToken } = values
  if (appToken !== undefined) return { kind: 'socket', appToken }
  if (signingSecret !== undefined) return { kind: 'http', signingSecret }
  problems.push('SLACK_SIGNING_SECRET: must be set, or SLACK_APP_TOKEN for Socket Mode')
  return undefined
}

function readApiUrl(text: string | undefined, production: boolean, problems: string[]): string {
  if (text === undefined) return SLACK_API_URL
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (
    url === undefined ||
    !['http:', 'https:'].includes(url.protocol) ||
    url.search !== '' ||
    url.hash !== ''
  ) {
    problems.push('SLACK_API_URL: must be an address such as https://slack.com/api/')
    return SLACK_API_URL
  }
  if (production && url.protocol !== 'https:') {
    problems.push('SLACK_API_URL: must be https: in production, every call carries the bot token')
  }
  return url.href.endsWith('/') ? url.href : `${url.href}/`
}
