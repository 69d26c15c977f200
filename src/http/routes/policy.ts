import { type RequestHandler, Router } from 'express'
import { accessTo } from '../../flow/people/accounts.ts'
import { readPolicy, setPolicy } from '../../flow/people/policy.ts'
import { policyBody, presentPolicy } from '../api/policy.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { parseBody } from '../parse.ts'

/** The rules for who decides in the signed-in person's own account. */
export function policyRoutes(deps: HttpDeps): Router {
  const owner = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  router.get('/', owner, read(deps))
  router.put('/', owner, jsonBody, replace(deps))
  return router
}

function read(deps: HttpDeps): RequestHandler {
  return async (_request, response) => {
    const { account } = await accessTo(deps, sessionOf(response).user, 'manage')
    response.json(presentPolicy(await readPolicy(deps, account)))
  }
}

function replace(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { proof, reminders, ...rules } = parseBody(policyBody, request.body)
    const policy = { ...rules, ...(reminders === undefined ? {} : { reminders }) }
    const who = sessionOf(response)
    const account = await setPolicy(deps, who, { policy, proof }, clientAddress(request))
    response.json(presentPolicy(await readPolicy(deps, account)))
  }
}
