import { z } from 'zod'
import { givenName } from '../api/shared/input.ts'
import { proofSchema } from '../api/shared/proofs.ts'
import { keyPolicyBody } from './policy.ts'

/** `PATCH /api/v1/account/api-keys/:id`. */
export const changeKeyBody = z
  .object({
    name: givenName.optional(),
    source_control: z.boolean({ error: 'must be true or false' }).optional(),
    policy: keyPolicyBody.nullable().optional(),
    proof: proofSchema,
  })
  .meta({ id: 'ChangeApiKey' })
