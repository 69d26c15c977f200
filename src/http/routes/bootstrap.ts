import { type RequestHandler, Router } from 'express'
import { pollBootstrap } from '../../flow/bootstrap/poll-bootstrap.ts'
import { noteCollection } from '../../flow/bootstrap/settle-bootstrap.ts'
import { startBootstrap } from '../../flow/bootstrap/start-bootstrap.ts'
import { bootstrapBody, presentPoll, presentStarted } from '../api/bootstrap.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByAddress } from '../middleware/limit.ts'
import { parseBody } from '../parse.ts'

/** An agent asks for a key of its own (interface, endpoints 5 and 6). Open to everybody; a person decides. */
export function bootstrapRoutes(deps: HttpDeps): Router {
  const router = Router()
  router.post('/', limitByAddress(deps, 'bootstrap'), jsonBody, start(deps))
  router.get('/:id/status', limitByAddress(deps, 'poll'), status(deps))
  return router
}

/** What is kept of a stranger's own description. */
const USER_AGENT_LENGTH = 200

function start(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { email, client_name, code_challenge } = parseBody(bootstrapBody, request.body)
    const { bootstrap_id, bootstrap } = await startBootstrap(deps, {
      email,
      clientName: client_name,
      ...(code_challenge === undefined ? {} : { codeChallenge: code_challenge }),
      requester: {
        address: clientAddress(request),
        user_agent: (request.get('User-Agent') ?? '').slice(0, USER_AGENT_LENGTH),
      },
    })
    response.status(202).json(presentStarted(bootstrap_id, bootstrap, deps.settings.baseUrl))
  }
}

/** The verifier comes in a header: addresses end up in logs of proxies. */
function status(deps: HttpDeps): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const address = clientAddress(request)
    const verifier = request.get('X-Code-Verifier')
    const polled = await pollBootstrap(deps, { bootstrapId: request.params.id, verifier, address })
    response.json(presentPoll(polled))
    if (polled.api_key === undefined) return
    // After the answer, so that a crash in between costs nobody the key. The sweep notes what is not noted here.
    await noteCollection(deps, polled.bootstrap, address).catch((error: unknown) =>
      deps.log.warn({ error, bootstrap: polled.bootstrap.id }, 'a collected key was not noted yet'),
    )
  }
}
