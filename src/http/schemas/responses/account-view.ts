import { z } from 'zod'
import {
  actionField,
  approverField,
  idField,
  methodField,
  outcomeField,
  pageOf,
  sandboxMark,
  statusField,
  timeField,
} from '../../api/shared/fields.ts'
import { policyAnswer } from './members.ts'

/** How many must approve, and how many have. */
export const quorumField = z
  .strictObject({ needed: z.int().min(1), approved: z.int().min(0) })
  .meta({ description: 'How many must approve, and how many have.' })

const historyRow = z
  .strictObject({
    id: idField('req'),
    status: statusField,
    cancelled: z.literal(true).optional(),
    action: actionField,
    high_impact: z.boolean(),
    sandbox: sandboxMark.optional(),
    requested_by: z.strictObject({ key_name: z.string(), account_name: z.string() }),
    created_at: timeField,
    expires_at: timeField,
    decided_at: timeField.optional(),
    decision: z
      .strictObject({
        id: idField('dec'),
        decision: outcomeField,
        method: methodField,
        approver: approverField,
        delegate: approverField
          .optional()
          .meta({ description: 'Who acted, when it was somebody who stood in for the approver.' }),
      })
      .optional(),
    quorum: quorumField,
  })
  .meta({ id: 'HistoryRow' })

/** `GET /api/v1/account/requests`. */
export const historyAnswer = pageOf(historyRow).meta({ id: 'History' })

const quota = z.strictObject({
  limit: z.int().min(0).meta({ description: 'Requests a calendar month (UTC), dry-runs too; 0: no limit.' }),
  used: z.int().min(0),
  month: z.string().regex(/^\d{4}-\d{2}$/),
  resets_at: timeField,
})

/** `GET` and `PATCH /api/v1/account`. */
export const accountAnswer = z
  .strictObject({
    id: idField('acc'),
    name: z.string(),
    role: z.enum(['owner', 'approver', 'auditor']).meta({ description: 'Of the person who asks.' }),
    owner: z.strictObject({
      id: idField('usr'),
      name: z.string(),
      email: z.string(),
      approver: approverField,
    }),
    created_at: timeField,
    quota,
    policy: policyAnswer.optional().meta({ description: 'For the owner alone.' }),
  })
  .meta({ id: 'Account' })
