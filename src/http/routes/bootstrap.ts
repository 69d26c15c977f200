import { type Request, Router } from 'express'
import type { z } from 'zod'
import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { type ConsentInput, giveConsent, startConsent } from '../../flow/bootstrap/give-consent.ts'
import { pollBootstrap } from '../../flow/bootstrap/poll-bootstrap.ts'
import { reviewConsent } from '../../flow/bootstrap/review-consent.ts'
import { noteCollection } from '../../flow/bootstrap/settle-bootstrap.ts'
import { countBootstrap, startBootstrap } from '../../flow/bootstrap/start-bootstrap.ts'
import {
  bootstrapBody,
  type bootstrapStatusAnswer,
  presentPoll,
  presentStarted,
  type startedAnswer,
} from '../api/bootstrap.ts'
import {
  type consentAnswer,
  consentBody,
  type consentedAnswer,
  presentConsent,
  presentWaitingConsent,
  type waitingConsentsAnswer,
} from '../api/consents.ts'
import { bindTo, type Endpoint, type WithId } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { applyLimit, limitByAddress, limitByPerson } from '../middleware/limit.ts'
import { clientOf, requireSession, sessionOf } from '../middleware/session.ts'
import { parseInput, readProof } from '../read-input.ts'
import { ignoredIn } from '../unknown-fields.ts'

/** Creates the routes by which an agent asks for a key (interface, endpoints 5 and 6). Open to everyone; a person decides. */
export function bootstrapRoutes(deps: HttpDeps): Router {
  const router = Router()
  const on = bindTo(deps)
  router.post('/', limitByAddress(deps, 'bootstrap'), jsonBody, on(startBootstrapping))
  router.get('/:id/status', limitByAddress(deps, 'poll'), on(showBootstrapStatus))
  return router
}

/** Characters that are kept of the user agent, which a stranger chooses. */
const USER_AGENT_LENGTH = 200

const startBootstrapping: Endpoint<typeof startedAnswer> = async (deps, request, response) => {
  const { email, client_name, code_challenge } = parseInput(bootstrapBody, request.body)
  applyLimit(response, await countBootstrap(deps, email))
  const { address, user_agent } = clientOf(request)
  const { bootstrap_id, bootstrap } = await startBootstrap(deps, {
    email,
    clientName: client_name,
    ...given({ codeChallenge: code_challenge }),
    requester: { address, user_agent: user_agent.slice(0, USER_AGENT_LENGTH) },
  })
  const started = presentStarted(bootstrap_id, bootstrap, deps.settings.baseUrl)
  response.status(202).json({ ...started, ...ignoredIn(bootstrapBody, request.body) })
}

/** Answers a poll. The verifier comes in a header, since proxies log addresses. */
const showBootstrapStatus: Endpoint<typeof bootstrapStatusAnswer, WithId> = async (
  deps,
  request,
  response,
) => {
  // The answer to HEAD has no body, so the key, which is handed out once, would be lost.
  if (request.method === 'HEAD') throw refusal('not_found')
  const address = clientAddress(request)
  const verifier = request.get('X-Code-Verifier')
  const polled = await pollBootstrap(deps, { bootstrapId: request.params.id, verifier, address })
  response.json(presentPoll(polled))
  if (polled.status !== 'approved') return
  // Noted after the answer, so that a crash in between does not lose the key. The sweep notes what this call does not.
  await noteCollection(deps, polled.bootstrap, address).catch((error: unknown) =>
    deps.log.warn(
      { error, bootstrap: polled.bootstrap.id },
      'recording a collected API key failed; it is tried again',
    ),
  )
}

/** Creates the owner's routes: see who asks for a key, consent or refuse. Sessions only: a key must not make keys. */
export function consentRoutes(deps: HttpDeps): Router {
  const polled = requireSession(deps, 'polled')
  const decider = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  const on = bindTo(deps)
  router.get('/', polled, on(listConsents))
  router.get('/:id', polled, on(showConsent))
  router.post('/:id/decision/options', decider, jsonBody, on(consentOptions))
  router.post('/:id/decision', decider, jsonBody, on(recordConsent))
  return router
}

const listConsents: Endpoint<typeof waitingConsentsAnswer> = async (deps, _request, response) => {
  const waiting = await deps.bootstraps.waitingFor(sessionOf(response).user.account_id)
  response.json({ data: waiting.map(presentWaitingConsent), next_cursor: null })
}

const showConsent: Endpoint<typeof consentAnswer, WithId> = async (deps, request, response) => {
  response.json(presentConsent(await reviewConsent(deps, sessionOf(response).user, request.params.id)))
}

const consentOptions: Endpoint<z.ZodType, WithId> = async (deps, request, response) => {
  response.json(await startConsent(deps, sessionOf(response), consentOf(request)))
}

const recordConsent: Endpoint<typeof consentedAnswer, WithId> = async (deps, request, response) => {
  const input = consentOf(request)
  const proof = readProof(request.body, input.address)
  const { id, status } = await giveConsent(deps, sessionOf(response), input, proof)
  response.json({ id, status })
}

function consentOf(request: Request<{ id: string }>): ConsentInput {
  const { decision, code } = parseInput(consentBody, request.body)
  return { id: request.params.id, decision, code, address: clientAddress(request) }
}
