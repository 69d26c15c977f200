import { z } from 'zod'
import type { SlackSettings } from '../../src/config/slack.ts'
import type { Log } from '../../src/flow/ports.ts'
import { troubleOf } from './outcome.ts'
import { createWebClient } from './web-client.ts'
import type { Workspace } from './workspaces.ts'

const whoami = z.object({
  team_id: z.string(),
  team: z.string().optional(),
  user_id: z.string(),
  enterprise_id: z.string().nullish(),
  is_enterprise_install: z.boolean().nullish(),
})

/** After Slack could not say whose the token is, it is not asked again for so many milliseconds. */
const NOT_AGAIN_MS = 5_000

/**
 * The workspace of the one token, which only Slack can tell: asked when it is first needed, once for all who wait, and
 * again later as long as there was no answer.
 */
export function createOwnWorkspace(
  apiUrl: string,
  { botToken }: SlackSettings['workspaces'] & { kind: 'one' },
  log: Log,
): () => Promise<Workspace | undefined> {
  const client = createWebClient(apiUrl, botToken, log)
  let known: Workspace | undefined
  let asking: Promise<Workspace | undefined> | undefined
  let notBefore = 0

  const ask = async (): Promise<Workspace | undefined> => {
    try {
      const said = whoami.parse(await client.auth.test())
      const wide = said.is_enterprise_install === true ? said.enterprise_id : undefined
      const tenant = wide ?? said.team_id
      known = { tenant, name: said.team ?? tenant, token: botToken, botUserId: said.user_id, client }
    } catch (error) {
      notBefore = performance.now() + NOT_AGAIN_MS
      log.error({ reason: troubleOf(error).code }, 'slack did not say which workspace the bot token is for')
    }
    asking = undefined
    return known
  }
  return async () => {
    if (known !== undefined) return known
    if (asking === undefined && performance.now() >= notBefore) asking = ask()
    return asking
  }
}
