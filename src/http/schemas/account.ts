import { z } from 'zod'
import { SCOPES } from '../../domain/api-key.ts'
import { shortName } from '../api/shared/input.ts'

/** `POST /api/v1/account/api-keys`. */
export const newKeyBody = z
  .object({
    name: shortName,
    sandbox: z.boolean({ error: 'must be true or false' }).default(false),
    scopes: z
      .array(z.enum(SCOPES, { error: `must be one of ${SCOPES.join(', ')}` }))
      .min(1, 'must name at least one scope')
      .max(SCOPES.length, 'must not repeat scopes')
      .optional(),
    source_control: z
      .boolean({ error: 'must be true or false' })
      .default(false)
      .meta({ description: 'Used by a source-control integration: all its requests are high impact.' }),
  })
  .meta({ id: 'CreateApiKey' })
