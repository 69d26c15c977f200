import { type ErrorRequestHandler, type Request, type Response, Router } from 'express'
import { z } from 'zod'
import { BUNDLE_TYPE } from '../../domain/bundle.ts'
import { invalidField, Refusal, refusal } from '../../domain/errors.ts'
import { isId } from '../../domain/identifier.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { readTraceparent } from '../../domain/trace-parent.ts'
import { giveToken } from '../../flow/audit/approval-token.ts'
import { bundleReceipt } from '../../flow/audit/bundle-receipt.ts'
import type { Caller } from '../../flow/keys/authenticate-caller.ts'
import { cancelRequest } from '../../flow/requests/cancel-request.ts'
import { consumeRequest } from '../../flow/requests/consume-request.ts'
import { createBatch, inPlace } from '../../flow/requests/create-batch.ts'
import { createRequest, refuseBlankAction, refuseSandboxFields } from '../../flow/requests/create-request.ts'
import { listOwnRequests, readOwnRequest } from '../../flow/requests/read-request.ts'
import {
  logRefusedVerification,
  verifyByDecisionId,
  verifyDecision,
} from '../../flow/requests/verify-receipt.ts'
import { waitForDecision } from '../../flow/requests/wait-for-decision.ts'
import { remindApprovers } from '../../flow/tell/remind-approvers.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { toJwks } from '../../signing/jwks.ts'
import { presentRequest, type requestAnswer } from '../api/approval.ts'
import {
  consumeBody,
  type consumedAnswer,
  listQuery,
  presentConsumed,
  presentReminder,
  presentToken,
  type reminderAnswer,
  type requestListAnswer,
  type tokenAnswer,
  type waitedAnswer,
  waitManyQuery,
  waitQuery,
} from '../api/approvals.ts'
import { createBody, createManyBody, createQuery, presentMade } from '../api/approvals-create.ts'
import { bundleQuery, presentBundle } from '../api/bundle.ts'
import { presentVerdict, type verdictAnswer } from '../api/receipts.ts'
import { clientGone } from '../event-stream.ts'
import { bindTo, type Endpoint, type WithId } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { authenticate, callerOf, requireScope } from '../middleware/authenticate.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody, jsonBodyWithAttachments } from '../middleware/json-body.ts'
import { applyLimit, limitByAddress, limitByKey } from '../middleware/limit.ts'
import { decodeCursor, encodeCursor, idempotencyKeyOf, parseInput } from '../read-input.ts'
import { ignoredIn, ignoredOf, refusePolicyFields } from '../unknown-fields.ts'
import { streamApproval, streamApprovals } from './approval-streams.ts'

/** Creates the callers' routes of approvals: create, list, read, wait, watch, remind, cancel, consume. */
export function approvalRoutes(deps: HttpDeps): Router {
  const reads = [authenticate(deps), limitByKey(deps, 'read'), requireScope('approval:read')]
  const router = Router()
  const on = bindTo(deps)
  router.post(
    '/request',
    authenticate(deps),
    limitByKey(deps, 'create'),
    requireScope('approval:create'),
    jsonBodyWithAttachments,
    on(createApproval),
  )
  router.post(
    '/requests',
    authenticate(deps),
    limitByKey(deps, 'create'),
    requireScope('approval:create'),
    jsonBody,
    on(createApprovals),
  )
  router.get('/', reads, on(listApprovals))
  // Before `/:id`, which would take the words for ids.
  router.get('/wait', reads, on(awaitDecisions))
  router.get('/events', reads, on(streamApprovals))
  router.get('/:id', reads, on(readApproval))
  router.get('/:id/wait', reads, on(awaitDecision))
  router.get('/:id/events', reads, on(streamApproval))
  router.get('/:id/receipt', reads, on(showBundle))
  const acts = [authenticate(deps), limitByKey(deps, 'key')]
  router.post('/:id/remind', acts, on(remindOfApproval))
  router.post('/:id/cancel', acts, requireScope('approval:create'), on(cancelApproval))
  router.post('/:id/consume', acts, requireScope('approval:create'), jsonBody, on(consumeApproval))
  router.post('/:id/token', acts, requireScope('approval:create'), jsonBody, on(tokenOfApproval))
  return router
}

const POLICY_ELSEWHERE =
  'cannot be set in a request; it is part of the policy of the account and of the API key'

const createApproval: Endpoint = async (deps, request, response) => {
  const caller = callerOf(response)
  const { wait } = parseInput(createQuery, request.query)
  if (wait !== undefined && !caller.scopes.includes('approval:read'))
    throw refusal('insufficient_scope', { scope: 'approval:read' })
  const { shown, ignored } = await makeApproval(deps, request, response)
  // A wait shall not hold the attachments.
  request.body = undefined
  const settled = wait === undefined ? undefined : await waitForMade(deps, response, shown.id, wait)
  const approval = settled && presentRequest(settled, deps.settings.baseUrl)
  response.status(201).json({ ...shown, approval, ...ignored })
}

