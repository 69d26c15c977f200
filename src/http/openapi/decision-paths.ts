import { z } from 'zod'
import { BAD_LIMIT, idInPath, operations, SIGNED_IN, SIGNED_IN_CHANGE } from '../api/shared/operation.ts'
import { authenticationSchema } from '../api/shared/proofs.ts'
import { decisionBody, decisionOptionsBody, pendingQuery } from '../schemas/decisions.ts'
import {
  decidedAnswer,
  decisionOptionsAnswer,
  pendingAnswer,
  reviewAnswer,
} from '../schemas/responses/decision.ts'

const path = idInPath('req', 'Request id.')
const notPending = { code: 'not_pending', with: { status: 'expired' } } as const

/** Exactly one proof belongs to a decision. */
const provenDecision = decisionBody
  .extend({
    passkey: authenticationSchema.optional().meta({ description: 'The assertion over `options`.' }),
    totp: z.string().optional().meta({ description: 'The current one-time code.', example: '123456' }),
  })
  .meta({
    id: 'ProvenDecision',
    description: 'Send exactly one of `passkey` and `totp`; `comment` has at most 1000 characters.',
  })

export const decisionOperations = operations('Deciding', {
  'get /api/v1/me/pending': {
    id: 'listPendingForMe',
    summary: 'What waits for me, oldest first',
    access: SIGNED_IN,
    parameters: { query: pendingQuery },
    answers: { '200': { schema: pendingAnswer, description: 'One page.' } },
    refusals: [BAD_LIMIT],
  },
  'get /api/v1/me/pending/events': {
    id: 'watchPendingForMe',
    summary: 'Be told when what waits for me may have changed',
    description:
      'Server-sent events. `changed`, with empty data, comes at the beginning and whenever the list may be another: read it again then. `shutdown` and `error` (data: the body of the refusal, with `status`) end the stream, as does a quarter of an hour; come back after 3 seconds unless `status` is 401. Comments every 15 seconds keep it open. At most 10 streams a person. Watching does not keep a session alive.',
    access: SIGNED_IN,
    answers: {
      '200': {
        schema: z.string(),
        description: 'The stream.',
        type: 'text/event-stream',
        examples: { one: { value: 'retry: 3000\n\nevent: changed\ndata: {}\n\n: still here\n\n' } },
      },
    },
    refusals: ['too_many_waits'],
  },
  'get /api/v1/approvals/{id}/review': {
    id: 'reviewApproval',
    summary: 'See everything that will be signed',
    description:
      'For whoever is named in the request, stands in for one of them or voted on it, and for the owner and the auditors of the account. Reading decides nothing.',
    access: SIGNED_IN,
    parameters: { path },
    answers: { '200': { schema: reviewAnswer, description: 'The request.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/approvals/{id}/decision/options': {
    id: 'startDecision',
    summary: 'Start a decision by passkey',
    description:
      'The challenge commits to request, outcome, action and context; the answer to it counts once and for these only. Not needed for one-time codes.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: { path },
    body: {
      schema: decisionOptionsBody,
      required: 'decision',
      invalid: ['decision', 'must be approved or rejected'],
    },
    answers: { '200': { schema: decisionOptionsAnswer, description: 'What to confirm with the passkey.' } },
    refusals: [
      'not_found',
      notPending,
      'sandbox_request',
      'already_voted',
      'passkey_required',
      'method_not_enrolled',
    ],
  },
  'post /api/v1/approvals/{id}/decision': {
    id: 'decide',
    summary: 'Approve or reject',
    description: 'By a signed-in person with a fresh proof of presence; never by an API key.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: { path },
    body: {
      schema: provenDecision,
      required: 'decision',
      invalid: ['passkey', 'must not be sent together with totp'],
    },
    answers: { '200': { schema: decidedAnswer, description: 'The vote counts.' } },
    refusals: [
      'proof_required',
      'challenge_invalid',
      'not_found',
      notPending,
      'sandbox_request',
      'already_voted',
      'passkey_required',
      'method_not_enrolled',
      'passkey_refused',
      'totp_refused',
      'totp_disabled',
      'totp_locked',
    ],
  },
})
