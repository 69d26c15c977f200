import { z } from 'zod'
import { BOT_SCOPE } from '../../../../adapters/teams/connector.ts'
import type { TeamsSettings } from '../../../config/teams.ts'
import { type Check, fail, ok } from '../check.ts'

const TIMEOUT_MS = 5_000
const NAME = 'Client secret'

const tokenSchema = z.object({ access_token: z.string().min(1) })
/** Microsoft's own numbers stand beside OAuth's code (https://learn.microsoft.com/entra/identity-platform/reference-error-codes). */
const errorSchema = z.object({
  error: z.string().optional().catch(undefined),
  error_description: z.string().catch(''),
  error_codes: z.array(z.number().int()).catch([]),
})

/** Does the tenant give the bot a token? The token is not used. */
export async function checkSecret(teams: TeamsSettings): Promise<Check> {
  const { appId, appPassword, tenantId, loginUrl } = teams
  const address = `${loginUrl}/${tenantId}/oauth2/v2.0/token`
  const form = {
    grant_type: 'client_credentials',
    client_id: appId,
    client_secret: appPassword,
    scope: BOT_SCOPE,
  }
  const answer: { body: unknown } | undefined = await fetch(address, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams(form),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
    .then(async (response) => ({ body: await response.json().catch(() => undefined) }))
    .catch(() => undefined)
  if (answer === undefined) {
    return fail(NAME, `nobody answers at ${loginUrl}`, 'Let this machine reach it over https, directly.')
  }
  const { body } = answer
  if (tokenSchema.safeParse(body).success) return ok(NAME, 'the tenant gives the bot tokens')
  const refused = errorSchema.safeParse(body)
  if (!refused.success) {
    const fix = 'Something else answers there: a proxy, or a wrong TEAMS_LOGIN_URL.'
    return fail(NAME, `what answers at ${loginUrl} is not Microsoft’s sign-in`, fix)
  }
  const code = codeOf(refused.data)
  return fail(NAME, `Microsoft refuses it: ${code}`, FIXES[code] ?? OTHERWISE)
}

/** It is printed to a terminal. */
function codeOf({ error, error_description, error_codes }: z.infer<typeof errorSchema>): string {
  const [, told] = /\bAADSTS(\d{1,10})\b/.exec(error_description) ?? []
  const number = error_codes[0] ?? told
  if (number !== undefined) return `AADSTS${number}`
  return error !== undefined && /^[\w.]{1,60}$/.test(error) ? error : 'an unknown error'
}

const NEW_SECRET =
  'Make a client secret under Certificates & secrets of the app registration, and set TEAMS_APP_PASSWORD to its value.'
const ELSEWHERE = [
  'Compare TEAMS_APP_ID and TEAMS_TENANT_ID with the Azure Bot’s page Configuration: its type must be Single Tenant,',
  'and the app registration must be in that tenant.',
].join('\n')
const OTHERWISE =
  'Compare all three TEAMS_ settings with the Azure Bot; look the code up at https://login.microsoftonline.com/error'

const FIXES: Readonly<Record<string, string>> = {
  AADSTS7000215: `${NEW_SECRET}\nIt is the value, shown once, not the secret’s id.`,
  AADSTS7000222: `The secret has run out. ${NEW_SECRET}`,
  AADSTS700016: ELSEWHERE,
  AADSTS90002: ELSEWHERE,
  AADSTS900023: ELSEWHERE,
  AADSTS7000112: 'The app registration is disabled: enable it under Enterprise applications, Properties.',
  invalid_client: NEW_SECRET,
  unauthorized_client: ELSEWHERE,
}
