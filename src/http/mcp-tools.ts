import { toNodeHandler } from '@modelcontextprotocol/node'
import {
  type CallToolResult,
  createMcpHandler,
  type InputRequiredResult,
  inputRequired,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Request, Response } from 'express'
import { z } from 'zod'
import type { Scope } from '../domain/api-key.ts'
import { Refusal, refusal } from '../domain/errors.ts'
import { given } from '../domain/given.ts'
import type { LimitBucket } from '../domain/limits.ts'
import { parseJson } from '../domain/parse-json.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import { readTraceparent } from '../domain/trace-parent.ts'
import type { Caller } from '../flow/keys/authenticate-caller.ts'
import type { AttachmentInput } from '../flow/requests/attachments.ts'
import { cancelRequest } from '../flow/requests/cancel-request.ts'
import { consumeRequest, type Use } from '../flow/requests/consume-request.ts'
import { createRequest, refuseBlankAction } from '../flow/requests/create-request.ts'
import { readOwnRequest } from '../flow/requests/read-request.ts'
import { waitForDecision } from '../flow/requests/wait-for-decision.ts'
import { canonicalize } from '../signing/canonical.ts'
import { sha256Hex } from '../signing/digest.ts'
import { attachmentFacts } from './api/approval.ts'
import { consumeBody } from './api/approvals.ts'
import { createBody } from './api/approvals-create.ts'
import { decisionAnswer, presentDecision } from './api/decision.ts'
import { idField, reviewUrl } from './api/shared/fields.ts'
import { failureOf } from './error-response.ts'
import type { HttpDeps } from './http-deps.ts'
import { nextStep, STATUSES, type ToolStatus } from './mcp-words.ts'

/** One HTTP request to `/mcp`: who calls, and what of its headers the tools need. */
interface McpCall {
  caller: Caller
  /** The id under which the log has the request. */
  request_id: string
  /** Sent by a program that repeats a call whose answer was lost; a model cannot set it. */
  idempotencyKey: string | undefined
  /** Whether the client may be sent away to repeat the call (revision 2026-07-28); older ones wait in one call. */
  repeats: boolean
}

type Answer = CallToolResult | InputRequiredResult

/** Seconds of one round: clients give a call 60 s. */
const ROUND_SECONDS = 45

/** Seconds of a round where the key has its usual number of waits open. */
const SHORT_SECONDS = 10

/** Rounds of one call: official clients repeat a call ten times, and fail it if it is not answered then. */
const MOST_ROUNDS = 10

const outcome = z.object({
  request_id: idField('req'),
  status: z.enum(STATUSES),
  used: z
    .boolean()
    .describe('The approval is used up. Only the call of consume_approval that used it up may act on it.'),
  comment: z.string().nullable().describe("The approver's comment."),
  review_url: z.string().describe('The page on which a human decides.'),
  expires_at: z.string().describe('When the question expires.'),
  attachments: z
    .array(attachmentFacts)
    .optional()
    .describe('The attachments, with the hashes that were asked about.'),
  sandbox: z.literal(true).optional().describe('A dry run: no human was asked.'),
  next: z.string().describe('What to do now.'),
})

const withReceipt = outcome.extend({
  receipt: decisionAnswer.optional().describe('The signed decision, for whoever checks it.'),
})

const wait_seconds = z
  .int()
  .min(0)
  .max(ROUND_SECONDS)
  .default(ROUND_SECONDS)
  .describe('Seconds to wait for the decision; 0 answers at once.')
const request_id = idField('req').describe('The request_id of the answer to request_approval.')
const action = createBody.shape.action.describe(
  'What will be done, in one sentence a human can judge, with amounts, names and targets; at most 500 characters.',
)
const context = createBody.shape.context.describe(
  'The exact arguments of the action as a JSON object; the human sees them.',
)

/**
 * Answers one HTTP request of an MCP client, of the revision of 2026 or an older one. Every request has a server of its own, which
 * knows the caller: nothing is kept between two.
 */
