import { type ErrorRequestHandler, Router } from 'express'
import { Refusal } from '../../domain/errors.ts'
import {
  enrollWithPasskey,
  enrollWithTotp,
  givesFactor,
  openEnrollment,
  startPasskeyEnrollment,
  startTotpEnrollment,
} from '../../flow/joining/enroll.ts'
import { membershipsOf } from '../../flow/people/accounts.ts'
import { delegateOf } from '../../flow/people/delegates.ts'
import { proveSession } from '../../flow/people/recent-proof.ts'
import { endOneSession, endOtherSessions, endOwnSession, listSessions } from '../../flow/people/sessions.ts'
import {
  signInWithBackupCode,
  signInWithPasskey,
  signInWithTotp,
  startPasskeySignIn,
} from '../../flow/people/sign-in.ts'
import {
  type enrollmentAnswer,
  enrollmentOptionsBody,
  lookUpBody,
  passkeyEnrollmentBody,
  presentEnrollment,
  type totpEnrolledAnswer,
  totpEnrollmentBody,
} from '../api/enrollment.ts'
import { presentTotpSetUp, type totpSetUpAnswer } from '../api/factors.ts'
import {
  codeSignInBody,
  type currentSessionAnswer,
  type othersEndedAnswer,
  type ownSessionsAnswer,
  passkeySignInBody,
  presentGrant,
  presentMemberships,
  presentSession,
  presentUser,
  type provenAnswer,
  type sessionAnswer,
} from '../api/session.ts'
import type { okAnswer } from '../api/shared/fields.ts'
import { proofBody } from '../api/shared/proofs.ts'
import { drawQr } from '../draw-qr.ts'
import { bindTo, type Endpoint, type Handler, type WithId } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { readCookie, setGrantCookies, writeCookie } from '../middleware/cookies.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByAddress, limitByPerson } from '../middleware/limit.ts'
import {
  clientOf,
  requireCookie,
  requireSession,
  sameOrigin,
  sessionOf,
  signingInClient,
} from '../middleware/session.ts'
import { parseInput } from '../read-input.ts'

/** Creates the routes for signing in and out. */
export function sessionRoutes(deps: HttpDeps): Router {
  const open = [limitByAddress(deps, 'auth'), sameOrigin(deps)]
  const session = requireSession(deps)
  const router = Router()
  const on = bindTo(deps)
  router.get('/', session, on(showSession), signedOut)
  router.delete('/', session, on(signOut))
  router.post('/refresh', session, requireCookie, on(refreshSession))
  router.post('/proof', session, limitByPerson(deps, 'person'), jsonBody, on(proveAgain))
  router.post('/passkey/options', open, jsonBody, on(signInOptions))
  router.post('/passkey', open, jsonBody, on(signInByPasskey))
  router.post('/totp', open, jsonBody, signInByCode(deps, signInWithTotp))
  router.post('/backup-code', open, jsonBody, signInByCode(deps, signInWithBackupCode))
  return router
}

const showSession: Endpoint<typeof currentSessionAnswer> = async (deps, _request, response) => {
  const { session, user } = sessionOf(response)
  const [standIn, memberships] = await Promise.all([delegateOf(deps, user), membershipsOf(deps, user)])
  response.json({
    user: presentUser(user, standIn),
    expires_at: session.expires_at.toISOString(),
    ...presentMemberships(memberships, user.id),
  })
}

/** Answers 204 to `?optional=true` when signed out: on a page that works signed out, a refusal would show as a console error. */
const signedOut: ErrorRequestHandler = (error, request, response, next) => {
  const asked = request.query.optional === 'true'
  if (!asked || !(error instanceof Refusal) || error.code !== 'not_signed_in') return next(error)
  response.status(204).end()
}

const signOut: Endpoint<typeof okAnswer> = async (deps, request, response) => {
  await endOneSession(deps, sessionOf(response), clientOf(request).address, 'signed_out')
  writeCookie(response, 'session', deps.settings.baseUrl, '', 0)
  response.json({ ok: true })
}

const refreshSession: Endpoint<typeof sessionAnswer> = async (deps, _request, response) => {
  const { session, user } = sessionOf(response)
  const grant = { ...(await deps.tokens.issue(session, deps.clock.now())), user }
  response.json(presentGrant(grant, await delegateOf(deps, user)))
}

const proveAgain: Endpoint<typeof provenAnswer> = async (deps, request, response) => {
  const { proof } = parseInput(proofBody, request.body)
  const until = await proveSession(deps, sessionOf(response), proof, clientOf(request).address)
  response.json({ ok: true, proven_until: until.toISOString() })
}

