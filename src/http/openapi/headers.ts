import { z } from 'zod'
import { idempotencyKey } from '../schemas/approvals.ts'

/** Headers of answers. */
const HEADERS = {
  'X-RateLimit-Limit': z
    .int()
    .meta({ description: 'Requests allowed in a minute.', example: 60, header: { id: 'X-RateLimit-Limit' } }),
  'X-RateLimit-Remaining': z.int().meta({
    description: 'Requests left in this window.',
    example: 59,
    header: { id: 'X-RateLimit-Remaining' },
  }),
  'X-RateLimit-Reset': z.int().meta({
    description: 'When the window ends, Unix time in seconds.',
    example: 1772616660,
    header: { id: 'X-RateLimit-Reset' },
  }),
  'Retry-After': z.int().meta({
    description: 'Seconds to wait; the body says the same.',
    example: 42,
    header: { id: 'Retry-After' },
  }),
  'Idempotency-Replayed': z
    .literal('true')
    .optional()
    .meta({
      description: 'This is the answer to the first request with this `Idempotency-Key`.',
      header: { id: 'Idempotency-Replayed' },
    }),
  'Set-Cookie': z.string().meta({
    description: 'The session cookie (HttpOnly, SameSite=Lax), after enrolment also the device cookie.',
    header: { id: 'Set-Cookie' },
  }),
} as const

export type HeaderName = keyof typeof HEADERS

/** The rate-limit headers, on every answer of a limited operation. */
export const RATE_LIMIT_HEADERS: readonly HeaderName[] = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]

/** Some headers of an answer as one schema. */
export function headers(names: readonly HeaderName[]) {
  return z.object(Object.fromEntries(names.map((name) => [name, HEADERS[name]])))
}

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