export async function serveMcp(
  deps: HttpDeps,
  call: Omit<McpCall, 'repeats'>,
  request: Request,
  response: Response,
): Promise<void> {
  const onerror = (error: Error) =>
    deps.log.info({ error, request_id: call.request_id }, 'MCP request refused')
  const handler = createMcpHandler(
    ({ era }) => createMcpServer(deps, { ...call, repeats: era === 'modern' }, request.body),
    { onerror },
  )
  await toNodeHandler(handler, { onerror })(request, response, request.body)
}

/** The tools, made once: each open call has a server of its own, which would hold schemas of its own (20 kB). */
const TOOLS = {
  request_approval: {
    description:
      'Asks a human for approval and waits for the decision. An equal request that is still open is joined, so calling again after any failure is safe and asks nobody twice.',
    inputSchema: z.object({
      ...{ action, context, ttl_seconds: createBody.shape.ttl_seconds, wait_seconds },
      attachments: createBody.shape.attachments.describe(
        'Texts and files too long for the context, for the human to read; each has name, and text or base64; base names the attachment with the former text. With attachments the call does not wait: call wait_for_decision next.',
      ),
    }),
    outputSchema: outcome,
  },
  wait_for_decision: {
    description: 'Waits for the decision of a request that is pending.',
    inputSchema: z.object({ request_id, wait_seconds }),
    outputSchema: outcome,
    annotations: { readOnlyHint: true },
  },
  consume_approval: {
    description:
      'Uses up an approval right before the action is carried out. Pass exactly the action and the context about to be used: anything that differs from what was approved is refused, and so is a second use.',
    inputSchema: z.object({
      ...{ request_id, action, context },
      attachments_sha256: consumeBody.shape.attachments_sha256.describe(
        'SHA-256 (hex) of each attachment about to be used, in the order of request_approval, if the request has attachments.',
      ),
    }),
    outputSchema: outcome,
  },
  cancel_approval: {
    description: 'Withdraws a pending request that is not needed any more.',
    inputSchema: z.object({ request_id }),
    outputSchema: outcome,
  },
  get_receipt: {
    description: 'Reads a request with the signed receipt of its decision.',
    inputSchema: z.object({ request_id }),
    outputSchema: withReceipt,
    annotations: { readOnlyHint: true },
  },
}

type Tool = keyof typeof TOOLS

const toolCall = z.object({ method: z.literal('tools/call'), params: z.object({ name: z.string() }) })

/**
 * Makes the server for one HTTP request, the same for every revision of the protocol: with five tools, or with the one that is called,
 * since an open call holds them (2 kB each).
 */
function createMcpServer(deps: HttpDeps, call: McpCall, body: unknown): McpServer {
  const server = new McpServer(
    { name: 'countersign', title: 'Countersign', version: deps.build.version },
    { instructions: INSTRUCTIONS },
  )
  const run = (act: () => Promise<Answer>) => answered(deps, call, act)
  const register: Record<Tool, () => unknown> = {
    request_approval: () =>
      server.registerTool('request_approval', TOOLS.request_approval, (asked, ctx) =>
        run(() => askAndWait(deps, call, asked, ctx)),
      ),
    wait_for_decision: () =>
      server.registerTool('wait_for_decision', TOOLS.wait_for_decision, (asked, ctx) =>
        run(() => waitOn(deps, call, asked.request_id, { asked, ctx })),
      ),
    consume_approval: () =>
      server.registerTool('consume_approval', TOOLS.consume_approval, (asked) =>
        run(() => consume(deps, call, asked)),
      ),
    cancel_approval: () =>
      server.registerTool('cancel_approval', TOOLS.cancel_approval, (asked) =>
        run(() => cancel(deps, call, asked.request_id)),
      ),
    get_receipt: () =>
      server.registerTool('get_receipt', TOOLS.get_receipt, (asked) =>
        run(() => readReceipt(deps, call, asked.request_id)),
      ),
  }
  const called = toolCall.safeParse(body).data?.params.name
  const all = Object.entries(register)
  const found = all.filter(([name]) => name === called)
  for (const [, add] of found.length > 0 ? found : all) add()
  return server
}

