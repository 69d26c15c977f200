import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { createBody, listQuery, waitQuery } from '../schemas/approvals.ts'
import {
  createdAnswer,
  jwksAnswer,
  reminderAnswer,
  requestAnswer,
  requestListAnswer,
  sandboxCreatedAnswer,
  verdictAnswer,
} from '../schemas/responses/approvals.ts'
import { idField } from '../schemas/responses/fields.ts'
import { idempotencyHeader } from './headers.ts'
import { operation } from './operation.ts'

const tag = 'Approvals'
const path = z.object({ id: idField('req').meta({ description: 'Request id.' }) })
const readers = { by: 'key', scope: 'approval:read' } as const
const badId = 'not_found' as const

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

const create = operation({
  id: 'createApproval',
  tag,
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
})

const list = operation({
  id: 'listApprovals',
  tag,
  summary: "List the key's own requests, newest first",
  access: readers,
  limited: true,
  parameters: { query: listQuery },
  answers: { '200': { schema: requestListAnswer, description: 'One page.' } },
  refusals: [{ code: 'invalid_field', with: { field: 'limit', detail: 'must be at most 100' } }],
})

const read = operation({
  id: 'getApproval',
  tag,
  summary: 'Read a request',
  description:
    'Only the key that made the request may read it. Poll every 3 seconds, or use `wait`. Which fields there are depends on the status.',
  access: readers,
  limited: true,
  parameters: { path },
  answers: { '200': { schema: requestAnswer, description: 'The request as it is now.' } },
  refusals: [badId],
})

const wait = operation({
  id: 'waitForDecision',
  tag,
  summary: 'Wait for the decision',
  description:
    'Answers like `GET /api/v1/approvals/{id}` the moment the request is no longer pending, else with the pending request when the time is up. At most 10 waits of one key at a time; each counts as one read.',
  access: readers,
  limited: true,
  parameters: { path, query: waitQuery },
  answers: { '200': { schema: requestAnswer, description: 'Decided, expired, or still pending.' } },
  refusals: [
    { code: 'invalid_field', with: { field: 'timeout', detail: 'must be at most 60' } },
    badId,
    'too_many_waits',
  ],
})

const remind = operation({
  id: 'remindApprover',
  tag,
  summary: 'Remind the approver',
  description:
    'Notifies the approver again; request and expiry stay as they are. One reminder a minute for a request. In the sandbox it does nothing and says so.',
  access: { by: 'key' },
  limited: true,
  parameters: { path },
  answers: { '200': { schema: reminderAnswer, description: 'Reminded.' } },
  refusals: [badId, { code: 'not_pending', with: { status: 'approved' } }, 'remind_rate_limited'],
})

const verify = operation({
  id: 'verifyDecision',
  tag: 'Receipts',
  summary: 'Verify a decision',
  description:
    'Public. Checks the stored receipt and that action and context are those it commits to; every attempt is logged. Never decides a sandbox request. In production also refuse answers with `sandbox`.',
  access: { by: 'nobody in particular' },
  limited: true,
  parameters: { path: z.object({ id: z.string().meta({ description: 'Request id.' }) }) },
  answers: {
    '200': { schema: verdictAnswer, description: 'The verdict; `valid` is false while nothing is signed.' },
    '404': {
      schema: verdictAnswer,
      description: 'There is no such request: `valid` is false, without `status`.',
    },
  },
})

const jwks = operation({
  id: 'getKeySet',
  tag: 'Receipts',
  summary: 'The keys that sign receipts',
  description:
    'Public. Pin this set to verify receipts offline, with `countersign verify` or any Ed25519 library. A key is published before it signs.',
  access: { by: 'nobody in particular' },
  answers: {
    '200': { schema: jwksAnswer, description: 'The key set.', type: 'application/jwk-set+json' },
  },
})

export const approvalPaths: ZodOpenApiPathsObject = {
  '/api/v1/approvals/request': { post: create },
  '/api/v1/approvals': { get: list },
  '/api/v1/approvals/{id}': { get: read },
  '/api/v1/approvals/{id}/wait': { get: wait },
  '/api/v1/approvals/{id}/remind': { post: remind },
  '/api/v1/approvals/{id}/verify': { get: verify },
  '/.well-known/jwks.json': { get: jwks },
}
