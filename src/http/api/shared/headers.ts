import { z } from 'zod'

/** The documented headers of answers. */
const HEADERS = {
  'X-RateLimit-Limit': z.int().meta({
    description: 'Requests allowed in the window; of two limits, the one with less left.',
    example: 60,
    header: { id: 'X-RateLimit-Limit' },
  }),
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

/** Returns a schema of the named headers. */
export function headers(names: readonly HeaderName[]) {
  return z.object(Object.fromEntries(names.map((name) => [name, HEADERS[name]])))
}
