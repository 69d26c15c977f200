import { type Request, Router } from 'express'
import { given } from '../../domain/given.ts'
import { undoIfReset } from '../../flow/people/person.ts'
import { requireRecentProof } from '../../flow/people/recent-proof.ts'
import {
  type DeliveryPage,
  listWebhooks,
  type PageQuery,
  type RequestLog,
  readCallbackLog,
  readDeadLetters,
  readRequestLog,
  readWebhook,
  readWebhookLog,
  replayDelivery,
} from '../../flow/webhooks/delivery-log.ts'
import {
  checkNewWebhook,
  createWebhook,
  deleteWebhook,
  enableWebhook,
  rotateWebhook,
  testFire,
} from '../../flow/webhooks/manage-webhooks.ts'
import {
  type deliveryAnswer,
  type deliveryListAnswer,
  deliveryQuery,
  presentCard,
  presentDelivery,
  presentPush,
  type requestLogAnswer,
  storedState,
  webhookLogQuery,
} from '../api/deliveries.ts'
import {
  type changedWebhookAnswer,
  type createdWebhookAnswer,
  type listedWebhookAnswer,
  newWebhookBody,
  presentListed,
  presentWebhook,
  type rotatedWebhookAnswer,
  type webhookListAnswer,
} from '../api/webhooks.ts'
import { bindTo, type Endpoint, type Handler, type WithId } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { authenticate, callerOf, requireScope } from '../middleware/authenticate.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByKey, limitByPerson } from '../middleware/limit.ts'
import { ownerOf, recentProof, requireSession, sessionOf, whenSession } from '../middleware/session.ts'
import { decodeCursor, encodeCursor, parseInput } from '../read-input.ts'
import { ignoredIn } from '../unknown-fields.ts'

/** Creates the routes of an owner's webhooks. Sessions only, never an API key: a key must not redirect its owner's events. */
export function webhookRoutes(deps: HttpDeps): Router {
  const owner = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  const on = bindTo(deps)
  router.get('/', owner, on(showWebhooks))
  router.post('/', owner, jsonBody, on(addWebhook))
  router.get('/:id', owner, on(showWebhook))
  router.delete('/:id', owner, recentProof(deps), changeWebhook(deps, deleteWebhook))
  router.post('/:id/enable', owner, recentProof(deps), changeWebhook(deps, enableWebhook))
  router.post('/:id/rotate', owner, recentProof(deps), on(rotateSecret))
  router.post('/:id/test', owner, on(testWebhook))
  router.get('/:id/deliveries', owner, on(listWebhookDeliveries))
  return router
}

const showWebhooks: Endpoint<typeof webhookListAnswer> = async (deps, _request, response) => {
  const webhooks = await listWebhooks(deps, sessionOf(response).user.account_id)
  const now = deps.clock.now()
  response.json({ data: webhooks.map((webhook) => presentListed(webhook, now)), next_cursor: null })
}

const showWebhook: Endpoint<typeof listedWebhookAnswer, WithId> = async (deps, request, response) => {
  const { account_id } = sessionOf(response).user
  const found = await readWebhook(deps, account_id, request.params.id)
  response.json(presentListed(found, deps.clock.now()))
}

const addWebhook: Endpoint<typeof createdWebhookAnswer> = async (deps, request, response) => {
  const wanted = parseInput(newWebhookBody, request.body)
  const account = ownerOf(request, response, 'no_own_account')
  await checkNewWebhook(deps, account, wanted.url)
  // Last: nobody should confirm what is refused then.
  await requireRecentProof(deps, sessionOf(response))
  const { webhook, secret } = await createWebhook(deps, account, wanted)
  const service = { ...account, actor: { kind: 'service' } } as const
  await undoIfReset(deps, sessionOf(response).user, () => deleteWebhook(deps, service, webhook.id))
  const shown = { webhook: presentWebhook(webhook, deps.clock.now()), secret }
  response.status(201).json({ ...shown, ...ignoredIn(newWebhookBody, request.body) })
}

function changeWebhook(
  deps: HttpDeps,
  verb: typeof deleteWebhook,
): Handler<typeof changedWebhookAnswer, WithId> {
  return async function changeWebhook(request, response) {
    const webhook = await verb(deps, ownerOf(request, response), request.params.id)
    response.json({ ok: true, webhook: presentWebhook(webhook, deps.clock.now()) })
  }
}

