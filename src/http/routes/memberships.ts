import { type RequestHandler, Router } from 'express'
import { acceptInvitation, declineInvitation, leaveAccount } from '../../flow/people/members.ts'
import { acceptanceBody } from '../api/members.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { parseBody } from '../parse.ts'

/** What a person says to joining other people's accounts. */
export function membershipRoutes(deps: HttpDeps): Router {
  const person = [requireSession(deps), limitByPerson(deps, 'person'), ...jsonBody]
  const router = Router()
  router.post('/invitations/:id/accept', person, accept(deps))
  router.post('/invitations/:id/decline', person, say(deps, declineInvitation))
  router.post('/memberships/:id/leave', person, say(deps, leaveAccount))
  return router
}

function accept(deps: HttpDeps): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const { token } = parseBody(acceptanceBody, request.body)
    const who = { userId: sessionOf(response).user.id, address: clientAddress(request) }
    await acceptInvitation(deps, request.params.id, who, token)
    response.json({ ok: true })
  }
}

function say(deps: HttpDeps, answer: typeof declineInvitation): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const who = { userId: sessionOf(response).user.id, address: clientAddress(request) }
    await answer(deps, request.params.id, who)
    response.json({ ok: true })
  }
}
