import { z } from 'zod'
import { isId } from '../../domain/identifier.ts'
import { REQUEST_STATUSES } from '../../domain/request.ts'
import {
  accountParameter,
  flagParameter,
  givenName,
  pageQuery,
  searchParameter,
  timeParameter,
} from '../api/shared/input.ts'

/** `GET /api/v1/account`. */
export const accountQuery = z.object({ account: accountParameter })

/** `PATCH /api/v1/account`. */
export const accountNameBody = z.object({ name: givenName }).meta({ id: 'AccountName' })

/** `GET /api/v1/account/requests`. */
export const historyQuery = z.object({
  account: accountParameter,
  status: z
    .enum(REQUEST_STATUSES, { error: `must be one of ${REQUEST_STATUSES.join(', ')}` })
    .optional()
    .meta({ description: 'Only requests in this state.' }),
  q: searchParameter(
    'Only requests whose action holds this text, in any case; or the one with this id, its own or its decision’s.',
  ),
  high_impact: flagParameter('Only requests that are high impact, or only those that are not.'),
  sandbox: flagParameter('Only dry-runs, or only live requests.'),
  key: z
    .string({ error: 'must be a text' })
    .refine((text) => isId('key', text), 'must be the id of an API key')
    .optional()
    .meta({ description: 'Only requests made with this API key.' }),
  from: timeParameter('Only requests made at that time or later.'),
  to: timeParameter('Only requests made before that time.'),
  ...pageQuery(50).shape,
})