/** Makes the request of a call, or finds it. */
async function makeApproval(deps: HttpDeps, request: Request, response: Response) {
  const caller = callerOf(response)
  refuseSandboxFields(caller, request.body ?? {})
  refusePolicyFields(request.body ?? {}, POLICY_ELSEWHERE)
  const input = parseInput(createBody, request.body)
  refuseBlankAction(input.action)
  const key = idempotencyKeyOf(request)
  const traceparent = readTraceparent(request.get('traceparent'))
  const idempotency = key === undefined ? undefined : { key, body: request.body }
  const { request: made, found } = await createRequest(deps, caller, { ...input, traceparent }, idempotency)
  if (found === 'replayed') response.setHeader('Idempotency-Replayed', 'true')
  const shown = presentMade(made, { baseUrl: deps.settings.baseUrl, reused: found === 'reused' })
  return { shown, ignored: ignoredIn(createBody, request.body) }
}

/**
 * Waits for the request of a call that made it. Too many waits, or a store that is away, must not lose its id: a caller without an
 * `Idempotency-Key` would make it a second time.
 * @returns undefined when it could not be read, or the client is gone
 * @throws Refusal `invalid or missing API key` when the key was revoked meanwhile (T54)
 */
async function waitForMade(
  deps: HttpDeps,
  response: Response,
  id: string,
  seconds: number,
): Promise<ApprovalRequest | undefined> {
  const caller = callerOf(response)
  const giveBack = deps.waitSlots.takeIfFree(caller.key)
  try {
    if (giveBack === undefined) return await readOwnRequest(deps, caller, id)
    return (await waitForDecision(deps, caller, [id], seconds, clientGone(response)))?.[0]
  } catch (error) {
    if (deps.storeIsDown(error)) return undefined
    throw error
  } finally {
    giveBack?.()
  }
}

const createApprovals: Endpoint = async (deps, request, response) => {
  const caller = callerOf(response)
  refusePolicyFields(request.body ?? {}, POLICY_ELSEWHERE)
  const { requests: inputs } = parseInput(createManyBody, request.body)
  const { requests: sent } = manySent.parse(request.body)
  for (const [index, body] of sent.entries()) await inPlace(index, () => checkOne(caller, body))
  const key = idempotencyKeyOf(request)
  if (key === undefined)
    throw invalidField('Idempotency-Key', 'is missing; the repeat of a call that was cut off needs it')
  // The call itself is counted already.
  if (inputs.length > 1)
    applyLimit(response, await deps.limiter.take('create', caller.key.id, inputs.length - 1))
  const traceparent = readTraceparent(request.get('traceparent'))
  const asked = inputs.map((input) => ({ ...input, traceparent }))
  const { requests: made, replayed } = await createBatch(deps, caller, asked, { key, body: request.body })
  if (replayed) response.setHeader('Idempotency-Replayed', 'true')
  const data = made.map((one, index) => ({
    ...presentMade(one, { baseUrl: deps.settings.baseUrl, reused: false }),
    ...ignoredOf(createBody, sent[index] ?? {}),
  }))
  response.status(201).json({ data, ...ignoredIn(createManyBody, request.body) })
}

const oneSent = z.looseObject({ action: z.string(), reuse: z.unknown().optional() })
const manySent = z.object({ requests: z.array(oneSent) })

/** Checks what `createBody` does not see in one request of several. A call that joins another call's request could not be repeated. */
function checkOne(caller: Caller, body: z.infer<typeof oneSent>): void {
  refuseSandboxFields(caller, body)
  refusePolicyFields(body, POLICY_ELSEWHERE)
  if (body.reuse !== undefined) throw invalidField('reuse', 'cannot be set in one of several requests')
  refuseBlankAction(body.action)
}

const listApprovals: Endpoint<typeof requestListAnswer> = async (deps, request, response) => {
  const { cursor, status, limit } = parseInput(listQuery, request.query)
  const { requests, next } = await listOwnRequests(deps, callerOf(response), {
    limit,
    ...(status === undefined ? {} : { status }),
    ...(cursor === undefined ? {} : { before: decodeCursor(cursor) }),
  })
  const next_cursor = next === undefined ? null : encodeCursor(next)
  response.json({ data: requests.map((one) => presentRequest(one, deps.settings.baseUrl)), next_cursor })
}

const readApproval: Endpoint<typeof requestAnswer, WithId> = async (deps, request, response) => {
  response.json(
    presentRequest(await readOwnRequest(deps, callerOf(response), request.params.id), deps.settings.baseUrl),
  )
}

const awaitDecision: Endpoint<typeof requestAnswer, WithId> = async (deps, request, response) => {
  const { timeout } = parseInput(waitQuery, request.query)
  const [settled] = (await waitInSlot(deps, response, [request.params.id], timeout)) ?? []
  if (settled !== undefined) response.json(presentRequest(settled, deps.settings.baseUrl))
}

const awaitDecisions: Endpoint<typeof waitedAnswer> = async (deps, request, response) => {
  const { ids, timeout } = parseInput(waitManyQuery, request.query)
  const settled = await waitInSlot(deps, response, ids, timeout)
  if (settled === undefined) return
  response.json({ data: settled.map((one) => presentRequest(one, deps.settings.baseUrl)) })
}

