import { z } from 'zod'
import { type ApprovalRequest, MOST_AT_ONCE, REQUEST_STATUSES } from '../../domain/request.ts'
import type { Reminder } from '../../domain/views.ts'
import { expiredAnswer, requestAnswer } from './approval.ts'
import { exampleBody, exampleCreated, exampleId, idempotencyHeader } from './approvals-create.ts'
import { decisionOf } from './decision.ts'
import { type Answer, idField, ignoredFields, pageOf, sandboxMark, timeField } from './shared/fields.ts'
import { flag, pageQuery, text, wholeNumber } from './shared/input.ts'
import { idInPath, operations } from './shared/operation.ts'

export const listQuery = z.object({
  status: z
    .enum(REQUEST_STATUSES, { error: `must be one of ${REQUEST_STATUSES.join(', ')}` })
    .optional()
    .meta({ description: 'Only requests in this state.' }),
  ...pageQuery(20).shape,
})

export const waitQuery = z.object({
  timeout: wholeNumber(1, 60).default(25).meta({ description: 'The longest time to wait, in seconds.' }),
})

/** `GET /api/v1/approvals/wait`. A text that is not an id is answered like an unknown id. */
export const waitManyQuery = z.object({
  ids: text
    .transform((list) => list.split(','))
    .refine((ids) => !ids.includes(''), 'must be ids with commas between them')
    .refine((ids) => ids.length <= MOST_AT_ONCE, `must not exceed ${MOST_AT_ONCE} ids`)
    .refine((ids) => new Set(ids).size === ids.length, 'must not name an id twice')
    .meta({ description: `1 to ${MOST_AT_ONCE} ids with commas between them, none twice.` }),
  ...waitQuery.shape,
})

/** `POST /api/v1/approvals/:id/consume`: what the caller is about to run. It is only compared, so only its form is checked. */
export const consumeBody = z
  .object({
    action: text
      .optional()
      .meta({ description: 'The action about to run; must equal the approved text exactly.' }),
    context: z.record(z.string(), z.unknown(), { error: 'must be an object' }).optional().meta({
      description: 'The context about to be used; compared in its RFC 8785 form, so order does not matter.',
    }),
    context_sha256: text
      .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex characters')
      .optional()
      .meta({ description: 'SHA-256 of the RFC 8785 form of that context, as the decision page shows it.' }),
    attachments_sha256: z
      .array(text.regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex characters'), {
        error: 'must be a list',
      })
      .optional()
      .meta({ description: 'SHA-256 of each attachment about to be used, in the order of the create.' }),
    refuse_sandbox: flag.optional().meta({
      description: 'True: refuses a sandbox request (`sandbox_approval`).',
    }),
  })
  .meta({ id: 'ConsumeRequest' })

export const waitedAnswer = z
  .strictObject({ data: z.array(requestAnswer).meta({ description: 'In the order of `ids`.' }) })
  .meta({ id: 'WaitedApprovals' })

export const requestListAnswer = pageOf(requestAnswer).meta({ id: 'ApprovalList' })

export const reminderAnswer = z
  .strictObject({
    ok: z.literal(true),
    request_id: idField('req'),
    push_sent: z.boolean().meta({
      description:
        'False: none of the approvers still to decide has a registered device, which is a browser registered for notifications or an identity in chat; they can still decide on the web page.',
    }),
    push_accepted: z.boolean().meta({
      description:
        'True: a chat platform or a push service accepted a message of this reminder for at least one approver within three seconds. False beside `push_sent: true`: it may still arrive, was refused, or this key is muted for the approver, who has rejected several of its requests lately.',
    }),
    reminded_at: timeField,
    sandbox: sandboxMark.optional(),
  })
  .meta({ id: 'Reminder' })

export const consumedAnswer = z
  .strictObject({
    request_id: idField('req'),
    status: z.literal('approved'),
    decision_id: idField('dec'),
    consumed_at: timeField,
    sandbox: sandboxMark.optional(),
    ignored_fields: ignoredFields,
  })
  .meta({ id: 'ConsumedApproval', description: 'In production, do not proceed if `sandbox` is present.' })

export const tokenAnswer = z
  .strictObject({
    request_id: idField('req'),
    decision_id: idField('dec'),
    token: z.string().meta({ description: 'A JWS in compact form; docs/receipts.md has its claims.' }),
    expires_at: timeField,
    ignored_fields: ignoredFields,
  })
  .meta({ id: 'ApprovalToken' })

/** Presents the answer to a reminder (interface, endpoint 3). */
export function presentReminder(reminder: Reminder): Answer<typeof reminderAnswer> {
  return {
    ok: true,
    request_id: reminder.request.id,
    push_sent: reminder.reachable,
    push_accepted: reminder.accepted,
    reminded_at: reminder.remindedAt.toISOString(),
    sandbox: reminder.request.sandbox || undefined,
  }
}

