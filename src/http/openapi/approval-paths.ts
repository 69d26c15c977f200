import { z } from 'zod'
import { BAD_LIMIT, idInPath, operations } from '../api/shared/operation.ts'
import { consumeBody, createBody, listQuery, waitQuery } from '../schemas/approvals.ts'
import {
  consumedAnswer,
  createdAnswer,
  expiredAnswer,
  jwksAnswer,
  reminderAnswer,
  requestAnswer,
  requestListAnswer,
  sandboxCreatedAnswer,
  verdictAnswer,
} from '../schemas/responses/approvals.ts'
import { idempotencyHeader, lastEventIdHeader } from './headers.ts'

const path = idInPath('req', 'Request id.')
const readers = { by: 'key', scope: 'approval:read' } as const

const exampleId = 'req_7h3k9m2p5q8r1s4t6v0w2x5y8z'

const exampleBody = {
  action: 'Pay $120.00 to ACME Corp, invoice 4711',
  ttl_seconds: 900,
  context: { agent_name: 'billing-bot', tool: 'payments.create', reason: 'Invoice 4711 is due today' },
}

const exampleCreated = {
  id: exampleId,
  status: 'pending',
  action: exampleBody.action,
  metadata: exampleBody.context,
  created_at: '2026-03-04T09:30:00.000Z',
  expires_at: '2026-03-04T09:45:00.000Z',
}

const exampleSandbox = {
  request_id: exampleId,
  status: 'pending',
  sandbox: true,
  verify_url: `https://approvals.example.com/api/v1/approvals/${exampleId}/verify`,
}

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
  'The stream begins with the request as it is now and sends it again whenever it looks different: `event: status`, `id`: its version, `data`: as `GET /api/v1/approvals/{id}` answers. After the final state it ends.',
  'Comments keep the connection open; after an hour, and with `event: shutdown` when the service stops, the stream ends early: reconnect. `event: error` carries a refusal with its `status`, 401 when the key was revoked meanwhile.',
  'An `EventSource` reconnects by itself and, with the final id, gets 204. At most 10 waits and streams of one key at a time; each counts as one read.',
].join('\n\n')

const CONSUME = [
  'Call it right before you carry out what was approved, and go ahead only on 200: of any number of calls one succeeds. Say in the body what you are about to do; each field that is there must equal what was approved, else `mismatch`, and nothing is used up. Without a body the approval is used as it stands.',
  'In production also refuse an answer with `sandbox: true`: nobody was asked. An answer that got lost reads as `already_consumed`; `GET /api/v1/approvals/{id}` shows `consumed_at`.',
].join('\n\n')

