import { Router } from 'express'
import type { z } from 'zod'
import type { AttachmentFacts } from '../../domain/attachment.ts'
import { refusal } from '../../domain/errors.ts'
import { imageType } from '../../domain/image.ts'
import { referencesIn } from '../../domain/request.ts'
import { proofFor } from '../../flow/audit/bundle-receipt.ts'
import { namesByReference } from '../../flow/people/names.ts'
import { openAttachment } from '../../flow/requests/attachments.ts'
import { decide } from '../../flow/requests/decide.ts'
import { decideBatch } from '../../flow/requests/decide-batch.ts'
import { startDecision } from '../../flow/requests/prove-presence.ts'
import { similarRequests } from '../../flow/requests/read-history.ts'
import { noteSeen, pendingForPerson, reviewRequest } from '../../flow/requests/review-request.ts'
import { startBatch } from '../../flow/requests/start-batch.ts'
import { watchInbox } from '../../flow/requests/wait-for-decision.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { type batchAnswer, batchBody, batchOptionsBody, presentBatchResult } from '../api/batch-decisions.ts'
import {
  type decidedAnswer,
  decisionBody,
  decisionOptionsBody,
  presentDecided,
  presentReview,
  type reviewAnswer,
} from '../api/decisions.ts'
import { type pendingAnswer, pendingQuery, presentWaiting } from '../api/inbox.ts'
import { presentProof, type proofAnswer } from '../api/receipts.ts'
import { presentSimilar, type similarAnswer } from '../api/similar.ts'
import { drawQr } from '../draw-qr.ts'
import { clientGone, errorEventData, openEventStream } from '../event-stream.ts'
import { bindTo, type Endpoint, type WithId } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { decodeCursor, encodeCursor, parseInput, readProof } from '../read-input.ts'

/** Creates the approver's routes: see what is asked, prove presence, decide. Sessions only; an API key can never decide. */
export function decisionRoutes(deps: HttpDeps): Router {
  const decider = [requireSession(deps), limitByPerson(deps, 'person')]
  const polled = requireSession(deps, 'polled')
  const router = Router()
  const on = bindTo(deps)
  router.get('/me/pending', polled, on(listPending))
  router.get('/me/pending/events', polled, on(streamPending))
  router.get('/approvals/:id/review', polled, on(showReview))
  router.get('/approvals/:id/proof', polled, on(showProof))
  router.get('/approvals/:id/attachments/:index', decider, on(sendAttachment))
  router.get('/approvals/:id/similar', decider, on(listSimilar))
  router.post('/approvals/:id/decision/options', decider, jsonBody, on(decisionOptions))
  router.post('/approvals/:id/decision', decider, jsonBody, on(recordDecision))
  // Many decisions with one gesture; the limiter counts a batch as one request.
  router.post('/approvals/decisions/options', decider, jsonBody, on(batchOptions))
  router.post('/approvals/decisions', decider, jsonBody, on(recordBatch))
  return router
}

const listPending: Endpoint<typeof pendingAnswer> = async (deps, request, response) => {
  const { limit, cursor } = parseInput(pendingQuery, request.query)
  // A cursor holds a time and an id; here the time is when the last request of the page before expires.
  const from = cursor === undefined ? undefined : decodeCursor(cursor)
  const { waiting, next } = await pendingForPerson(deps, sessionOf(response).user, {
    limit,
    ...(from && { after: { expires_at: from.created_at, id: from.id } }),
  })
  const data = waiting.map((one) => presentWaiting(one, sessionOf(response).user))
  const next_cursor = next === undefined ? null : encodeCursor({ created_at: next.expires_at, id: next.id })
  response.json({ data, next_cursor })
}

const showReview: Endpoint<typeof reviewAnswer, WithId> = async (deps, request, response) => {
  const { user } = sessionOf(response)
  const shown = await reviewRequest(deps, user, request.params.id, clientAddress(request))
  noteSeen(deps, user, shown)
  const { account_id } = shown.request
  const names = await namesByReference(deps, user, account_id, referencesIn(shown.request))
  // A fragment: whoever scans it off a print tells no server which receipt they hold before the page asks for it.
  const address = `${deps.settings.baseUrl}/verify#${shown.request.id}`
  const verifyQr = shown.request.decision && (await drawQr(address))
  response.json(presentReview(shown, user, { names, verifyQr }))
}

