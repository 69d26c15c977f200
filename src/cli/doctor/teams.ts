import { z } from 'zod'
import { BOT_SCOPE, tokenUrl } from '../../../adapters/teams/connector.ts'
import { FetchFailure } from '../../../adapters/teams/fetch-json.ts'
import { readTokenKeys } from '../../../adapters/teams/token-guard.ts'
import { inspectConversations } from '../../compose/inspect-store.ts'
import type { Config } from '../../config/config.ts'
import type { TeamsSettings } from '../../config/teams.ts'
import type { CommandResult } from '../terminal.ts'
import {
  type Check,
  checkCards,
  checkHttps,
  checkUnsigned,
  diagnose,
  fail,
  lookInStore,
  ok,
  printableCode,
  reasonOf,
  send,
  warn,
} from './checks.ts'

/** `countersign doctor teams`: asks Microsoft and our own address, changes nothing, and says what to do. */
export function runTeamsDoctor(): Promise<CommandResult> {
  return diagnose(examine)
}

async function examine(config: Config): Promise<Check[]> {
  const { teams } = config
  if (teams === undefined) {
    const fix =
      'Register the bot (docs/teams.md). Then set TEAMS_APP_ID, TEAMS_APP_PASSWORD and TEAMS_TENANT_ID.'
    return [fail('Teams', 'not set up: no TEAMS_ variable is set', fix)]
  }
  return [
    describe(teams),
    ...(teams.unauthenticated ? [] : await checkConnection(config, teams)),
    ...(await checkConversations(config, teams.tenantId)),
    ...(await checkCards(config, 'teams')),
  ]
}

function describe({ appId, tenantId, unauthenticated }: TeamsSettings): Check {
  if (!unauthenticated) return ok('Teams', `bot ${appId} in tenant ${tenantId}`)
  const detail = 'TEAMS_ALLOW_UNAUTHENTICATED=1: anyone who reaches the service can speak as any person'
  return warn('Teams', detail, 'For test clients on this machine only. Unset it, and set TEAMS_APP_ID.')
}

async function checkConnection({ baseUrl }: Config, teams: TeamsSettings): Promise<Check[]> {
  const microsoft = await Promise.all([checkSecret(teams), checkKeys(teams.openIdUrl)])
  const secure = checkHttps('Teams', baseUrl, 'Set BASE_URL to the public https: address.')
  const called = await checkUnsigned({
    name: 'Messages',
    platform: 'Teams',
    address: `${baseUrl}/api/messages`,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ type: 'message', id: 'countersign-doctor', text: 'help' }),
  })
  return [...microsoft, secure, called]
}

const SECRET = 'Client secret'

const tokenSchema = z.object({ access_token: z.string().min(1) })
/** Microsoft's own numbers stand beside OAuth's code (https://learn.microsoft.com/entra/identity-platform/reference-error-codes). */
const errorSchema = z.object({
  error: z.string().optional().catch(undefined),
  error_description: z.string().catch(''),
  error_codes: z.array(z.number().int()).catch([]),
})

/** Checks whether the tenant gives the bot a token. The token is not used. */
async function checkSecret(teams: TeamsSettings): Promise<Check> {
  const { appId, appPassword, loginUrl } = teams
  const address = tokenUrl(teams)
  const form = {
    grant_type: 'client_credentials',
    client_id: appId,
    client_secret: appPassword,
    scope: BOT_SCOPE,
  }
  const answer: { body: unknown } | undefined = await send(address, new URLSearchParams(form))
    .then(async (response) => ({ body: await response.json().catch(() => undefined) }))
    .catch(() => undefined)
  if (answer === undefined) {
    return fail(
      SECRET,
      `nothing answers at ${loginUrl}`,
      'Allow this machine to reach it directly over https.',
    )
  }
  const { body } = answer
  if (tokenSchema.safeParse(body).success) return ok(SECRET, 'the tenant gives the bot tokens')
  const refused = errorSchema.safeParse(body)
  if (!refused.success) {
    const fix = 'Something else answers there: a proxy, or a wrong TEAMS_LOGIN_URL.'
    return fail(SECRET, `the server at ${loginUrl} is not Microsoft’s sign-in`, fix)
  }
  const code = codeOf(refused.data)
  return fail(SECRET, `Microsoft refuses it: ${code}`, FIXES[code] ?? OTHERWISE)
}

function codeOf({ error, error_description, error_codes }: z.infer<typeof errorSchema>): string {
  const [, told] = /\bAADSTS(\d{1,10})\b/.exec(error_description) ?? []
  const number = error_codes[0] ?? told
  if (number !== undefined) return `AADSTS${number}`
  return printableCode(error)
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
  AADSTS7000222: `The secret has expired. ${NEW_SECRET}`,
  AADSTS700016: ELSEWHERE,
  AADSTS90002: ELSEWHERE,
  AADSTS900023: ELSEWHERE,
  AADSTS7000112: 'The app registration is disabled: enable it under Enterprise applications, Properties.',
  invalid_client: NEW_SECRET,
  unauthorized_client: ELSEWHERE,
}

const KEYS = 'Keys of Teams'
const CHANNEL = 'msteams'

/** Checks whether we can read the keys by which activities are verified; without them every activity is refused. */
async function checkKeys(openIdUrl: string): Promise<Check> {
  try {
    const keys = [...(await readTokenKeys(openIdUrl)).values()]
    const endorsed = keys.filter(({ endorsements }) => endorsements.includes(CHANNEL))
    if (endorsed.length > 0) return ok(KEYS, `${endorsed.length} of ${keys.length} are endorsed for Teams`)
    const fix = `Something else answers at ${openIdUrl}: a proxy, or a wrong TEAMS_OPENID_URL.`
    return fail(KEYS, `none of ${keys.length} is endorsed for Teams`, fix)
  } catch (error) {
    return fail(KEYS, whyNot(error), `Allow this machine to reach ${openIdUrl} directly.`)
  }
}

function whyNot(error: unknown): string {
  if (!(error instanceof FetchFailure)) return `cannot be read: ${reasonOf(error).slice(0, 200)}`
  const { status, code } = error
  const shown = printableCode(code)
  return status === 0 ? `cannot be reached (${shown})` : `cannot be read: status ${status} (${shown})`
}

const CONVERSATIONS = 'Conversations'

const NO_CONVERSATIONS = warn(
  CONVERSATIONS,
  'no one has the app yet, as far as Teams has reported',
  [
    'Upload the package that this writes, and install it for people: npx countersign teams package',
    'If some have it: in Azure, the bot’s type must be Single Tenant, its messaging endpoint BASE_URL/api/messages,',
    'and the channel Microsoft Teams must be on. Then have one of them write “help” to the app.',
  ].join('\n'),
)

/** Counts the people and channels we can write to. Teams reports them when the app is installed or a person writes to it. */
function checkConversations(config: Config, tenantId: string): Promise<Check[]> {
  return lookInStore(CONVERSATIONS, config, [NO_CONVERSATIONS], async () => {
    const { people, channels } = await inspectConversations(config, tenantId)
    if (people + channels === 0) return [NO_CONVERSATIONS]
    const detail = `${counted(people, 'person', 'people')}, ${counted(channels, 'channel', 'channels')}`
    return [ok(CONVERSATIONS, detail)]
  })
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
