import { z } from 'zod'
import { MEMBER_ROLES } from '../../domain/account.ts'
import { givenName } from '../api/shared/input.ts'
import { proofSchema } from '../api/shared/proofs.ts'

const role = z.enum(MEMBER_ROLES, { error: `must be one of ${MEMBER_ROLES.join(', ')}` })

/** `POST /api/v1/account/members`. */
export const newMemberBody = z
  .object({
    email: z.string({ error: 'must be a text' }).max(320, 'is too long'),
    name: givenName.optional().meta({
      description: 'How the member is called until they accept; the part before the @ if left out.',
    }),
    role,
    proof: proofSchema,
  })
  .meta({ id: 'NewMember' })

/** `PATCH /api/v1/account/members/:id`. */
export const memberRoleBody = z.object({ role, proof: proofSchema }).meta({ id: 'MemberRole' })

/** `POST /api/v1/me/invitations/:id/accept`. */
export const acceptanceBody = z
  .object({
    token: z
      .string({ error: 'must be a text' })
      .max(128, 'is too long')
      .meta({ description: 'What stands behind the # of the link that the owner handed over.' }),
  })
  .meta({ id: 'Acceptance' })
