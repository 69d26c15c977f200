import { z } from 'zod'
import { removeInstallation } from '../../src/flow/chat/manage-installations.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { readIncoming } from './incoming.ts'
import type { SlackApp } from './slack-app.ts'

type UninstallDeps = Pick<FlowDeps, 'installations' | 'audit' | 'clock' | 'random' | 'log'>

const eventSchema = z.object({
  /** Unix seconds. */
  event_time: z.number().optional().catch(undefined),
  event: z.object({
    type: z.string(),
    tokens: z
      .object({ bot: z.array(z.string()).catch([]) })
      .optional()
      .catch(undefined),
  }),
})

/** A workspace removed the app, or took its tokens back: what we keep of it is deleted (Slack says both, more than once). */
export function listenForUninstalls(
  app: SlackApp,
  deps: UninstallDeps,
  workspaces: { forget(tenant: string): void },
): void {
  for (const type of ['app_uninstalled', 'tokens_revoked']) {
    app.event(type, async ({ body }) => forgetWorkspace(deps, workspaces, body))
  }
}

async function forgetWorkspace(
  deps: UninstallDeps,
  workspaces: { forget(tenant: string): void },
  body: unknown,
): Promise<void> {
  const { tenant } = readIncoming(body)
  const { event, event_time } = eventSchema.parse(body)
  // A person took back their own token: the app never had one.
  const ours = event.type === 'app_uninstalled' || (event.tokens?.bot.length ?? 0) > 0
  if (tenant === undefined || !ours) return
  const about = { tenant, event: event.type }
  const kept = await deps.installations.find('slack', tenant)
  // Slack repeats events for minutes: one from before must not undo a new installation.
  if (
    kept !== undefined &&
    event_time !== undefined &&
    kept.installed_at.getTime() >= (event_time + 1) * 1000
  ) {
    deps.log.info(about, 'the app was installed again since it was removed')
    return
  }
  const removed = await removeInstallation(deps, 'slack', tenant)
  workspaces.forget(tenant)
  deps.log.warn({ ...about, removed }, 'a slack workspace removed the app')
}
