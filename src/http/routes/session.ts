import { type RequestHandler, Router } from 'express'
import { placesOf } from '../../flow/people/accounts.ts'
import { standInOf } from '../../flow/people/delegates.ts'
import { endSession, refreshSession } from '../../flow/people/sessions.ts'
import {
  signInWithBackupCode,
  signInWithPasskey,
  signInWithTotp,
  startPasskeySignIn,
} from '../../flow/people/sign-in.ts'
import {
  codeSignInBody,
  passkeySignInBody,
  presentGrant,
  presentPlaces,
  presentUser,
} from '../api/session.ts'
import { setGrantCookies } from '../grant-cookies.ts'
import type { HttpDeps } from '../http-deps.ts'
import { readCookie, writeCookie } from '../middleware/cookies.ts'
import { sameOrigin } from '../middleware/csrf.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByAddress } from '../middleware/limit.ts'
import { clientOf, requireCookie, requireSession, sessionOf, signingInClient } from '../middleware/session.ts'
import { parseBody } from '../parse.ts'

/** Signing in and out. */
export function sessionRoutes(deps: HttpDeps): Router {
  const open = [limitByAddress(deps, 'auth'), sameOrigin(deps)]
  const session = requireSession(deps)
  const router = Router()
  router.get('/', session, current(deps))
  router.delete('/', session, end(deps))
  router.post('/refresh', session, requireCookie, refresh(deps))
  router.post('/passkey/options', open, jsonBody, passkeyOptions(deps))
  router.post('/passkey', open, jsonBody, byPasskey(deps))
  router.post('/totp', open, jsonBody, byCode(deps, signInWithTotp))
  router.post('/backup-code', open, jsonBody, byCode(deps, signInWithBackupCode))
  return router
}

function current(deps: HttpDeps): RequestHandler {
  return async (_request, response) => {
    const { session, user } = sessionOf(response)
    const [standIn, places] = await Promise.all([standInOf(deps, user), placesOf(deps, user)])
    response.json({
      user: presentUser(user, standIn),
      expires_at: session.expires_at.toISOString(),
      ...presentPlaces(places, user.id),
    })
  }
}

function end(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    await endSession(deps, sessionOf(response), clientOf(request).address)
    writeCookie(response, 'session', deps.settings.baseUrl, '', 0)
    response.json({ ok: true })
  }
}

function refresh(deps: HttpDeps): RequestHandler {
  return async (_request, response) => {
    const who = sessionOf(response)
    const grant = { ...(await refreshSession(deps, who)), user: who.user }
    response.json(presentGrant(grant, await standInOf(deps, who.user)))
  }
}

function passkeyOptions(deps: HttpDeps): RequestHandler {
  return async (_request, response) => {
    response.json(await startPasskeySignIn(deps))
  }
}

function byPasskey(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { credential } = parseBody(passkeySignInBody, request.body)
    const grant = await signInWithPasskey(deps, credential, await signingInClient(deps, request))
    setGrantCookies(response, deps, grant)
    response.json(presentGrant(grant, await standInOf(deps, grant.user)))
  }
}

function byCode(deps: HttpDeps, signIn: typeof signInWithTotp): RequestHandler {
  return async (request, response) => {
    const { email, code } = parseBody(codeSignInBody, request.body)
    const device = readCookie(request, 'device', deps.settings.baseUrl)
    const grant = await signIn(deps, { email, code, device }, await signingInClient(deps, request))
    setGrantCookies(response, deps, grant)
    response.json(presentGrant(grant, await standInOf(deps, grant.user)))
  }
}
