import type { Config } from '../../config/config.ts'
import type { SlackSettings } from '../../config/slack.ts'
import type { CommandResult } from '../tell.ts'
import { type Check, fail, ok } from './check.ts'
import { checkConfiguration } from './check-configuration.ts'
import { reportChecks } from './report.ts'
import { checkAppToken, checkEventsAddress } from './slack/check-receiving.ts'
import { checkBotToken } from './slack/check-token.ts'
import { checkClient, checkWorkspaces } from './slack/check-workspaces.ts'

/** `countersign doctor slack`: asks Slack and our own address, changes nothing, and says what to do. */
export async function runSlackDoctor(): Promise<CommandResult> {
  return reportChecks(await examine())
}

async function examine(): Promise<Check[]> {
  const { config, checks } = checkConfiguration()
  if (config === undefined) return checks
  const { slack } = config
  if (slack === undefined) {
    return [fail('Slack', 'not set up: no SLACK_ variable is set', howToBegin(config.baseUrl))]
  }
  const called = [...(await checkSending(config, slack)), ...(await checkReceiving(config, slack))]
  return [describe(slack), ...called.filter(isNew)]
}

/** Slack sends only to https: addresses. */
function howToBegin(baseUrl: string): string {
  return baseUrl.startsWith('https:')
    ? 'Make the app: npx countersign slack manifest\nThen set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET (docs/slack.md).'
    : 'Make the app: npx countersign slack manifest --socket\nThen set SLACK_BOT_TOKEN and SLACK_APP_TOKEN (README.md).'
}

/** Each question finds by itself that Slack does not answer. Told once is enough. */
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
