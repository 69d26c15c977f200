import { type Check, fail, ok } from '../check.ts'
import { checkUnsigned } from '../check-unsigned.ts'
import { callSlack } from './call-slack.ts'
import { checkSigned } from './check-signed.ts'
import { noAnswer } from './check-token.ts'

/** Can Slack send to us, is what nobody signed refused, and what is signed with our secret taken? */
export async function checkEventsAddress(baseUrl: string, signingSecret: string): Promise<Check[]> {
  const secure = baseUrl.startsWith('https:')
    ? ok('BASE_URL', baseUrl)
    : fail(
        'BASE_URL',
        `Slack sends only to https: addresses, not to ${baseUrl}`,
        'Set BASE_URL to the public https: address, or use Socket Mode: SLACK_APP_TOKEN.',
      )
  const address = `${baseUrl}/slack/events`
  const body = new URLSearchParams({ payload: '{}' })
  const unsigned = await checkUnsigned({ name: 'Events address', platform: 'Slack', address, body })
  return unsigned.status === 'ok'
    ? [secure, unsigned, await checkSigned(address, signingSecret)]
    : [secure, unsigned]
}

/** Would Slack let us connect? The address it hands out is not used, and ends by itself. */
export async function checkAppToken(apiUrl: string, token: string): Promise<Check> {
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
