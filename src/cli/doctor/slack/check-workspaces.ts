import type { InstalledToken } from '../../../compose/inspect-store.ts'
import { redact } from '../../../compose/log.ts'
import { hasStore } from '../../../compose/open-store.ts'
import type { Config } from '../../../config/config.ts'
import { type Check, fail, ok, warn } from '../check.ts'
import { callSlack } from './call-slack.ts'
import { checkScopes, noAnswer, printable } from './check-token.ts'

/** Workspaces that are asked about; the others are counted. */
const MOST = 20

/** Does Slack know the app? A code that nobody was given is refused only after id and secret were found good. */
export async function checkClient(
  apiUrl: string,
  { clientId, clientSecret }: { clientId: string; clientSecret: string },
): Promise<Check> {
  const name = 'Client'
  const args = { client_id: clientId, client_secret: clientSecret, code: 'countersign-doctor' }
  const answer = await callSlack(apiUrl, 'oauth.v2.access', { args })
  if (answer === undefined) return noAnswer(apiUrl)
  if (answer.error === 'invalid_code') return ok(name, 'Slack knows SLACK_CLIENT_ID and SLACK_CLIENT_SECRET')
  const fix = 'Copy SLACK_CLIENT_ID and SLACK_CLIENT_SECRET anew from Basic Information of the app.'
  return fail(name, `Slack refuses it: ${answer.error ?? 'it took a code that nobody was given'}`, fix)
}

/** The workspaces that installed the app: is each token good, and may it do what the app does? */
export async function checkWorkspaces(config: Config, apiUrl: string): Promise<Check[]> {
  const name = 'Workspaces'
  const none = warn(
    name,
    'none has installed the app yet',
    `Sign in, and open ${config.baseUrl}/slack/install`,
  )
  if (!hasStore(config)) return [none]
  try {
    // Slack's libraries come along, which no other command needs.
    const { inspectInstallations } = await import('../../../compose/inspect-store.ts')
    const installed = await inspectInstallations(config)
    if (installed.length === 0) return [none]
    const left = installed.length - MOST
    const more = left > 0 ? [ok(name, `${left} more, not asked about`)] : []
    return [...(await Promise.all(installed.slice(0, MOST).map((one) => checkOne(apiUrl, one)))), ...more]
  } catch (error) {
    const reason = String(redact(error instanceof Error ? error.message : String(error)))
    return [fail(name, reason, 'Run: npx countersign doctor')]
  }
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