export const approvalOperations = operations('Approvals', {
  'post /api/v1/approvals/request': {
    id: 'createApproval',
    summary: 'Ask for an approval',
    description:
      'Submits an action for human approval. Unknown fields are ignored. A sandbox key runs the whole flow without a person: the first read after `sandbox_auto_decide_seconds` decides.',
    access: { by: 'key', scope: 'approval:create' },
    limited: true,
    parameters: { header: idempotencyHeader },
    body: {
      schema: createBody,
      required: 'action',
      invalid: ['ttl_seconds', 'must be at least 60'],
      example: exampleBody,
    },
    answers: {
      '201': {
        schema: z.union([createdAnswer, sandboxCreatedAnswer]),
        description: 'The request waits for its approver.',
        headers: ['Idempotency-Replayed'],
        examples: { live_key: { value: exampleCreated }, sandbox_key: { value: exampleSandbox } },
      },
    },
    refusals: [
      'sandbox_fields_require_sandbox_key',
      'no_eligible_approver',
      'idempotency_mismatch',
      'idempotency_in_progress',
      'quota_exceeded',
    ],
  },
  'get /api/v1/approvals': {
    id: 'listApprovals',
    summary: "List the key's own requests, newest first",
    access: readers,
    limited: true,
    parameters: { query: listQuery },
    answers: { '200': { schema: requestListAnswer, description: 'One page.' } },
    refusals: [BAD_LIMIT],
  },
  'get /api/v1/approvals/{id}': {
    id: 'getApproval',
    summary: 'Read a request',
    description:
      'Only the key that made the request may read it. Poll every 3 seconds, or use `wait`. Which fields there are depends on the status.',
    access: readers,
    limited: true,
    parameters: { path },
    answers: { '200': { schema: requestAnswer, description: 'The request as it is now.' } },
    refusals: ['not_found'],
  },
  'get /api/v1/approvals/{id}/wait': {
    id: 'waitForDecision',
    summary: 'Wait for the decision',
    description:
      'Answers like `GET /api/v1/approvals/{id}` the moment the request is no longer pending, else with the pending request when the time is up. At most 10 waits and streams of one key at a time; each counts as one read.',
    access: readers,
    limited: true,
    parameters: { path, query: waitQuery },
    answers: { '200': { schema: requestAnswer, description: 'Decided, expired, or still pending.' } },
    refusals: [
      { code: 'invalid_field', with: { field: 'timeout', detail: 'must be at most 60' } },
      'not_found',
      'too_many_waits',
    ],
  },
  'get /api/v1/approvals/{id}/events': {
    id: 'watchApproval',
    summary: 'Watch a request as server-sent events',
    description: EVENTS,
    access: readers,
    limited: true,
    parameters: { path, header: lastEventIdHeader },
    answers: {
      '200': {
        schema: z.string(),
        description: 'The stream.',
        type: 'text/event-stream',
        examples: { withdrawn: { value: exampleStream } },
      },
      '204': { description: 'The state named by `Last-Event-ID` is final: do not come back.' },
    },
    refusals: ['not_found', 'too_many_waits'],
  },
  'post /api/v1/approvals/{id}/remind': {
    id: 'remindApprover',
    summary: 'Remind the approver',
    description:
      'Notifies the approver again; request and expiry stay as they are. One reminder a minute for a request. In the sandbox it does nothing and says so.',
    access: { by: 'key' },
    limited: true,
    parameters: { path },
    answers: { '200': { schema: reminderAnswer, description: 'Reminded.' } },
    refusals: ['not_found', { code: 'not_pending', with: { status: 'approved' } }, 'remind_rate_limited'],
  },
  'post /api/v1/approvals/{id}/cancel': {
    id: 'cancelApproval',
    summary: 'Withdraw a request',
    description:
      'A pending request becomes `expired` at once, with `cancelled: true`: nobody can decide on it any more, nothing is signed, no callback is sent; webhooks get `approval.expired`. Everything else, also a second time, is `not_pending`.',
    access: { by: 'key', scope: 'approval:create' },
    limited: true,
    parameters: { path },
    answers: { '200': { schema: expiredAnswer, description: 'Withdrawn.' } },
    refusals: ['not_found', { code: 'not_pending', with: { status: 'approved' } }],
  },
  'post /api/v1/approvals/{id}/consume': {
    id: 'consumeApproval',
    summary: 'Use an approval, once',
    description: CONSUME,
    access: { by: 'key', scope: 'approval:create' },
    limited: true,
    parameters: { path },
    body: {
      schema: consumeBody,
      optional: true,
      invalid: ['context_sha256', 'must be 64 lower-case hex characters'],
      example: { action: exampleBody.action, context: exampleBody.context },
    },
    answers: { '200': { schema: consumedAnswer, description: 'Yours to carry out, this once.' } },
    refusals: [
      'not_found',
      { code: 'not_approved', with: { status: 'pending' } },
      'already_consumed',
      { code: 'mismatch', with: { field: 'context' } },
    ],
  },
})

export const receiptOperations = operations('Receipts', {
  'get /api/v1/approvals/{id}/verify': {
    id: 'verifyDecision',
    summary: 'Verify a decision',
    description:
      'Public. Checks the stored receipt and that action and context are those it commits to; every attempt is logged. Never decides a sandbox request. In production also refuse answers with `sandbox`.',
    access: { by: 'nobody in particular' },
    limited: true,
    parameters: { path: z.object({ id: z.string().meta({ description: 'Request id, or decision id.' }) }) },
    answers: {
      '200': {
        schema: verdictAnswer,
        description: 'The verdict; `valid` is false while nothing is signed.',
      },
      '404': {
        schema: verdictAnswer,
        description: 'There is no such request: `valid` is false, without `status`.',
      },
    },
  },
  'get /.well-known/jwks.json': {
    id: 'getKeySet',
    summary: 'The keys that sign receipts',
    description:
      'Public. Pin this set to verify receipts offline, with `countersign verify` or any Ed25519 library. A key is published before it signs.',
    access: { by: 'nobody in particular' },
    answers: {
      '200': { schema: jwksAnswer, description: 'The key set.', type: 'application/jwk-set+json' },
    },
  },
})
