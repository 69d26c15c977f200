import { type RequestHandler, Router } from 'express'
import { listWebhooks, readWebhook, readWebhookLog } from '../../flow/webhooks/delivery-log.ts'
import {
  createTestFire,
  createWebhook,
  deleteWebhook,
  enableWebhook,
  rotateWebhook,
} from '../../flow/webhooks/manage-webhooks.ts'
import { presentDelivery } from '../api/deliveries.ts'
import { newWebhookBody, presentListed, presentWebhook } from '../api/webhooks.ts'
import { readDeliveryPage, sendDeliveries } from '../delivery-page.ts'
import type { HttpDeps } from '../http-deps.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { ownerOf } from '../owner-of.ts'
import { parseBody } from '../parse.ts'

type WithId = RequestHandler<{ id: string }>

/** An owner's webhooks. Sessions only, never an API key: a key must not redirect what its owner is told. */
export function webhookRoutes(deps: HttpDeps): Router {
  const owner = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  router.get('/', owner, list(deps))
  router.post('/', owner, jsonBody, create(deps))
  router.get('/:id', owner, read(deps))
  router.delete('/:id', owner, change(deps, deleteWebhook))
  router.post('/:id/enable', owner, change(deps, enableWebhook))
  router.post('/:id/rotate', owner, rotate(deps))
  router.post('/:id/test', owner, test(deps))
  router.get('/:id/deliveries', owner, log(deps))
  return router
}

function list(deps: HttpDeps): RequestHandler {
  return async (_request, response) => {
    const webhooks = await listWebhooks(deps, sessionOf(response).user.account_id)
    const now = deps.clock.now()
    response.json({ data: webhooks.map((webhook) => presentListed(webhook, now)), next_cursor: null })
  }
}

function read(deps: HttpDeps): WithId {
  return async (request, response) => {
    const { account_id } = sessionOf(response).user
    const found = await readWebhook(deps, account_id, request.params.id)
    response.json(presentListed(found, deps.clock.now()))
  }
}

function create(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const wanted = parseBody(newWebhookBody, request.body)
    const { webhook, secret } = await createWebhook(deps, ownerOf(request, response), wanted)
    response.status(201).json({ webhook: presentWebhook(webhook, deps.clock.now()), secret })
  }
}

function change(deps: HttpDeps, verb: typeof deleteWebhook): WithId {
  return async (request, response) => {
    const webhook = await verb(deps, ownerOf(request, response), request.params.id)
    response.json({ ok: true, webhook: presentWebhook(webhook, deps.clock.now()) })
  }
}

function rotate(deps: HttpDeps): WithId {
  return async (request, response) => {
    const rotated = await rotateWebhook(deps, ownerOf(request, response), request.params.id)
    response.json({
      webhook: presentWebhook(rotated.webhook, deps.clock.now()),
      secret: rotated.secret,
      previous_secret_valid_until: rotated.previousUntil.toISOString(),
    })
  }
}

function test(deps: HttpDeps): WithId {
  const fire = createTestFire(deps)
  return async (request, response) => {
    response.json(presentDelivery(await fire(ownerOf(request, response), request.params.id)))
  }
}

function log(deps: HttpDeps): WithId {
  return async (request, response) => {
    const { account_id } = sessionOf(response).user
    const page = readDeliveryPage(request)
    sendDeliveries(response, await readWebhookLog(deps, account_id, request.params.id, page))
  }
}
