import { type RequestHandler, Router } from 'express'
import { endSession, refreshSession } from '../../flow/people/read-session.ts'
import { signInWithBackupCode, signInWithTotp } from '../../flow/people/sign-in-with-code.ts'
import { signInWithPasskey, startPasskeySignIn } from '../../flow/people/sign-in-with-passkey.ts'
import { setGrantCookies } from '../grant-cookies.ts'
import type { HttpDeps } from '../http-deps.ts'
import { readCookie, writeCookie } from '../middleware/cookies.ts'
import { sameOrigin } from '../middleware/csrf.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByAddress } from '../middleware/limit.ts'
import { clientOf, requireCookie, requireSession, sessionOf, signingInClient } from '../middleware/session.ts'
import { parseBody } from '../parse.ts'
import { presentGrant, presentUser } from '../present-people.ts'
import { codeSignInBody, passkeySignInBody } from '../schemas/people.ts'

/** Signing in and out. */
export function sessionRoutes(deps: HttpDeps): Router {
  const open = [limitByAddress(deps, 'auth'), sameOrigin(deps)]
  const session = requireSession(deps)
  const router = Router()
  router.get('/', session, current)
  router.delete('/', session, end(deps))
  router.post('/refresh', session, requireCookie, refresh(deps))
  router.post('/passkey/options', open, jsonBody, passkeyOptions(deps))
  router.post('/passkey', open, jsonBody, byPasskey(deps))
  router.post('/totp', open, jsonBody, byCode(deps, signInWithTotp))
  router.post('/backup-code', open, jsonBody, byCode(deps, signInWithBackupCode))
  return router
}

const current: RequestHandler = (_request, response) => {
  const { session, user } = sessionOf(response)
  response.json({ user: presentUser(user), expires_at: session.expires_at.toISOString() })
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
    response.json(presentGrant({ ...(await refreshSession(deps, who)), user: who.user }))
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
    response.json(presentGrant(grant))
  }
}

function byCode(deps: HttpDeps, signIn: typeof signInWithTotp): RequestHandler {
  return async (request, response) => {
    const { email, code } = parseBody(codeSignInBody, request.body)
    const device = readCookie(request, 'device', deps.settings.baseUrl)
    const grant = await signIn(deps, { email, code, device }, await signingInClient(deps, request))
    setGrantCookies(response, deps, grant)
    response.json(presentGrant(grant))
  }
}