/** Presents a used approval. It says whether it was a dry-run, since the caller is about to act on it. */
export function presentConsumed(request: ApprovalRequest): Answer<typeof consumedAnswer> {
  if (request.consumed_at === undefined) throw new Error(`${request.id} was not consumed`)
  return {
    request_id: request.id,
    status: 'approved',
    decision_id: decisionOf(request).id,
    consumed_at: request.consumed_at.toISOString(),
    sandbox: request.sandbox || undefined,
  }
}

/** Presents a token; it is shown to the caller alone. */
export function presentToken(given: {
  request: ApprovalRequest
  token: string
  expires_at: Date
}): Answer<typeof tokenAnswer> {
  const { request, token, expires_at } = given
  const decision_id = decisionOf(request).id
  return { request_id: request.id, decision_id, token, expires_at: expires_at.toISOString() }
}

/** The request header with which a client reopens a stream (WHATWG HTML, section 9.2). */
const lastEventIdHeader = z.object({
  'Last-Event-ID': z
    .string()
    .optional()
    .meta({ description: 'The `id` of the last event that was received.', example: '1' }),
})

const path = idInPath('req', 'Request id.')

const readers = { by: ['key'], scope: 'approval:read' } as const

const exampleStream = `retry: 3000

event: status
id: 2
data: ${JSON.stringify({
  id: exampleId,
  status: 'expired',
  action: exampleBody.action,
  created_at: exampleCreated.created_at,
  expires_at: exampleCreated.expires_at,
  cancelled: true,
})}

`

const EVENTS = [
  'The stream begins with the current request and sends it again whenever it changes: `event: status`, `id`: its version, `data`: as `GET /api/v1/approvals/{id}` answers. After the final state it ends.',
  'Comments keep the connection open; after an hour, and with `event: shutdown` when the service stops, the stream ends early: reconnect. `event: error` carries a refusal with its `status`, 401 if the key was revoked in the meantime.',
  'An `EventSource` reconnects automatically and, with the final id, gets 204. At most 10 waits and streams of one key at a time, in each process of the service; each counts as one read.',
  'The `EventSource` of browsers cannot send an `Authorization` header: use `fetch`, or a client that takes headers, on a server, since no key belongs in a page.',
].join('\n\n')

const ALL_EVENTS = [
  'One stream for all requests of the key. It begins with the pending ones (the newest 500) and `event: listed`, then sends each request of the key when it is made, decided, withdrawn, expired or used: `event: status`, `data`: as `GET /api/v1/approvals/{id}` answers. A state may come twice.',
  'Nothing is kept for a client that is not connected, so there is no `id` and `Last-Event-ID` is ignored. After `listed`, read the requests that you wait for and that were not sent: they are closed. Where the stream may have missed changes, it sends what has become of the pending requests and `listed` again; uses may then be missing. Its end, comments, `shutdown` and `error` are as in the stream of one request; it counts as one wait and one read.',
].join('\n\n')

const CONSUME = [
  'Call it right before you carry out the approved action, and proceed only on 200: of any number of calls one succeeds. State in the body what you are about to do; each field that is present must equal the approved one, otherwise the call is refused with `mismatch` and nothing is consumed. Without a body, or with `{}`, the approval is consumed without a comparison; a body with only other fields is refused.',
  'In production send `refuse_sandbox: true`, or refuse an answer with `sandbox: true`: no approver was asked. If an answer may get lost, send an `Idempotency-Key` that no other worker can have: a call with the key of the one that succeeded gets its answer again, with `Idempotency-Replayed`; any other gets `already_consumed`.',
].join('\n\n')

