import { z } from 'zod'
import { AUDIT_TYPES } from '../../domain/audit.ts'
import { pageQuery } from './approvals.ts'

/** `GET /api/v1/account/audit`. */
export const auditQuery = z.object({
  type: z
    .enum(AUDIT_TYPES, { error: 'must be a type of audit entry, such as approval.approved' })
    .optional()
    .meta({ description: 'Only entries of this type.' }),
  subject: z
    .string({ error: 'must be a text' })
    .min(1, 'must not be empty')
    .max(64, 'must not exceed 64 characters')
    .optional()
    .meta({ description: 'Only entries about this request, key, person, session, webhook or delivery.' }),
  ...pageQuery(50).shape,
})