const INSTRUCTIONS =
  'Ask with request_approval before an action that needs a human, and carry it out only after consume_approval accepted the exact action and context. Pending, expired and withdrawn are not refusals, and none of them is an approval.'

interface Asked {
  action: string
  context: Record<string, unknown>
  attachments?: AttachmentInput[] | undefined
}

/** What one call of a tool that waits was given. */
interface Waiting {
  asked: { wait_seconds: number }
  ctx: ServerContext
}

async function askAndWait(
  deps: HttpDeps,
  call: McpCall,
  asked: Asked & { ttl_seconds?: number | undefined; wait_seconds: number },
  ctx: ServerContext,
): Promise<Answer> {
  const state = readState(deps, call, asked, ctx)
  if (state !== undefined) return waitOn(deps, call, state.request_id, { asked, ctx })
  await admit(deps, call, 'create', 'approval:create')
  refuseBlankAction(asked.action)
  const { wait_seconds: _, ...input } = asked
  const { request } = await createRequest(deps, call.caller, {
    ...input,
    requires_individual_decision: false,
    reuse: 'open',
    traceparent: readTraceparent(traceparentOf(ctx)),
  })
  // An open call holds what it was sent: many could hold gigabytes.
  if (input.attachments?.length) return result(deps, request)
  return waitOn(deps, call, request.id, { asked, ctx })
}

/** The trace of the call: the protocol has a place for it beside the arguments (revision 2026-07-28, `_meta`). */
function traceparentOf({ mcpReq: { _meta } }: ServerContext): string | undefined {
  const value: unknown = _meta?.traceparent
  return typeof value === 'string' ? value : undefined
}

/** Waits one round. A client that can repeat the call is sent away with a sealed state, so that no connection stays open for long. */
async function waitOn(deps: HttpDeps, call: McpCall, id: string, { asked, ctx }: Waiting): Promise<Answer> {
  requireScopeOf(call, 'approval:read')
  const round = (readState(deps, call, asked, ctx)?.round ?? 0) + 1
  const place = asked.wait_seconds === 0 ? undefined : placeFor(deps, call)
  if (place === undefined) {
    const seen = await readOwnRequest(deps, call.caller, id)
    const isCrowded = asked.wait_seconds > 0 && seen.status === 'pending'
    return result(deps, seen, isCrowded ? { next: nextStep('crowded', seen) } : {})
  }
  try {
    const seconds = Math.min(asked.wait_seconds, place.seconds)
    const waited = await waitForDecision(deps, call.caller, [id], seconds, ctx.mcpReq.signal)
    const seen = waited?.[0] ?? (await readOwnRequest(deps, call.caller, id))
    if (seen.status !== 'pending' || waited === undefined || !call.repeats || round >= MOST_ROUNDS)
      return result(deps, seen)
    return inputRequired({ requestState: writeState(deps, call, asked, { request_id: id, round }) })
  } finally {
    place.giveBack()
  }
}

/**
 * Finds a place for a wait. Where all of the key are taken, there are as many again for short waits: a model that is answered at once
 * calls again at once, and uses up the reads of its key.
 * @returns undefined when those are taken too
 */
function placeFor({ waitSlots }: HttpDeps, { caller: { key } }: McpCall) {
  const giveBack = waitSlots.takeIfFree(key)
  if (giveBack !== undefined) return { giveBack, seconds: ROUND_SECONDS }
  const short = waitSlots.takeIfFree({ id: `${key.id}:short`, account_id: key.account_id })
  return short && { giveBack: short, seconds: SHORT_SECONDS }
}

async function consume(
  deps: HttpDeps,
  call: McpCall,
  asked: Omit<Asked, 'attachments'> & Pick<Use, 'attachments_sha256'> & { request_id: string },
): Promise<Answer> {
  await admit(deps, call, 'key', 'approval:create')
  const { request_id, action, context, attachments_sha256 } = asked
  const use = { action, context, attachments_sha256, key: call.idempotencyKey }
  const { request } = await consumeRequest(deps, call.caller, request_id, use)
  const step = request.sandbox ? 'consumed_dry' : 'consumed'
  return result(deps, request, { status: 'approved', next: nextStep(step, request) })
}