export const approvalOperations = operations('Approvals', {
  'get /api/v1/approvals': {
    id: 'listApprovals',
    summary: "List the key's own requests, newest first",
    description:
      'A page can be short, or empty, without being the last: requests change while they are read. Continue while `next_cursor` is not null.',
    access: readers,
    parameters: { query: listQuery },
    answers: { '200': { schema: requestListAnswer, description: 'One page.' } },
  },
  'get /api/v1/approvals/{id}': {
    id: 'getApproval',
    summary: 'Read a request',
    description:
      'For the key that made the request, and for the internal token, which reads all requests of the named user’s account. Poll every 3 seconds, or use `wait`. The fields depend on the status.',
    access: readers,
    parameters: { path },
    answers: { '200': { schema: requestAnswer, description: 'The current request.' } },
    refusals: ['not_found'],
  },
  'get /api/v1/approvals/{id}/wait': {
    id: 'waitForDecision',
    summary: 'Wait for the decision',
    description:
      'Answers like `GET /api/v1/approvals/{id}` as soon as the request is no longer pending, or with the pending request after `timeout` seconds. At most 10 waits and streams of one key at a time, in each process of the service; each counts as one read.',
    access: readers,
    parameters: { path, query: waitQuery },
    answers: { '200': { schema: requestAnswer, description: 'Decided, expired, or still pending.' } },
    refusals: ['not_found', 'too_many_waits'],
  },
  'get /api/v1/approvals/wait': {
    id: 'waitForDecisions',
    summary: 'Wait for the first of several decisions',
    description:
      'Answers as soon as one of the requests is no longer pending, else after `timeout` seconds. Then wait again for those still pending. Counts as one wait and one read.',
    access: readers,
    parameters: { query: waitManyQuery },
    answers: { '200': { schema: waitedAnswer, description: 'All of them, as they are now.' } },
    refusals: ['not_found', 'too_many_waits'],
  },
  'get /api/v1/approvals/{id}/events': {
    id: 'watchApproval',
    summary: 'Watch a request as server-sent events',
    description: EVENTS,
    access: readers,
    parameters: { path, header: lastEventIdHeader },
    answers: {
      '200': {
        schema: z.string(),
        description: 'The stream.',
        type: 'text/event-stream',
        examples: { withdrawn: { value: exampleStream } },
      },
      '204': { description: 'The state named by `Last-Event-ID` is final: do not reconnect.' },
    },
    refusals: ['not_found', 'too_many_waits'],
  },
  'get /api/v1/approvals/events': {
    id: 'watchApprovals',
    summary: 'Watch all requests of the key as server-sent events',
    description: ALL_EVENTS,
    access: readers,
    answers: { '200': { schema: z.string(), description: 'The stream.', type: 'text/event-stream' } },
    refusals: ['too_many_waits'],
  },
  'post /api/v1/approvals/{id}/remind': {
    id: 'remindApprover',
    summary: 'Remind the approver',
    description:
      'Notifies the approver again; request and expiry stay unchanged. One reminder a minute for a request; automatic ones do not count. For the key that made the request, and for the internal token in the named user’s account. On a pending sandbox request it has no effect, and the answer says so.',
    access: { by: ['key'] },
    parameters: { path },
    answers: { '200': { schema: reminderAnswer, description: 'Reminded.' } },
    refusals: ['not_found', 'not_pending', 'remind_rate_limited', 'held_after_restore'],
  },
  'post /api/v1/approvals/{id}/cancel': {
    id: 'cancelApproval',
    summary: 'Withdraw a request',
    description:
      'A pending request becomes `expired` at once, with `cancelled: true`: it can no longer be decided, nothing is signed, no callback is sent; webhooks get `approval.expired`. Any other request, including one already withdrawn, is refused with `not_pending`.',
    access: { by: ['key'], scope: 'approval:create' },
    parameters: { path },
    answers: { '200': { schema: expiredAnswer, description: 'Withdrawn.' } },
    refusals: ['not_found', 'not_pending'],
  },
  'post /api/v1/approvals/{id}/consume': {
    id: 'consumeApproval',
    summary: 'Use an approval, once',
    description: CONSUME,
    access: { by: ['key'], scope: 'approval:create' },
    parameters: {
      path,
      header: idempotencyHeader(
        'For one attempt to act, chosen at random: a repeat of the call that consumed the approval gets its answer again. Keep it secret from other workers.',
      ),
    },
    body: {
      schema: consumeBody,
      optional: true,
      example: { action: exampleBody.action, context: exampleBody.context },
    },
    answers: {
      '200': {
        schema: consumedAnswer,
        description: 'You may carry this out once.',
        headers: ['Idempotency-Replayed'],
      },
    },
    refusals: [
      ...(['not_found', 'sandbox_approval', 'not_approved', 'already_consumed', 'mismatch'] as const),
      ...(['held_after_restore', 'approval_lapsed'] as const),
    ],
  },
  'post /api/v1/approvals/{id}/token': {
    id: 'getApprovalToken',
    summary: 'Use an approval, once, by a token for a gateway',
    description:
      'For a gateway that knows only JWT, named as the `audience` of the request: a JWS (`typ: human-approval+jwt`, EdDSA, key of purpose `token` in the key set) that lives at most 5 minutes and never longer than the request. It takes the place of `consume`: an approval is used by one of the two, and the body is compared as there. A repeat gets the same token until it expires, then `already_consumed`. Never for sandbox requests.',
    access: { by: ['key'], scope: 'approval:create' },
    parameters: { path },
    body: { schema: consumeBody, optional: true },
    answers: { '200': { schema: tokenAnswer, description: 'The token.' } },
    refusals: [
      ...(['not_found', 'sandbox_approval', 'not_approved', 'already_consumed', 'mismatch'] as const),
      ...(['held_after_restore', 'approval_lapsed', 'token_needs_audience'] as const),
    ],
  },
})
