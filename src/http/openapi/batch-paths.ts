import { z } from 'zod'
import { MAX_BATCH } from '../../domain/intent.ts'
import { operations, SIGNED_IN_CHANGE } from '../api/shared/operation.ts'
import { authenticationSchema } from '../api/shared/proofs.ts'
import { batchBody, batchOptionsBody } from '../schemas/batch-decisions.ts'
import { batchAnswer, batchOptionsAnswer } from '../schemas/responses/batch.ts'

const ids = [`req_${'7h3k9m2p5q8r1s4t6v0w2x5y8z'}`]

/** Exactly one proof belongs to a batch. */
const provenBatch = batchBody
  .extend({
    passkey: authenticationSchema.optional().meta({ description: 'The assertion over `options`.' }),
    totp: z.string().optional().meta({ description: 'The current one-time code.', example: '123456' }),
  })
  .meta({
    id: 'ProvenBatch',
    description:
      'Send exactly one of `passkey` and `totp`; `comment` has at most 1000 characters and goes with every vote.',
  })

export const batchOperations = operations('Deciding', {
  'post /api/v1/approvals/decisions/options': {
    id: 'startBatch',
    summary: 'Start deciding many requests with one gesture',
    description: `States what the person will consent to for 1 to ${MAX_BATCH} requests, approvals and rejections mixed, and remembers what was shown of each for five minutes, for this person and this session. Needed before a passkey and before a one-time code alike. Where a request stands in the way, nothing is started and \`ids\` names those it is about.`,
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: {
      schema: batchOptionsBody,
      required: 'items',
      invalid: ['items', 'must not hold a request twice'],
      example: { items: [{ id: ids[0], decision: 'approved' }] },
    },
    answers: { '200': { schema: batchOptionsAnswer, description: 'What to confirm.' } },
    refusals: [
      { code: 'not_found', with: { ids } },
      { code: 'not_pending', with: { ids } },
      { code: 'sandbox_request', with: { ids } },
      { code: 'already_voted', with: { ids } },
      { code: 'passkey_required', with: { ids } },
    ],
  },
  'post /api/v1/approvals/decisions': {
    id: 'decideBatch',
    summary: 'Approve or reject many requests with one gesture',
    description:
      'By a signed-in person with one fresh proof of presence; never by an API key. Whatever comes of it, the batch is used up: after a refusal start again. Everything is read again first; if anything differs from what was shown (a request decided, withdrawn or lapsed, another vote, other rights or factors of the person), the whole batch is refused with `batch_changed` and nothing is recorded. A code is refused for the whole batch when one of its requests must be decided with a passkey. Then every vote is written by itself, high impact first, and each decision has its own receipt: a vote is complete without the others, so there is no transaction over all of them. When somebody else is ahead in these last milliseconds, that item has `error` in place of `vote` and the others stand; after a 5xx, read the requests again: each was either decided in full or not at all.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: {
      schema: provenBatch,
      required: 'batch_id',
      invalid: ['passkey', 'must not be sent together with totp'],
    },
    answers: { '200': { schema: batchAnswer, description: 'What became of each.' } },
    refusals: [
      'challenge_invalid',
      { code: 'batch_changed', with: { ids } },
      'proof_required',
      { code: 'passkey_required', with: { ids } },
      'method_not_enrolled',
      'passkey_refused',
      'totp_refused',
      'totp_disabled',
      'totp_locked',
    ],
  },
})
