import { z } from 'zod'
import { MAX_BATCH } from '../../../domain/intent.ts'
import { approverField, idField, outcomeField, statusField } from '../../api/shared/fields.ts'
import { requestOptions } from '../../api/shared/proofs.ts'
import { decidedAnswer, decisionOptionsAnswer } from './decision.ts'

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

const batchIntent = z
  .strictObject({
    typ: z.literal('human-approval/batch/v1'),
    aud: z.string(),
    approver: approverField.meta({ description: 'Who acts; whose vote each one is says its own intent.' }),
    items: z
      .array(
        z.strictObject({
          rid: idField('req'),
          decision: outcomeField,
          intent_sha256: sha256.meta({
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
    description: 'What the person consents to: every request by the hash of its intent. Compare each one.',
  })

/** `POST /api/v1/approvals/decisions/options`. */
export const batchOptionsAnswer = z
  .strictObject({
    batch_id: sha256.meta({ description: 'Post it with the proof. Good for five minutes, once.' }),
    batch: batchIntent,
    intents: z
      .array(decisionOptionsAnswer.shape.intent)
      .meta({ description: 'One for each item, in the order of the items.' }),
    methods: z
      .array(z.enum(['passkey', 'totp']))
      .meta({ description: 'Ways of proving presence that do for every item.' }),
    options: requestOptions.optional().meta({ description: 'Where a passkey does.' }),
  })
  .meta({
    id: 'BatchOptions',
    description: '`options.challenge` is the base64url SHA-256 of the RFC 8785 JSON of `batch`.',
  })

const lostItem = z
  .strictObject({
    id: idField('req'),
    status: statusField,
    error: z.strictObject({ code: z.string(), message: z.string() }),
  })
  .meta({
    id: 'BatchLost',
    description: 'Somebody else was ahead in the moment of writing: nothing was recorded for this request.',
  })

/** `POST /api/v1/approvals/decisions`. */
export const batchAnswer = z
  .strictObject({
    data: z
      .array(z.union([decidedAnswer, lostItem]))
      .meta({ description: 'One for each item, in the order of the items.' }),
  })
  .meta({ id: 'BatchDecided' })
