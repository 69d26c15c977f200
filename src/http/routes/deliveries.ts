import { type RequestHandler, Router } from 'express'
import {
  readCallbackLog,
  readDeadLetters,
  readRequestLog,
  replayDelivery,
} from '../../flow/webhooks/delivery-log.ts'
import { presentDelivery } from '../api/deliveries.ts'
import { readDeliveryPage, sendDeliveries, sendRequestLog } from '../delivery-page.ts'
import type { HttpDeps } from '../http-deps.ts'
import { authenticate, callerOf, requireScope } from '../middleware/authenticate.ts'
import { limitByKey, limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { whenSession } from '../middleware/when-session.ts'
import { ownerOf } from '../owner-of.ts'

type WithId = RequestHandler<{ id: string }>

/**
 * What became of the news about a request: for the key that made it, its callback and its cards in chat; for the account's
 * owner, what webhooks were told as well. And another round for a delivery that rests.
 */
export function deliveryRoutes(deps: HttpDeps): Router {
  const owner = [requireSession(deps), limitByPerson(deps, 'person')]
  const reads = [authenticate(deps), limitByKey(deps, 'read'), requireScope('approval:read')]
  const forOwner = whenSession<{ id: string }>(deps.settings.baseUrl, [...owner, requestLog(deps)])
  const router = Router()
  router.get('/approvals/:id/deliveries', forOwner, reads, callbackLog(deps))
  router.get('/account/dead-letters', owner, deadLetters(deps))
  router.post('/deliveries/:id/replay', owner, replay(deps))
  return router
}

function requestLog(deps: HttpDeps): WithId {
  return async (request, response) => {
    const { account_id } = sessionOf(response).user
    const page = readDeliveryPage(request)
    sendRequestLog(response, await readRequestLog(deps, account_id, request.params.id, page))
  }
}

function callbackLog(deps: HttpDeps): WithId {
  return async (request, response) => {
    readDeliveryPage(request)
    sendRequestLog(response, await readCallbackLog(deps, callerOf(response), request.params.id))
  }
}

function deadLetters(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { account_id } = sessionOf(response).user
    sendDeliveries(response, await readDeadLetters(deps, account_id, readDeliveryPage(request)))
  }
}

function replay(deps: HttpDeps): WithId {
  return async (request, response) => {
    const delivery = await replayDelivery(deps, ownerOf(request, response), request.params.id)
    response.json(presentDelivery(delivery))
  }
}
