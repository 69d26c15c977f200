import { createHmac } from 'node:crypto'
import { type Check, fail, ok } from '../check.ts'
import { statusOf } from '../check-unsigned.ts'

const NAME = 'Signing secret'

/**
 * Does the running service take what is signed with our secret (https://docs.slack.dev/authentication/verifying-requests-from-slack)?
 * It is sent what Slack sends to see that somebody is there: it is answered, and nothing follows.
 */
export async function checkSigned(address: string, signingSecret: string): Promise<Check> {
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
