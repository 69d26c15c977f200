import { z } from 'zod'
import { MAX_BATCH } from '../../domain/intent.ts'
import { decisionBody, decisionOptionsBody } from './decisions.ts'

const item = z
  .object({
    id: z.string({ error: 'must be a request id' }).meta({ description: 'Request id.' }),
    ...decisionOptionsBody.shape,
  })
  .meta({ id: 'BatchRequestItem' })

/** `POST /api/v1/approvals/decisions/options`. */
export const batchOptionsBody = z
  .object({
    items: z
      .array(item, { error: 'must be a list' })
      .min(1, 'must hold at least one request')
      .max(MAX_BATCH, `must hold at most ${MAX_BATCH} requests`)
      .refine((items) => new Set(items.map(({ id }) => id)).size === items.length, {
        message: 'must not hold a request twice',
        when: ({ issues }) => issues.length === 0,
      })
      .meta({ description: `1 to ${MAX_BATCH} requests, none twice; outcomes may be mixed.` }),
  })
  .meta({ id: 'BatchOptionsRequest' })

/** `POST /api/v1/approvals/decisions`, without its proof, which has a schema of its own. */
export const batchBody = z
  .object({
    batch_id: z
      .string({ error: 'must be a text' })
      .regex(/^[0-9a-f]{64}$/, 'must be the batch_id of the options')
      .meta({ description: 'The `batch_id` of the options; it counts once.' }),
    comment: decisionBody.shape.comment,
  })
  .meta({ id: 'BatchDecisionRequest' })
