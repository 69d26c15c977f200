import { z } from 'zod'
import { SCOPES } from '../../domain/account.ts'
import { checkCallerText, codePointLength } from '../../domain/text.ts'

/** A short name people give to things: one line, shown as it is. */
export const shortName = z
  .string({ error: 'must be a text' })
  .trim()
  .refine((text) => codePointLength(text) <= 80, 'must not exceed 80 characters')
  .refine(
    (text) => checkCallerText(text).ok && !/[\n\t]/.test(text),
    'must be one line without control characters',
  )

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
