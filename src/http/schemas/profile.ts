import { z } from 'zod'
import { isId } from '../../domain/identifier.ts'
import { givenName, ttlSeconds } from '../api/shared/input.ts'
import { proofSchema } from '../api/shared/proofs.ts'

/** `PATCH /api/v1/me`. */
export const profileBody = z
  .object({
    name: givenName.optional(),
    default_ttl_seconds: ttlSeconds
      .optional()
      .meta({ description: 'How long a request waits that names no time itself.' }),
  })
  .meta({ id: 'ChangeProfile' })

const time = z
  .string({ error: 'must be a time' })
  .max(40, 'is too long')
  .pipe(z.iso.datetime({ offset: true, error: 'must be a time such as 2026-03-04T09:30:00Z' }))
  .transform((text) => new Date(text))

/** `PUT /api/v1/me/delegate`. */
export const delegateBody = z
  .object({
    user_id: z.string({ error: 'must be a user id' }).refine((id) => isId('usr', id), 'must be a user id'),
    starts_at: time,
    ends_at: time,
    proof: proofSchema,
  })
  .meta({ id: 'SetDelegate' })
