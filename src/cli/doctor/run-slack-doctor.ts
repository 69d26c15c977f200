import type { Config } from '../../config.ts'
import type { SlackSettings } from '../../slack-config.ts'
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
    const fix = 'Make the app: countersign slack manifest. Then set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET.'
    return [fail('Slack', 'not set up: no SLACK_ variable is set', fix)]
  }
  return [describe(slack), ...(await checkSending(config, slack)), ...(await checkReceiving(config, slack))]
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
  return checkEventsAddress(config.baseUrl)
}
