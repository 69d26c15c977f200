import { z } from 'zod'
import type { Refusal } from '../../domain/errors.ts'
import { MAX_BATCH } from '../../domain/intent.ts'
import type { ApprovalRequest, Vote } from '../../domain/request.ts'
import {
  decidedAnswer,
  decisionBody,
  decisionOptionsAnswer,
  decisionOptionsBody,
  presentDecided,
} from './decisions.ts'
import {
  type Answer,
  approverField,
  errorCode,
  hexField,
  idField,
  outcomeField,
  statusField,
} from './shared/fields.ts'
import { text } from './shared/input.ts'
import { DECISION_PROOF_REFUSALS, operations } from './shared/operation.ts'
import { provenBy, requestOptions } from './shared/proofs.ts'

const item = z
  .object({
    id: z.string({ error: 'must be a request id' }).meta({ description: 'Request id.' }),
    ...decisionOptionsBody.shape,
  })
  .meta({ id: 'BatchRequestItem' })

export const batchOptionsBody = z
  .object({
    items: z
      .array(item, { error: 'must be a list' })
      .min(1, 'must hold at least one request')
      .max(MAX_BATCH, `must hold at most ${MAX_BATCH} requests`)
      .refine((items) => new Set(items.map(({ id }) => id)).size === items.length, {
        message: 'must not contain a request twice',
        when: ({ issues }) => issues.length === 0,
      })
      .meta({ description: `1 to ${MAX_BATCH} requests, none twice; outcomes may be mixed.` }),
  })
  .meta({ id: 'BatchOptionsRequest' })

/** `POST /api/v1/approvals/decisions`, without the proof, which has its own schema. */
export const batchBody = z
  .object({
    batch_id: text
      .regex(/^[0-9a-f]{64}$/, 'must be the batch_id of the options')
      .meta({ description: 'The `batch_id` of the options; it counts once.' }),
    comment: decisionBody.shape.comment,
    reason: decisionBody.shape.reason.meta({ description: 'Goes with the rejections alone.' }),
  })
  .meta({ id: 'BatchDecisionRequest' })

const batchIntent = z
  .strictObject({
    typ: z.literal('human-approval/batch/v1'),
    aud: z.string(),
    approver: approverField.meta({ description: 'The person who acts; each intent says whose vote it is.' }),
    items: z
      .array(
        z.strictObject({
          rid: idField('req'),
          decision: outcomeField,
          intent_sha256: hexField.meta({
            description:
              'SHA-256 of the RFC 8785 JSON of the intent of this request; its first 32 hex characters are the `nonce` of the receipt.',
          }),
        }),
      )
      .min(1)
      .max(MAX_BATCH),
    salt: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  })
  .meta({
    id: 'BatchIntent',
    description:
      'The statement that the person consents to: every request by the hash of its intent. Compare each one.',
  })

const batchOptionsAnswer = z
  .strictObject({
    batch_id: hexField.meta({ description: 'Post it with the proof. Valid once, for five minutes.' }),
    batch: batchIntent,
    intents: z
      .array(decisionOptionsAnswer.shape.intent)
      .meta({ description: 'One for each item, in the order of the items.' }),
    methods: z
      .array(z.enum(['passkey', 'totp']))
      .meta({ description: 'Ways of proving presence that are accepted for every item.' }),
    options: requestOptions.optional().meta({ description: 'Present if a passkey is accepted.' }),
  })
  .meta({
    id: 'BatchOptions',
    description: '`options.challenge` is the base64url SHA-256 of the RFC 8785 JSON of `batch`.',
  })

const lostItem = z
  .strictObject({
    id: idField('req'),
    status: statusField,
    error: z.strictObject({ code: errorCode, message: z.string() }),
  })
  .meta({
    id: 'BatchLost',
    description:
      'Nothing was recorded for this request: another decision came first while this one was being written, it cannot be approved any more, or the person’s factors were changed; see `error`.',
  })

export const batchAnswer = z
  .strictObject({
    data: z
      .array(z.union([decidedAnswer, lostItem]))
      .meta({ description: 'One for each item, in the order of the items.' }),
  })
  .meta({ id: 'BatchDecided' })

const ids = [`req_${'7h3k9m2p5q8r1s4t6v0w2x5y8z'}`]

/** Presents an item of a batch: decided, or refused while its vote was being written. */
export function presentBatchResult(
  result: { request: ApprovalRequest } & ({ vote: Vote } | { refused: Refusal }),
): Answer<typeof decidedAnswer> | Answer<typeof lostItem> {
  if (!('refused' in result)) return presentDecided(result)
  const { id, status } = result.request
  return { id, status, error: { code: result.refused.code, message: result.refused.publicMessage } }
}

/** A batch with its proof, exactly one. */
const provenBatch = batchBody.extend(provenBy).meta({
  id: 'ProvenBatch',
  description: '`comment` goes with every vote.',
})

export const batchOperations = operations('Deciding', {
  'post /api/v1/approvals/decisions/options': {
    id: 'startBatch',
    summary: 'Start deciding many requests with one gesture',
    description: `States what the person will consent to for 1 to ${MAX_BATCH} requests, approvals and rejections mixed, and remembers what was shown of each for five minutes, for this person and this session. Needed before a passkey and before a one-time code alike. If a request prevents this, nothing is started, and \`ids\` names these requests.`,
    body: {
      schema: batchOptionsBody,
      example: { items: [{ id: ids[0], decision: 'approved' }] },
    },
    answers: { '200': { schema: batchOptionsAnswer, description: 'The challenge to confirm.' } },
    refusals: [
      'not_found',
      'not_pending',
      'sandbox_request',
      'held_after_restore',
      'already_voted',
      'not_confirmed',
      'passkey_required',
      'authenticator_refused',
    ],
  },
  'post /api/v1/approvals/decisions': {
    id: 'decideBatch',
    summary: 'Approve or reject many requests with one gesture',
    description:
      'By a signed-in person with one fresh proof of presence; never by an API key. The batch is used up whatever the outcome: after a refusal start again. Everything is read again first; if anything differs from what was shown (a request decided, withdrawn or expired, another vote, other rights or factors of the person), the whole batch is refused with `batch_changed` and nothing is recorded. A code is refused for the whole batch when one of its requests must be decided with a passkey. Then every vote is written by itself, high impact first, and each decision has its own receipt: a vote is complete without the others, so there is no transaction over all of them. When another person is faster in these last milliseconds, an earlier vote’s signing key was revoked (`vote_key_revoked`), or the person’s factors were changed (`not_signed_in`), that item has `error` in place of `vote` and the others stand; after a 5xx, read the requests again: each was either decided in full or not at all.',
    body: {
      schema: provenBatch,
    },
    answers: { '200': { schema: batchAnswer, description: 'The outcome of each.' } },
    refusals: [
      'challenge_invalid',
      'batch_changed',
      'proof_required',
      'passkey_required',
      'authenticator_refused',
      'method_not_enrolled',
      ...DECISION_PROOF_REFUSALS,
    ],
  },
})
