import type { FlowDeps } from '../../src/flow/deps.ts'
import { ACTION_IDS } from './action-buttons.ts'
import { OPEN_LINK_ID } from './answer-blocks.ts'
import { listenForCommands } from './commands.ts'
import { healCard } from './heal-card.ts'
import type { SlackApp } from './slack-app.ts'
import { listenForUninstalls } from './uninstalled.ts'

/** Everything that somebody can do in Slack. What is not here is answered by `Answering`. */
export function listen(app: SlackApp, deps: FlowDeps, workspaces: { forget(tenant: string): void }): void {
  listenForCommands(app, deps)
  listenForUninstalls(app, deps, workspaces)
  for (const id of [...Object.values(ACTION_IDS), OPEN_LINK_ID]) {
    // Links: the browser is on its way already, and nothing is decided here (T46).
    app.action(id, async ({ ack, body }) => {
      await ack()
      await healCard(deps, body).catch((error: unknown) =>
        deps.log.warn({ error }, 'a card on slack could not be looked at'),
      )
    })
  }
  app.event(/^(?!(?:app_uninstalled|tokens_revoked)$)/, async ({ event }) => {
    deps.log.info({ event: event.type }, 'slack told of something that nobody listens to')
  })
}
