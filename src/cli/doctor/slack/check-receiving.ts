import { type Check, fail, ok } from '../check.ts'
import { callSlack } from './call-slack.ts'
import { noAnswer } from './check-token.ts'

const TIMEOUT_MS = 5_000

/** Can Slack send to us, and is what nobody signed refused? Whether Slack's network gets here only Slack can try. */
export async function checkEventsAddress(baseUrl: string): Promise<Check[]> {
  const secure = baseUrl.startsWith('https:')
    ? ok('BASE_URL', baseUrl)
    : fail(
        'BASE_URL',
        `Slack sends only to https: addresses, not to ${baseUrl}`,
        'Set BASE_URL to the public https: address, or use Socket Mode: SLACK_APP_TOKEN.',
      )
  return [secure, await checkUnsigned(`${baseUrl}/slack/events`)]
}

async function checkUnsigned(address: string): Promise<Check> {
  const name = 'Events address'
  const status = await statusOf(address)
  switch (status) {
    case 401:
      return ok(name, `${address} refuses what is not signed`)
    case undefined: {
      const fix = 'Start the service, and let BASE_URL lead to it, from the internet too.'
      return fail(name, `nobody answers at ${address}`, fix)
    }
    case 404: {
      const fix =
        'Restart the service with these settings: what runs there has no Slack. Or BASE_URL leads elsewhere.'
      return fail(name, `nothing is there: ${address} answers 404`, fix)
    }
    default: {
      const fix = 'Let BASE_URL lead to this service: a proxy must pass requests on as they are.'
      return fail(name, `${address} answers ${status} instead of 401`, fix)
    }
  }
}

async function statusOf(address: string): Promise<number | undefined> {
  try {
    const response = await fetch(address, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ payload: '{}' }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    await response.body?.cancel()
    return response.status
  } catch {
    return undefined
  }
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
