import { BOT_SCOPES } from '../../../../adapters/slack/manifest.ts'
import { type Check, fail, ok, warn } from '../check.ts'
import { callSlack, type SlackAnswer } from './call-slack.ts'

const NOT_HERE = 'Let this machine reach it over https, directly, or set SLACK_API_URL to the right one.'

/** Nobody answered at the address of the API. */
export function noAnswer(apiUrl: string): Check {
  return fail('Slack API', `nobody answers at ${apiUrl}`, NOT_HERE)
}

/** Is the token good, may it do what the app does, and does looking people up work? */
export async function checkBotToken(apiUrl: string, token: string): Promise<Check[]> {
  const name = 'Bot token'
  const answer = await callSlack(apiUrl, 'auth.test', { token })
  if (answer === undefined) return [noAnswer(apiUrl)]
  if (!answer.ok) return [fail(name, `Slack refuses it: ${answer.error}`, fixForToken(answer.error))]
  const found = ok(name, `good for ${workspaceOf(answer)}`)
  return [found, checkScopes(answer), await checkLookup(apiUrl, token)]
}

/** Of the answer to auth.test. */
function workspaceOf({ body }: SlackAnswer): string {
  return `${printable(body.team)} (${printable(body.team_id)})`
}

/** What the app was given, against what it needs. */
export function checkScopes({ scopes }: SlackAnswer): Check {
  const name = 'Scopes'
  if (scopes === undefined) {
    const fix = `Compare OAuth & Permissions of the app with: ${BOT_SCOPES.join(', ')}`
    return warn(name, 'Slack did not say which the token has', fix)
  }
  const missing = BOT_SCOPES.filter((scope) => !scopes.includes(scope))
  if (missing.length === 0) return ok(name, `all ${BOT_SCOPES.length} that are needed`)
  const fix = [
    'Add them under OAuth & Permissions, Bot Token Scopes, at https://api.slack.com/apps, and install the app again;',
    'or give the app the manifest that this prints: npx countersign slack manifest',
  ]
  return fail(name, `missing: ${missing.join(', ')}`, fix.join('\n'))
}

/** The address belongs to nobody: example.com is reserved (RFC 2606). */
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
      ? 'It takes users:read and users:read.email; see above. Without it only people who linked themselves get cards.'
      : 'Try again. Without it only people who linked themselves get cards.'
  return fail(name, `Slack refuses it: ${answer.error}`, fix)
}

function fixForToken(error: string | undefined): string {
  switch (error) {
    case 'invalid_auth':
    case 'not_authed':
      return 'Copy the Bot User OAuth Token anew from OAuth & Permissions of the app into SLACK_BOT_TOKEN.'
    case 'account_inactive':
    case 'token_revoked':
      return 'The app was removed from the workspace. Install it again, and set SLACK_BOT_TOKEN to the new token.'
    case 'token_expired':
      return 'Switch token rotation off (OAuth & Permissions), install the app again, and set SLACK_BOT_TOKEN.'
    default:
      return 'Look the code up at https://docs.slack.dev/reference/methods/auth.test'
  }
}

/** Workspaces name themselves, and this is printed to a terminal. */
export function printable(text: unknown): string {
  return typeof text === 'string' ? text.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?').slice(0, 80) : '?'
}