const showProof: Endpoint<typeof proofAnswer, WithId> = async (deps, request, response) => {
  const { user } = sessionOf(response)
  const proof = await proofFor(deps, user, request.params.id, clientAddress(request))
  response.json(presentProof(proof, canonicalize))
}

/**
 * Sends the bytes that a caller sent, as what the service found them to be: no browser may take them for a page of ours. Only a
 * request of our own pages counts as opened; a link of a caller that leads here does not.
 */
const sendAttachment: Endpoint<z.ZodType, WithId & { index: string }> = async (deps, request, response) => {
  const { id, index } = request.params
  if (!/^\d$/.test(index)) throw refusal('not_found')
  const ours = (request.get('Sec-Fetch-Site') ?? 'same-origin') === 'same-origin'
  const wanted = { id, index: Number(index), address: clientAddress(request) }
  const { facts, content } = await openAttachment(deps, sessionOf(response).user, wanted, ours)
  response.setHeader('Content-Type', typeOf(facts, content))
  response.setHeader('Content-Security-Policy', "default-src 'none'; sandbox")
  response.setHeader(
    'Content-Disposition',
    `attachment; filename*=UTF-8''${encodeURIComponent(facts.name).replace(/['()*]/g, escapeByte)}`,
  )
  response.send(content)
}

/** RFC 8187 section 3.2.1 allows fewer characters than `encodeURIComponent` leaves. */
function escapeByte(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}

function typeOf({ kind }: AttachmentFacts, content: Buffer): string {
  if (kind === 'text' || kind === 'diff') return 'text/plain; charset=utf-8'
  return (kind === 'image' && imageType(content)) || 'application/octet-stream'
}

const listSimilar: Endpoint<typeof similarAnswer, WithId> = async (deps, request, response) => {
  const { user } = sessionOf(response)
  const found = await similarRequests(deps, user, request.params.id, clientAddress(request))
  const references = found.earlier.flatMap(referencesIn)
  const names = await namesByReference(deps, user, found.request.account_id, references)
  response.json(presentSimilar(found, names))
}

const decisionOptions: Endpoint<z.ZodType, WithId> = async (deps, request, response) => {
  const body = parseInput(decisionOptionsBody, request.body)
  response.json(await startDecision(deps, sessionOf(response), request.params.id, body.decision))
}

const recordDecision: Endpoint<typeof decidedAnswer, WithId> = async (deps, request, response) => {
  const body = parseInput(decisionBody, request.body)
  const address = clientAddress(request)
  const proof = readProof(request.body, address)
  const input = {
    requestId: request.params.id,
    ...body,
    proof,
    address,
  }
  response.json(presentDecided(await decide(deps, sessionOf(response), input)))
}

/** Milliseconds after which a stream ends: 15 minutes, the lifetime of a session JWT. Clients reconnect by themselves. */
const STREAM_MS = 900_000

/** Streams an event to a signed-in person whenever the requests that wait for them may have changed. */
const streamPending: Endpoint = async (deps, request, response) => {
  const who = sessionOf(response)
  const giveBack = deps.inboxSlots.take(who.user)
  const gone = clientGone(response)
  const events = openEventStream(response)
  try {
    if (request.method === 'HEAD') return
    const changes = watchInbox(deps, who, { ms: STREAM_MS, signal: gone })
    for await (const event of changes) await events.send({ event, data: {} })
    if (deps.changes.stopped()) await events.send({ event: 'shutdown', data: {} })
  } catch (error) {
    await events.send({ event: 'error', data: errorEventData(deps, error) })
  } finally {
    events.end()
    giveBack()
  }
}

const batchOptions: Endpoint = async (deps, request, response) => {
  const { items } = parseInput(batchOptionsBody, request.body)
  response.json(await startBatch(deps, sessionOf(response), items))
}

const recordBatch: Endpoint<typeof batchAnswer> = async (deps, request, response) => {
  const { batch_id: batchId, comment, reason } = parseInput(batchBody, request.body)
  const address = clientAddress(request)
  const proof = readProof(request.body, address)
  const results = await decideBatch(deps, sessionOf(response), { batchId, comment, reason, proof, address })
  response.json({ data: results.map(presentBatchResult) })
}
