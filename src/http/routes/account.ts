import { Router } from 'express'
import { readHistory } from '../../flow/read-history.ts'
import { renameAccount, viewAccount } from '../../flow/view-account.ts'
import {
  type accountAnswer,
  accountNameBody,
  accountQuery,
  type historyAnswer,
  historyQuery,
  presentAccount,
  presentHistoryRow,
} from '../api/account.ts'
import { decodeCursor, encodeCursor, given, type Handler, parseBody } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'

/** An account and its requests, for all its people as far as their role goes; its name for its owner to change. */
export function accountViewRoutes(deps: HttpDeps): Router {
  const person = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  router.get('/', person, view(deps))
  router.patch('/', person, jsonBody, rename(deps))
  router.get('/requests', person, history(deps))
  return router
}

function view(deps: HttpDeps): Handler<typeof accountAnswer> {
  return async (request, response) => {
    const { account } = parseBody(accountQuery, request.query)
    response.json(presentAccount(await viewAccount(deps, sessionOf(response).user, account)))
  }
}

function rename(deps: HttpDeps): Handler<typeof accountAnswer> {
  return async (request, response) => {
    const { name } = parseBody(accountNameBody, request.body)
    const { user } = sessionOf(response)
    response.json(presentAccount(await renameAccount(deps, user, name, clientAddress(request))))
  }
}

function history(deps: HttpDeps): Handler<typeof historyAnswer> {
  return async (request, response) => {
    const { cursor, limit, key, ...filter } = parseBody(historyQuery, request.query)
    const before = cursor === undefined ? undefined : decodeCursor(cursor)
    const query = { ...given(filter), ...given({ before, api_key_id: key }), limit }
    const { requests, next } = await readHistory(deps, sessionOf(response).user, query)
    response.json({
      data: requests.map(presentHistoryRow),
      next_cursor: next === undefined ? null : encodeCursor(next),
    })
  }
}