/** @returns undefined when the client is gone */
async function waitInSlot(
  deps: HttpDeps,
  response: Response,
  ids: readonly string[],
  timeout: number,
): Promise<ApprovalRequest[] | undefined> {
  const caller = callerOf(response)
  const giveBack = deps.waitSlots.take(caller.key)
  const gone = clientGone(response)
  try {
    const settled = await waitForDecision(deps, caller, ids, timeout, gone)
    return gone.aborted ? undefined : settled
  } finally {
    giveBack()
  }
}

/** The bytes are the bundle: verifiers accept no other spelling of it. */
const showBundle: Endpoint<z.ZodString, WithId> = async (deps, request, response) => {
  const { log, enrolment, timeout } = parseInput(bundleQuery, request.query)
  const caller = callerOf(response)
  const giveBack = log === 'none' ? undefined : deps.waitSlots.take(caller.key)
  try {
    const wish = { log, enrolment, ms: timeout * 1000, signal: clientGone(response) }
    const bundle = await bundleReceipt(deps, caller, request.params.id, wish)
    if (bundle !== undefined) response.type(BUNDLE_TYPE).send(canonicalize(presentBundle(bundle)))
  } finally {
    giveBack?.()
  }
}

const remindOfApproval: Endpoint<typeof reminderAnswer, WithId> = async (deps, request, response) => {
  response.json(presentReminder(await remindApprovers(deps, callerOf(response), request.params.id)))
}

const cancelApproval: Endpoint<typeof requestAnswer, WithId> = async (deps, request, response) => {
  response.json(
    presentRequest(await cancelRequest(deps, callerOf(response), request.params.id), deps.settings.baseUrl),
  )
}

const consumeApproval: Endpoint<typeof consumedAnswer, WithId> = async (deps, request, response) => {
  const running = parseInput(consumeBody, request.body)
  const ignored = ignoredIn(consumeBody, request.body)
  refuseUncompared(running, ignored)
  const use = { ...running, key: idempotencyKeyOf(request) }
  const used = await consumeRequest(deps, callerOf(response), request.params.id, use)
  if (used.replayed) response.setHeader('Idempotency-Replayed', 'true')
  response.json({ ...presentConsumed(used.request), ...ignored })
}

const tokenOfApproval: Endpoint<typeof tokenAnswer, WithId> = async (deps, request, response) => {
  const running = parseInput(consumeBody, request.body)
  const ignored = ignoredIn(consumeBody, request.body)
  refuseUncompared(running, ignored)
  const made = await giveToken(deps, callerOf(response), request.params.id, running)
  response.json({ ...presentToken(made), ...ignored })
}

/** Refuses a body of only unknown fields: the caller would believe that they had been compared with what was approved. */
function refuseUncompared(
  { refuse_sandbox: _, ...running }: z.infer<typeof consumeBody>,
  { ignored_fields: [unknown] = [] }: { ignored_fields?: string[] },
): void {
  if (unknown !== undefined && Object.keys(running).length === 0)
    throw invalidField(
      unknown,
      'is not known, and the body has nothing to compare; send `action` and `context`',
    )
}

/** Creates the public routes: anyone may verify a receipt and fetch the keys. */
export function verificationRoutes(deps: HttpDeps): Router {
  const router = Router()
  const on = bindTo(deps)
  router.get(
    '/api/v1/approvals/:id/verify',
    limitByAddress(deps, 'verify'),
    on(verifyApproval),
    logRefused(deps),
  )
  router.get('/.well-known/jwks.json', on(showKeySet))
  return router
}

/** Logs attempts that were refused before `verify`, since every attempt must be logged (interface, endpoint 4). */
function logRefused(deps: HttpDeps): ErrorRequestHandler<WithId> {
  return function logRefused(error: unknown, request, _response, next) {
    const asker = { kind: 'public', address: clientAddress(request) } as const
    const { id } = request.params
    const code = error instanceof Refusal ? error.code : undefined
    if (code === 'rate limit exceeded') logRefusedVerification(deps, asker, id, 'rate_limited')
    if (code === 'invalid_field') logRefusedVerification(deps, asker, id, code)
    next(error)
  }
}

const verifyApproval: Endpoint<typeof verdictAnswer, WithId> = async (deps, request, response) => {
  const asker = { kind: 'public', address: clientAddress(request) } as const
  const { id } = request.params
  const find = isId('dec', id) ? verifyByDecisionId : verifyDecision
  const verdict = await find(deps, id, asker)
  const unknown = !verdict.valid && verdict.status === undefined
  response.status(unknown ? 404 : 200).json(presentVerdict(verdict))
}

/** Publishes the key set, retired keys included: old receipts must verify for ever. */
const showKeySet: Endpoint = (deps, _request, response) => {
  response.setHeader('Cache-Control', 'public, max-age=300')
  const keys = toJwks(deps.keys.ring().publicRecords(), deps.restores.times())
  response.type('application/jwk-set+json').send(JSON.stringify(keys))
}