const signInOptions: Endpoint = async (deps, _request, response) => {
  response.json(await startPasskeySignIn(deps))
}

const signInByPasskey: Endpoint<typeof sessionAnswer> = async (deps, request, response) => {
  const { credential } = parseInput(passkeySignInBody, request.body)
  const grant = await signInWithPasskey(deps, credential, await signingInClient(deps, request))
  setGrantCookies(response, deps, grant)
  response.json(presentGrant(grant, await delegateOf(deps, grant.user)))
}

function signInByCode(deps: HttpDeps, signIn: typeof signInWithTotp): Handler<typeof sessionAnswer> {
  return async function signInByCode(request, response) {
    const { email, code } = parseInput(codeSignInBody, request.body)
    const device = readCookie(request, 'device', deps.settings.baseUrl)
    const grant = await signIn(deps, { email, code, device }, await signingInClient(deps, request))
    setGrantCookies(response, deps, grant)
    response.json(presentGrant(grant, await delegateOf(deps, grant.user)))
  }
}

/** Creates the routes that list and end a person's sessions. Ending one only takes a right away, so it needs no proof. */
export function ownSessionRoutes(deps: HttpDeps): Router {
  const person = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  const on = bindTo(deps)
  router.get('/', person, on(listOwnSessions))
  router.post('/end-others', person, on(signOutOthers))
  router.post('/:id/end', person, on(signOutOne))
  return router
}

const listOwnSessions: Endpoint<typeof ownSessionsAnswer> = async (deps, _request, response) => {
  const who = sessionOf(response)
  const sessions = await listSessions(deps, who)
  response.json({
    data: sessions.map((session) => presentSession(session, who.session.id)),
    next_cursor: null,
  })
}

const signOutOthers: Endpoint<typeof othersEndedAnswer> = async (deps, request, response) => {
  const ended = await endOtherSessions(deps, sessionOf(response), clientOf(request).address)
  response.json({ ok: true, ended })
}

const signOutOne: Endpoint<typeof okAnswer, WithId> = async (deps, request, response) => {
  const who = sessionOf(response)
  await endOwnSession(deps, who, request.params.id, clientOf(request).address)
  if (request.params.id === who.session.id) writeCookie(response, 'session', deps.settings.baseUrl, '', 0)
  response.json({ ok: true })
}

/** Creates the routes for enrolment by a one-time link. The token comes in the body, never in the address. */
export function enrollmentRoutes(deps: HttpDeps): Router {
  const steps = [limitByAddress(deps, 'auth'), sameOrigin(deps), ...jsonBody]
  const router = Router()
  const on = bindTo(deps)
  router.post('/lookup', steps, on(showEnrolment))
  router.post('/passkey/options', steps, on(enrolPasskeyOptions))
  router.post('/passkey', steps, on(enrolPasskey))
  router.post('/totp/options', steps, on(enrolTotpOptions))
  router.post('/totp', steps, on(enrolTotp))
  return router
}

const showEnrolment: Endpoint<typeof enrollmentAnswer> = async (deps, request, response) => {
  const { token } = parseInput(lookUpBody, request.body)
  const opened = await openEnrollment(deps, token)
  response.json(presentEnrollment(opened, givesFactor(opened.enrollment, opened.user, deps.clock.now())))
}

const enrolPasskeyOptions: Endpoint = async (deps, request, response) => {
  response.json(await startPasskeyEnrollment(deps, parseInput(enrollmentOptionsBody, request.body)))
}

const enrolPasskey: Endpoint<typeof sessionAnswer> = async (deps, request, response) => {
  const body = parseInput(passkeyEnrollmentBody, request.body)
  const grant = await enrollWithPasskey(deps, body, await signingInClient(deps, request))
  setGrantCookies(response, deps, grant)
  response.status(201).json(presentGrant(grant, await delegateOf(deps, grant.user)))
}

const enrolTotpOptions: Endpoint<typeof totpSetUpAnswer> = async (deps, request, response) => {
  const setUp = await startTotpEnrollment(deps, parseInput(enrollmentOptionsBody, request.body))
  response.json(presentTotpSetUp(setUp, await drawQr(setUp.otpauth_url)))
}

const enrolTotp: Endpoint<typeof totpEnrolledAnswer> = async (deps, request, response) => {
  const body = parseInput(totpEnrollmentBody, request.body)
  const grant = await enrollWithTotp(deps, body, await signingInClient(deps, request))
  setGrantCookies(response, deps, grant)
  const granted = presentGrant(grant, await delegateOf(deps, grant.user))
  response.status(201).json({ ...granted, backup_codes: grant.backup_codes })
}
