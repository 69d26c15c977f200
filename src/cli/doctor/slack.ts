import { createHmac } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import type { SlackSettings } from '../../config/slack.ts'
import type { CommandResult } from '../terminal.ts'
import {
  type Check,
  checkConfiguration,
  checkHttps,
  checkUnsigned,
  fail,
  ok,
  reportChecks,
  statusOf,
} from './checks.ts'
import { callSlack, checkBotToken, checkClient, checkWorkspaces, noAnswer } from './slack-api.ts'

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

/** Can Slack send to us, is what is not signed refused, and what is signed with our secret taken? */
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

/** Would Slack let us connect? The address it hands out is not used, and ends by itself. */
async function checkAppToken(apiUrl: string, token: string): Promise<Check> {
  const name = 'App token'
  const answer = await callSlack(apiUrl, 'apps.connections.open', { token })
  if (answer === undefined) return noAnswer(apiUrl)
  if (answer.ok) return ok(name, 'Slack takes connections (Socket Mode)')
  const fix = [
    'Switch Socket Mode on in the settings of the app, make an app-level token with connections:write',
    '(Basic Information, App-Level Tokens), and set SLACK_APP_TOKEN to it.',
  ]
  return fail(name, `Slack refuses it: ${answer.error}`, fix.join('\n'))
}

const NAME = 'Signing secret'

/**
 * Does the running service take what is signed with our secret (https://docs.slack.dev/authentication/verifying-requests-from-slack)?
 * It is sent what Slack sends to see that a service is there: it is answered, and nothing follows.
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
  const status = await statusOf({ address, body, headers })
  if (status === 200) return ok(NAME, 'the running service takes what is signed with it')
  if (status === 401) {
    const fix = [
      'Copy the Signing Secret anew from Basic Information of the app, into .env or wherever both read it,',
      'and restart the service. If both have the same: the clocks of the two machines are minutes apart.',
    ]
    return fail(NAME, 'the running service has another SLACK_SIGNING_SECRET', fix.join('\n'))
  }
  const fix = 'Let BASE_URL lead to this service: a proxy must pass requests on as they are.'
  return fail(NAME, `what is signed with it is answered ${status ?? 'not at all'} instead of 200`, fix)
}
