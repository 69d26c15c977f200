import { type RequestHandler, Router } from 'express'
import type { User } from '../../domain/user.ts'
import { delegateCandidates, removeDelegate, setDelegate, standInOf } from '../../flow/people/delegates.ts'
import { changeProfile } from '../../flow/people/person.ts'
import { delegateBody, presentCandidate, profileBody } from '../api/profile.ts'
import { presentUser } from '../api/session.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { parseBody } from '../parse.ts'

/** How a person is called, how long their requests wait, and who decides for them. */
export function profileRoutes(deps: HttpDeps): Router {
  const person = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  router.patch('/', person, jsonBody, change(deps))
  router.get('/delegate/candidates', person, candidates(deps))
  router.put('/delegate', person, jsonBody, setStandIn(deps))
  router.post('/delegate/remove', person, jsonBody, removeStandIn(deps))
  return router
}

function change(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { name, default_ttl_seconds } = parseBody(profileBody, request.body)
    const wanted = {
      ...(name === undefined ? {} : { name }),
      ...(default_ttl_seconds === undefined ? {} : { default_ttl_seconds }),
    }
    const { user } = sessionOf(response)
    response.json(await answer(deps, await changeProfile(deps, user, wanted, clientAddress(request))))
  }
}

function candidates(deps: HttpDeps): RequestHandler {
  return async (_request, response) => {
    const found = await delegateCandidates(deps, sessionOf(response).user)
    response.json({ data: found.map(presentCandidate), next_cursor: null })
  }
}

function setStandIn(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { proof, ...delegate } = parseBody(delegateBody, request.body)
    const who = sessionOf(response)
    const changed = await setDelegate(deps, who, { delegate, proof }, clientAddress(request))
    response.json(await answer(deps, changed))
  }
}

function removeStandIn(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { user } = sessionOf(response)
    response.json(await answer(deps, await removeDelegate(deps, user, clientAddress(request))))
  }
}

async function answer(deps: HttpDeps, user: User) {
  return { user: presentUser(user, await standInOf(deps, user)) }
}
