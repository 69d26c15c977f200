import { type RequestHandler, Router } from 'express'
import { fieldRequired } from '../../domain/errors.ts'
import { changeApiKey } from '../../flow/change-api-key.ts'
import { createApiKey, revokeApiKey } from '../../flow/manage-api-keys.ts'
import { changeKeyBody, newKeyBody, presentKey } from '../api/api-keys.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { parseBody } from '../parse.ts'

/** An owner's API keys: list, create, change, revoke. Sessions only, never an API key: a key must not make keys. */
export function apiKeyRoutes(deps: HttpDeps): Router {
  const session = requireSession(deps)
  const changer = [session, limitByPerson(deps, 'person')]
  const router = Router()
  router.get('/', session, list(deps))
  router.post('/', changer, jsonBody, create(deps))
  router.patch('/:id', changer, jsonBody, change(deps))
  router.delete('/:id', changer, revoke(deps))
  return router
}

function list(deps: HttpDeps): RequestHandler {
  return async (_request, response) => {
    const keys = await deps.apiKeys.list(sessionOf(response).user.account_id)
    response.json({ data: keys.filter((key) => key.internal !== true).map(presentKey), next_cursor: null })
  }
}

function create(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { user } = sessionOf(response)
    const { name, sandbox, scopes, source_control } = parseBody(newKeyBody, request.body)
    if (name === '') throw fieldRequired('name')
    const wanted = {
      accountId: user.account_id,
      name,
      sandbox,
      source_control,
      ...(scopes === undefined ? {} : { scopes: [...new Set(scopes)] }),
    }
    const actor = { kind: 'user', id: user.id, address: clientAddress(request) } as const
    const { raw_key, key } = await createApiKey(deps, wanted, actor)
    response.status(201).json({ raw_key, key: presentKey(key) })
  }
}

function change(deps: HttpDeps): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const { proof, ...change } = parseBody(changeKeyBody, request.body)
    const asked = { id: request.params.id, change, proof }
    const key = await changeApiKey(deps, sessionOf(response), asked, clientAddress(request))
    response.json({ key: presentKey(key) })
  }
}

function revoke(deps: HttpDeps): RequestHandler<{ id: string }> {
  return async (request, response) => {
    const { user } = sessionOf(response)
    const actor = { kind: 'user', id: user.id, address: clientAddress(request) } as const
    const key = await revokeApiKey(deps, request.params.id, user.account_id, actor)
    response.json({ ok: true, key: presentKey(key) })
  }
}
