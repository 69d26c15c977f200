import { type RequestHandler, Router } from 'express'
import type { HttpDeps } from '../http-deps.ts'
import { authenticate, callerOf } from '../middleware/authenticate.ts'
import { limitByKey } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { whenSession } from '../middleware/when-session.ts'

/** The callback signing secrets (interface, endpoint 7): one for an API key, all live ones for a session. */
export function webhookSecretRoutes(deps: HttpDeps): Router {
  const router = Router()
  const forSession = [requireSession(deps), secretsOfAccount(deps)]
  const forKey = [authenticate(deps), limitByKey(deps, 'key'), secretOfKey(deps)]
  // An API key is answered as one and never falls back to the browser's cookie; no credential at all is a missing key.
  router.get('/', whenSession(deps.settings.baseUrl, forSession), forKey)
  return router
}

function secretOfKey(deps: HttpDeps): RequestHandler {
  return (_request, response) => {
    const { key } = callerOf(response)
    const webhook_signing_secret = deps.vault.webhookSecret(key.id, key.secret_version)
    response.json({ webhook_signing_secret })
  }
}

function secretsOfAccount(deps: HttpDeps): RequestHandler {
  return async (_request, response) => {
    const live = (await deps.apiKeys.list(sessionOf(response).user.account_id)).filter(
      (key) => key.revoked_at === null,
    )
    const keys = live.map((key) => ({
      id: key.id,
      name: key.name,
      key_prefix: key.key_prefix,
      webhook_signing_secret: deps.vault.webhookSecret(key.id, key.secret_version),
    }))
    response.json({ keys })
  }
}
