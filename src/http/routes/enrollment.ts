import { type RequestHandler, Router } from 'express'
import { standInOf } from '../../flow/people/delegates.ts'
import {
  enrollWithPasskey,
  enrollWithTotp,
  givesFactor,
  openEnrollment,
  startPasskeyEnrollment,
  startTotpEnrollment,
} from '../../flow/people/enroll.ts'
import {
  type enrollmentAnswer,
  enrollmentOptionsBody,
  lookUpBody,
  passkeyEnrollmentBody,
  presentEnrollment,
  type totpEnrolledAnswer,
  totpEnrollmentBody,
} from '../api/enrollment.ts'
import type { totpSetUpAnswer } from '../api/factors.ts'
import { presentGrant, type sessionAnswer } from '../api/session.ts'
import { type Handler, parseBody } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { setGrantCookies } from '../middleware/cookies.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByAddress } from '../middleware/limit.ts'
import { sameOrigin, signingInClient } from '../middleware/session.ts'
import { presentTotpSetUp } from './me.ts'

/** Signing up by a one-time link. The token comes in the body, never in the address. */
export function enrollmentRoutes(deps: HttpDeps): Router {
  const steps = [limitByAddress(deps, 'auth'), sameOrigin(deps), ...jsonBody]
  const router = Router()
  router.post('/lookup', steps, lookUp(deps))
  router.post('/passkey/options', steps, passkeyOptions(deps))
  router.post('/passkey', steps, passkey(deps))
  router.post('/totp/options', steps, totpOptions(deps))
  router.post('/totp', steps, totp(deps))
  return router
}

function lookUp(deps: HttpDeps): Handler<typeof enrollmentAnswer> {
  return async (request, response) => {
    const { token } = parseBody(lookUpBody, request.body)
    const opened = await openEnrollment(deps, token)
    response.json(presentEnrollment(opened, givesFactor(opened.enrollment, opened.user)))
  }
}

function passkeyOptions(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    response.json(await startPasskeyEnrollment(deps, parseBody(enrollmentOptionsBody, request.body)))
  }
}

function passkey(deps: HttpDeps): Handler<typeof sessionAnswer> {
  return async (request, response) => {
    const body = parseBody(passkeyEnrollmentBody, request.body)
    const grant = await enrollWithPasskey(deps, body, await signingInClient(deps, request))
    setGrantCookies(response, deps, grant)
    response.status(201).json(presentGrant(grant, await standInOf(deps, grant.user)))
  }
}

function totpOptions(deps: HttpDeps): Handler<typeof totpSetUpAnswer> {
  return async (request, response) => {
    const setUp = await startTotpEnrollment(deps, parseBody(enrollmentOptionsBody, request.body))
    response.json(await presentTotpSetUp(setUp))
  }
}

function totp(deps: HttpDeps): Handler<typeof totpEnrolledAnswer> {
  return async (request, response) => {
    const body = parseBody(totpEnrollmentBody, request.body)
    const grant = await enrollWithTotp(deps, body, await signingInClient(deps, request))
    setGrantCookies(response, deps, grant)
    const granted = presentGrant(grant, await standInOf(deps, grant.user))
    response.status(201).json({ ...granted, backup_codes: grant.backup_codes })
  }
}
