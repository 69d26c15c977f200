import { z } from 'zod'
import { idempotencyKey } from '../schemas/approvals.ts'

/** Request header of the create operation. */
export const idempotencyHeader = z.object({
  'Idempotency-Key': idempotencyKey.meta({
    description:
      'Makes retries safe for 24 hours: the same body gets the first answer again, another body `idempotency_mismatch`.',
    example: 'invoice-4711-attempt',
  }),
})

/** Request header of polls of a bootstrap (RFC 7636, section 4.5; in a header, since addresses are logged). */
export const verifierHeader = z.object({
  'X-Code-Verifier': z
    .string()
    .optional()
    .meta({ description: 'Needed where the bootstrap was begun with a `code_challenge`.' }),
})

/** Request header of a stream that is opened again (WHATWG HTML, section 9.2). */
export const lastEventIdHeader = z.object({
  'Last-Event-ID': z
    .string()
    .optional()
    .meta({ description: 'The `id` of the last event that was received.', example: '1' }),
})
