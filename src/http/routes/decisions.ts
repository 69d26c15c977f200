import { type RequestHandler, Router } from 'express'
import { decide } from '../../flow/decide.ts'
import { startDecision } from '../../flow/prove-presence.ts'
import { pendingForPerson, reviewRequest } from '../../flow/review-request.ts'
import { decisionBody, decisionOptionsBody, presentDecided, presentReview } from '../api/decisions.ts'
import { pendingQuery, presentWaiting } from '../api/inbox.ts'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { parseBody, readProof } from '../parse.ts'

/** The approver's side: see what is asked, prove presence, decide. Sessions only; an API key can never decide. */
export function decisionRoutes(deps: HttpDeps): Router {
  const decider = [requireSession(deps), limitByPerson(deps, 'person')]
  const polled = requireSession(deps, 'polled')
  const router = Router()
  router.get('/me/pending', polled, pending(deps))
  router.get('/approvals/:id/review', polled, review(deps))
  router.post('/approvals/:id/decision/options', decider, jsonBody, options(deps))
  router.post('/approvals/:id/decision', decider, jsonBody, decision(deps))
  return router
}

function pending(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { limit, cursor } = parseBody(pendingQuery, request.query)
    const { waiting, next } = await pendingForPerson(deps, sessionOf(response).user, {
      limit,
      ...(cursor === undefined ? {} : { after: decodeCursor(cursor) }),
    })
    const data = waiting.map((one) => presentWaiting(one, sessionOf(response).user))
    response.json({ data, next_cursor: next === undefined ? null : encodeCursor(next) })
  }
}

function review(deps: HttpDeps): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const { user } = sessionOf(response)
    response.json(presentReview(await reviewRequest(deps, user, request.params.id), user))
  }
}

function options(deps: HttpDeps): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const { user } = sessionOf(response)
    const body = parseBody(decisionOptionsBody, request.body)
    response.json(await startDecision(deps, user, request.params.id, body.decision))
  }
}

function decision(deps: HttpDeps): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const { user } = sessionOf(response)
    const body = parseBody(decisionBody, request.body)
    const address = clientAddress(request)
    const proof = readProof(request.body, address)
    const input = {
      requestId: request.params.id,
      decision: body.decision,
      comment: body.comment,
      proof,
      address,
    }
    response.json(presentDecided(await decide(deps, user, input)))
  }
}
