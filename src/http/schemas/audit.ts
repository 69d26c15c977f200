import { z } from 'zod'
import { AUDIT_TYPES } from '../../domain/audit.ts'
import { accountParameter, pageQuery, searchParameter, timeParameter } from '../api/shared/input.ts'

const filters = {
  account: accountParameter,
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
  actor: z
    .string({ error: 'must be a text' })
    .min(1, 'must not be empty')
    .max(200, 'must not exceed 200 characters')
    .optional()
    .meta({ description: 'Only entries by this person, key or identity, or by this kind of actor.' }),
  from: timeParameter('Only entries of that time and later. Entries then come in the order of their time.'),
  to: timeParameter('Only entries before that time.'),
  q: searchParameter('Only entries that hold this text, in any case: type, actor, subject and details.'),
}

/** `GET /api/v1/account/audit`. */
export const auditQuery = z.object({ ...filters, ...pageQuery(50).shape })

/** `GET /api/v1/account/audit/export`. */
export const auditExportQuery = z.object({
  format: z.enum(['ndjson', 'csv'], { error: 'must be ndjson or csv' }).meta({
    description: '`ndjson`: one entry a line, as in the list. `csv`: RFC 4180 with a line of names.',
  }),
  ...filters,
})