async function cancel(deps: HttpDeps, call: McpCall, id: string): Promise<Answer> {
  await admit(deps, call, 'key', 'approval:create')
  return result(deps, await cancelRequest(deps, call.caller, id))
}

async function readReceipt(deps: HttpDeps, call: McpCall, id: string): Promise<Answer> {
  requireScopeOf(call, 'approval:read')
  const request = await readOwnRequest(deps, call.caller, id)
  return result(deps, request, request.decision && { receipt: presentDecision(request) })
}

function requireScopeOf({ caller }: McpCall, scope: Scope): void {
  if (!caller.scopes.includes(scope)) throw refusal('insufficient_scope', { scope })
}

/** Counts the call as the same call over REST counts. @throws Refusal `insufficient_scope`, `rate limit exceeded` */
async function admit({ limiter }: HttpDeps, call: McpCall, bucket: LimitBucket, scope: Scope): Promise<void> {
  requireScopeOf(call, scope)
  const { allowed, retryAfter: retry_after } = await limiter.take(bucket, call.caller.key.id)
  if (!allowed) throw refusal('rate limit exceeded', { retry_after })
}

function result(
  { settings }: HttpDeps,
  request: ApprovalRequest,
  more: { status?: ToolStatus; next?: string; receipt?: z.output<typeof decisionAnswer> } = {},
): CallToolResult {
  const used = request.consumed_at !== undefined
  const status = statusOf(request)
  const structuredContent = {
    request_id: request.id,
    status,
    used,
    comment: request.decision?.comment ?? null,
    review_url: reviewUrl(settings.baseUrl, request.id),
    expires_at: request.expires_at.toISOString(),
    ...given({ attachments: request.attachments }),
    ...(request.sandbox && { sandbox: true }),
    next: nextStep(status, request),
    ...given(more),
  }
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
}

function statusOf({ status, cancelled, consumed_at }: ApprovalRequest): ToolStatus {
  if (consumed_at !== undefined) return 'used'
  return status === 'expired' && cancelled ? 'withdrawn' : status
}

/** What a client sends back when it repeats a call. */
interface State {
  request_id: string
  round: number
}

const stateShape = z.object({ request_id: idField('req'), round: z.int().min(1) })

/** Seals the state for this key and these arguments: the client keeps it, and must neither change nor exchange it. */
function writeState({ vault }: HttpDeps, call: McpCall, asked: object, state: State): string {
  return vault.seal(Buffer.from(JSON.stringify(state)), ownerOfState(call, asked))
}

/** @throws Refusal `invalid_field` when it was altered, or was sealed for another key or other arguments */
function readState({ vault }: HttpDeps, call: McpCall, asked: object, ctx: ServerContext): State | undefined {
  const sealed: unknown = ctx.mcpReq.requestState()
  if (typeof sealed !== 'string') return undefined
  try {
    const opened = vault.open(sealed, ownerOfState(call, asked))
    return stateShape.parse(parseJson(Buffer.from(opened).toString()))
  } catch {
    throw refusal('invalid_field', { field: 'requestState', detail: 'does not belong to this call' })
  }
}

function ownerOfState({ caller }: McpCall, asked: object): string {
  return `mcp-state:${caller.key.id}:${sha256Hex(canonicalize(given({ ...asked })))}`
}

/** Turns refusals into results that the model can read; the protocol's own errors are for its faults. */
async function answered(deps: HttpDeps, call: McpCall, act: () => Promise<Answer>): Promise<Answer> {
  try {
    return await act()
  } catch (error) {
    const known = error instanceof Refusal ? error : failureOf(deps, error, call.request_id)
    if (known !== error) deps.log.error({ error, request_id: call.request_id }, 'MCP tool failed')
    const { code, publicMessage, details } = known
    const body = { error: code, message: publicMessage, ...given({ ...details }), next: nextStep(code) }
    return { isError: true, content: [{ type: 'text', text: JSON.stringify(body) }] }
  }
}
