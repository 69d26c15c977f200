import { z } from 'zod'
import { shortName } from './account.ts'
import { keyPolicyBody } from './policy.ts'
import { proofSchema } from './webauthn.ts'

/** `PATCH /api/v1/account/api-keys/:id`. */
export const changeKeyBody = z
  .object({
    name: shortName.refine((text) => text !== '', 'must not be empty').optional(),
    source_control: z.boolean({ error: 'must be true or false' }).optional(),
    policy: keyPolicyBody.nullable().optional(),
    proof: proofSchema,
  })
  .meta({ id: 'ChangeApiKey' })
