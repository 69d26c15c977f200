import { z } from 'zod'

/** Every refusal: a stable code and a sentence, with what else the caller can act on. */
export const errorAnswer = z
  .strictObject({
    error: z.string().meta({ description: 'Stable code to branch on.', example: 'not_found' }),
    message: z.string().meta({ description: 'One sentence for people; may change.' }),
    field: z.string().optional().meta({ description: 'Field that is missing, wrong, or not as approved.' }),
    detail: z.string().optional().meta({ description: 'What is wrong with the field.' }),
    scope: z.string().optional().meta({ description: 'Scope the API key lacks.' }),
    status: z
      .string()
      .optional()
      .meta({ description: 'Status of the request, with `not_pending` and `not_approved`.' }),
    ids: z.array(z.string()).optional().meta({ description: 'Of what stands in the way.' }),
    retry_after: z.int().min(1).optional().meta({ description: 'Seconds to wait; also in `Retry-After`.' }),
    request_id: z.string().optional().meta({ description: 'With `internal_error`: quote it in a report.' }),
  })
  .meta({ id: 'Error', description: 'Every refusal has this form.' })
