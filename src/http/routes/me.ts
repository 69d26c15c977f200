import { type RequestHandler, Router } from 'express'
import { toString as drawQr } from 'qrcode'
import type { TotpSetUp } from '../../flow/people/codes.ts'
import { addPasskey, removePasskey, startAddingPasskey } from '../../flow/people/manage-passkeys.ts'
import { addTotp, removeTotp, renewBackupCodes, startAddingTotp } from '../../flow/people/manage-totp.ts'
import { startStepUp } from '../../flow/people/step-up.ts'
import {
  codeBody,
  newPasskeyBody,
  presentFactors,
  presentPasskey,
  stepUpBody,
  type totpSetUpAnswer,
} from '../api/factors.ts'
import type { Answer } from '../api/shared/fields.ts'
import { proofBody } from '../api/shared/proofs.ts'
import { setGrantCookies } from '../grant-cookies.ts'
import type { HttpDeps } from '../http-deps.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { clientOf, requireSession, sessionOf } from '../middleware/session.ts'
import { parseBody } from '../parse.ts'

/** A person's own factors. Every change needs a fresh proof, ends the person's other sessions and renews this one. */
export function meRoutes(deps: HttpDeps): Router {
  const person = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  router.get('/factors', person, factors)
  router.post('/step-up/options', person, jsonBody, stepUp(deps))
  router.post('/passkeys/options', person, jsonBody, passkeyOptions(deps))
  router.post('/passkeys', person, jsonBody, newPasskey(deps))
  router.post('/passkeys/:id/remove', person, jsonBody, oldPasskey(deps))
  router.post('/totp/options', person, jsonBody, totpOptions(deps))
  router.post('/totp', person, jsonBody, newTotp(deps))
  router.post('/totp/remove', person, jsonBody, oldTotp(deps))
  router.post('/backup-codes', person, jsonBody, backupCodes(deps))
  return router
}

const factors: RequestHandler = (_request, response) => {
  response.json(presentFactors(sessionOf(response).user))
}

function stepUp(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { operation, target } = parseBody(stepUpBody, request.body)
    const asked = target === undefined ? { operation } : { operation, target }
    response.json(await startStepUp(deps, sessionOf(response), asked))
  }
}

function passkeyOptions(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { proof } = parseBody(proofBody, request.body)
    const { address } = clientOf(request)
    response.json(await startAddingPasskey(deps, sessionOf(response), proof, address))
  }
}

function newPasskey(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const body = parseBody(newPasskeyBody, request.body)
    const { passkey, grant } = await addPasskey(deps, sessionOf(response), body, clientOf(request))
    setGrantCookies(response, deps, grant)
    response.status(201).json({ passkey: presentPasskey(passkey) })
  }
}

function oldPasskey(deps: HttpDeps): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const { proof } = parseBody(proofBody, request.body)
    const { id } = request.params
    const grant = await removePasskey(deps, sessionOf(response), { id, proof }, clientOf(request))
    setGrantCookies(response, deps, grant)
    response.json({ ok: true })
  }
}

function totpOptions(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { proof } = parseBody(proofBody, request.body)
    const setUp = await startAddingTotp(deps, sessionOf(response), proof, clientOf(request).address)
    response.json(await presentTotpSetUp(setUp))
  }
}

function newTotp(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { code } = parseBody(codeBody, request.body)
    const { backup_codes, grant } = await addTotp(deps, sessionOf(response), code, clientOf(request))
    setGrantCookies(response, deps, grant)
    response.status(201).json({ backup_codes })
  }
}

function oldTotp(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { proof } = parseBody(proofBody, request.body)
    const grant = await removeTotp(deps, sessionOf(response), proof, clientOf(request))
    setGrantCookies(response, deps, grant)
    response.json({ ok: true })
  }
}

function backupCodes(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { proof } = parseBody(proofBody, request.body)
    const { backup_codes, grant } = await renewBackupCodes(
      deps,
      sessionOf(response),
      proof,
      clientOf(request),
    )
    setGrantCookies(response, deps, grant)
    response.status(201).json({ backup_codes })
  }
}

/** A seed as it is shown, once; the picture is drawn here, so that the page needs no code for it. */
export async function presentTotpSetUp({
  secret,
  otpauth_url,
}: TotpSetUp): Promise<Answer<typeof totpSetUpAnswer>> {
  const qr_svg = await drawQr(otpauth_url, { type: 'svg', errorCorrectionLevel: 'M', margin: 2 })
  return { secret, otpauth_url, qr_svg }
}
