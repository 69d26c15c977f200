import { type Request, type RequestHandler, Router } from 'express'
import { type ConsentInput, giveConsent, startConsent } from '../../flow/bootstrap/give-consent.ts'
import { reviewConsent, waitingConsents } from '../../flow/bootstrap/review-consent.ts'
import { consentBody, presentConsent, presentWaitingConsent } from '../api/consents.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { parseBody, readProof } from '../parse.ts'

/** The owner's side of bootstraps: see who asks for a key, consent or refuse. Sessions only: a key must not make keys. */
export function consentRoutes(deps: HttpDeps): Router {
  const polled = requireSession(deps, 'polled')
  const decider = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  router.get('/', polled, list(deps))
  router.get('/:id', polled, review(deps))
  router.post('/:id/decision/options', decider, jsonBody, options(deps))
  router.post('/:id/decision', decider, jsonBody, decision(deps))
  return router
}

function list(deps: HttpDeps): RequestHandler {
  return async (_request, response) => {
    const waiting = await waitingConsents(deps, sessionOf(response).user)
    response.json({ data: waiting.map(presentWaitingConsent), next_cursor: null })
  }
}

function review(deps: HttpDeps): RequestHandler<{ id: string }> {
  return async (request, response) => {
    response.json(presentConsent(await reviewConsent(deps, sessionOf(response).user, request.params.id)))
  }
}

function options(deps: HttpDeps): RequestHandler<{ id: string }> {
  return async (request, response) => {
    response.json(await startConsent(deps, sessionOf(response).user, consentOf(request)))
  }
}

function decision(deps: HttpDeps): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const input = consentOf(request)
    const proof = readProof(request.body, input.address)
    const { id, status } = await giveConsent(deps, sessionOf(response).user, input, proof)
    response.json({ id, status })
  }
}

function consentOf(request: Request<{ id: string }>): ConsentInput {
  const { decision, code } = parseBody(consentBody, request.body)
  return { id: request.params.id, decision, code, address: clientAddress(request) }
}
