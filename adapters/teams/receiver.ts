import type { TeamsSettings } from '../../src/config/teams.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { Mount } from '../../src/http/http-deps.ts'
import { guardActivity } from './activity-guard.ts'
import { createBackground } from './background.ts'
import type { TeamsBot } from './bot-port.ts'
import type { Places } from './places.ts'
import { readJsonBody } from './read-body.ts'
import { takeEvents } from './take-events.ts'
import { createTokenGuard } from './token-guard.ts'
import { createTokenKeys } from './token-keys.ts'

const PATH = '/api/messages'

/**
 * `POST /api/messages`. In this order: the token, then the body, then whether it may speak to this bot at all; the library
 * comes last. Every refusal is a `Refusal`: the same JSON as everywhere, and nothing of what went wrong inside.
 */
export function createTeamsReceiver(
  settings: TeamsSettings,
  bot: TeamsBot,
  places: Places,
  deps: FlowDeps,
): { mount: Mount; stop(): Promise<void> } {
  const background = createBackground(deps.log)
  const parts = { deps, calls: bot, places, tenant: settings.tenantId }
  const events = takeEvents(parts, background)
  const checkToken = createTokenGuard(settings.appId, createTokenKeys(settings.openIdUrl, deps), deps)
  return {
    mount(app) {
      app.post(PATH, async (request, response) => {
        response.setHeader('Cache-Control', 'no-store')
        const { authorization } = request.headers
        const claims = settings.unauthenticated ? undefined : await checkToken(authorization)
        const body = await readJsonBody(request)
        guardActivity(body, claims, settings, deps.log)
        const { status, body: answer } = await bot.receive(authorization ?? '', body, events)
        response.status(status)
        if (answer === undefined) response.end()
        else response.json(answer)
      })
    },
    stop: () => background.settled(),
  }
}
