import type { Config } from '../../config/config.ts'
import type { TeamsSettings } from '../../config/teams.ts'
import type { CommandResult } from '../tell.ts'
import { type Check, fail, ok, warn } from './check.ts'
import { checkConfiguration } from './check-configuration.ts'
import { checkUnsigned } from './check-unsigned.ts'
import { reportChecks } from './report.ts'
import { checkConversations } from './teams/check-conversations.ts'
import { checkKeys } from './teams/check-keys.ts'
import { checkSecret } from './teams/check-secret.ts'

/** `countersign doctor teams`: asks Microsoft and our own address, changes nothing, and says what to do. */
export async function runTeamsDoctor(): Promise<CommandResult> {
  return reportChecks(await examine())
}

async function examine(): Promise<Check[]> {
  const { config, checks } = checkConfiguration()
  if (config === undefined) return checks
  const { teams } = config
  if (teams === undefined) {
    const fix =
      'Register the bot (docs/teams.md). Then set TEAMS_APP_ID, TEAMS_APP_PASSWORD and TEAMS_TENANT_ID.'
    return [fail('Teams', 'not set up: no TEAMS_ variable is set', fix)]
  }
  return [
    describe(teams),
    ...(await checkMicrosoft(teams)),
    ...(await checkReceiving(config, teams)),
    await checkConversations(config, teams.tenantId),
  ]
}

function describe({ appId, tenantId, unauthenticated }: TeamsSettings): Check {
  if (!unauthenticated) return ok('Teams', `bot ${appId} in tenant ${tenantId}`)
  const detail = 'TEAMS_ALLOW_UNAUTHENTICATED=1: anybody who reaches the service can speak as anybody'
  return warn('Teams', detail, 'For test clients on this machine only. Unset it, and set TEAMS_APP_ID.')
}

async function checkMicrosoft(teams: TeamsSettings): Promise<Check[]> {
  return teams.unauthenticated ? [] : Promise.all([checkSecret(teams), checkKeys(teams.openIdUrl)])
}

async function checkReceiving({ baseUrl }: Config, { unauthenticated }: TeamsSettings): Promise<Check[]> {
  if (unauthenticated) return []
  const secure = baseUrl.startsWith('https:')
    ? ok('BASE_URL', baseUrl)
    : fail(
        'BASE_URL',
        `Teams sends only to https: addresses, not to ${baseUrl}`,
        'Set BASE_URL to the public https: address.',
      )
  const called = await checkUnsigned({
    name: 'Messages',
    platform: 'Teams',
    address: `${baseUrl}/api/messages`,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ type: 'message', id: 'countersign-doctor', text: 'help' }),
  })
  return [secure, called]
}