const rotateSecret: Endpoint<typeof rotatedWebhookAnswer, WithId> = async (deps, request, response) => {
  const rotated = await rotateWebhook(deps, ownerOf(request, response), request.params.id)
  response.json({
    webhook: presentWebhook(rotated.webhook, deps.clock.now()),
    secret: rotated.secret,
    previous_secret_valid_until: rotated.previousUntil.toISOString(),
  })
}

const testWebhook: Endpoint<typeof deliveryAnswer, WithId> = async (deps, request, response) => {
  response.json(presentDelivery(await testFire(deps, ownerOf(request, response), request.params.id)))
}

const listWebhookDeliveries: Endpoint<typeof deliveryListAnswer, WithId> = async (
  deps,
  request,
  response,
) => {
  const { account_id } = sessionOf(response).user
  const { state, event, ...page } = parseInput(webhookLogQuery, request.query)
  const filter = { ...given({ event_type: event }), ...(state && { state: storedState(state) }) }
  const query = { ...pageOf(page), ...filter }
  response.json(presentPage(await readWebhookLog(deps, account_id, request.params.id, query)))
}

/**
 * Creates the routes of delivery logs. Of a request, the key that made it sees its callback and its cards in chat; the account's
 * owner also sees what was sent to webhooks. The owner can start another round for a delivery that rests.
 */
export function deliveryRoutes(deps: HttpDeps): Router {
  const on = bindTo(deps)
  const owner = [requireSession(deps), limitByPerson(deps, 'person')]
  const reads = [authenticate(deps), limitByKey(deps, 'read'), requireScope('approval:read')]
  const forOwner = whenSession<{ id: string }>(deps.settings.baseUrl, [...owner, on(showRequestLog)])
  const router = Router()
  router.get('/approvals/:id/deliveries', forOwner, reads, on(listCallbackDeliveries))
  router.get('/account/dead-letters', owner, on(listDeadLetters))
  router.post('/deliveries/:id/replay', owner, on(resendDelivery))
  return router
}

const showRequestLog: Endpoint<typeof requestLogAnswer, WithId> = async (deps, request, response) => {
  const { account_id } = sessionOf(response).user
  const page = readDeliveryPage(request)
  response.json(presentRequestLog(await readRequestLog(deps, account_id, request.params.id, page)))
}

const listCallbackDeliveries: Endpoint<typeof requestLogAnswer, WithId> = async (deps, request, response) => {
  readDeliveryPage(request)
  response.json(presentRequestLog(await readCallbackLog(deps, callerOf(response), request.params.id)))
}

const listDeadLetters: Endpoint<typeof deliveryListAnswer> = async (deps, request, response) => {
  const { account_id } = sessionOf(response).user
  response.json(presentPage(await readDeadLetters(deps, account_id, readDeliveryPage(request))))
}

const resendDelivery: Endpoint<typeof deliveryAnswer, WithId> = async (deps, request, response) => {
  response.json(presentDelivery(await replayDelivery(deps, ownerOf(request, response), request.params.id)))
}

/** Reads which page the query asks for. @throws Refusal `invalid_field` */
function readDeliveryPage(request: Request): PageQuery {
  return pageOf(parseInput(deliveryQuery, request.query))
}

function pageOf({ limit, cursor }: { limit: number; cursor?: string | undefined }): PageQuery {
  return { limit, ...(cursor === undefined ? {} : { before: decodeCursor(cursor, 'dlv') }) }
}

/** Presents a page of the log of a request, with the request's cards. */
function presentRequestLog(log: RequestLog) {
  const quiet = log.quiet.map(({ approver, until }) => ({ approver, until: until.toISOString() }))
  return {
    ...presentPage(log),
    cards: log.cards.map(presentCard),
    notifications: log.pushes.map(presentPush),
    quiet,
  }
}

function presentPage({ deliveries, more }: DeliveryPage) {
  const last = deliveries.at(-1)
  return { data: deliveries.map(presentDelivery), next_cursor: more && last ? encodeCursor(last) : null }
}
