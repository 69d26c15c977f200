import { z } from 'zod'
import { ATTACHMENT_KINDS } from '../../domain/attachment.ts'
import { type ApprovalRequest, contextOf } from '../../domain/request.ts'
import { decisionAnswer, presentDecision } from './decision.ts'
import {
  type Answer,
  actionField,
  contextField,
  erasedField,
  hexField,
  idField,
  reviewUrl,
  reviewUrlField,
  sandboxMark,
  timeField,
  useWithinField,
} from './shared/fields.ts'

const head = { id: idField('req'), action: actionField }

const times = { created_at: timeField, expires_at: timeField }

/** Where the outcome also goes, in the caller's words. */
const notifyField = z
  .union([z.strictObject({ channel: z.string() }), z.strictObject({ member: z.string() })])
  .meta({ id: 'Notify', description: 'As it was sent.', example: { channel: '#deploys' } })

export const attachmentFacts = z.strictObject({
  name: z.string(),
  kind: z.enum(ATTACHMENT_KINDS),
  sha256: hexField,
  bytes: z.int(),
  base: z.string().optional(),
})

const attachmentsField = z.array(attachmentFacts).meta({ id: 'Attachments' })

/** Fields that are there only where the caller or its key made them so. */
const mark = {
  notify: notifyField.optional(),
  sandbox: sandboxMark.optional(),
  erased_at: erasedField.optional(),
}

/** Expired or withdrawn. */
export const expiredAnswer = z
  .strictObject({
    ...head,
    status: z.literal('expired'),
    ...times,
    cancelled: z
      .literal(true)
      .optional()
      .meta({ description: 'By its caller, or by the owner of the account.' }),
    ...mark,
  })
  .meta({
    id: 'ExpiredApproval',
    description: 'The request expired or was withdrawn: nothing was signed, so there is no `decision`.',
  })

/** `GET /api/v1/approvals/:id`: the fields depend on the status (interface, endpoint 2). */
export const requestAnswer = z
  .union([
    z
      .strictObject({
        ...head,
        status: z.literal('pending'),
        context: contextField,
        attachments: attachmentsField.optional(),
        ...times,
        review_url: reviewUrlField,
        use_within_seconds: useWithinField.optional(),
        ...mark,
      })
      .meta({ id: 'PendingApproval', description: 'There is no decision yet.' }),
    z
      .strictObject({
        ...head,
        status: z.literal('approved'),
        context: contextField,
        attachments: attachmentsField.optional(),
        ...times,
        decision: decisionAnswer,
        use_within_seconds: useWithinField.optional(),
        consumed_at: timeField.optional().meta({ description: 'When it was consumed; absent until then.' }),
        ...mark,
      })
      .meta({ id: 'ApprovedApproval', description: 'Approved, with its receipt.' }),
    z
      .strictObject({ ...head, status: z.literal('rejected'), decision: decisionAnswer, ...mark })
      .meta({ id: 'RejectedApproval', description: 'Rejected, with its receipt; no context and no times.' }),
    expiredAnswer,
  ])
  .meta({ id: 'Approval', description: 'A request; its fields depend on its status.' })

/** Presents a request by its status: rejected without context and times, expired without context (interface, endpoint 2). */
export function presentRequest(request: ApprovalRequest, baseUrl: string): Answer<typeof requestAnswer> {
  const { id, status, action, use_within_seconds, attachments } = request
  const times = { created_at: request.created_at.toISOString(), expires_at: request.expires_at.toISOString() }
  const mark = {
    notify: presentNotify(request),
    sandbox: request.sandbox || undefined,
    erased_at: request.erased_at?.toISOString(),
  }
  switch (status) {
    case 'pending':
      return {
        ...{ id, status, action, context: contextOf(request), attachments, ...times },
        review_url: reviewUrl(baseUrl, id),
        use_within_seconds,
        ...mark,
      }
    case 'approved': {
      const consumed_at = request.consumed_at?.toISOString()
      const decision = presentDecision(request)
      return {
        id,
        status,
        action,
        context: contextOf(request),
        attachments,
        ...times,
        decision,
        use_within_seconds,
        consumed_at,
        ...mark,
      }
    }
    case 'rejected':
      return { id, status, action, decision: presentDecision(request), ...mark }
    case 'expired':
      return { id, status, action, ...times, cancelled: request.cancelled, ...mark }
  }
}

function presentNotify({ notify }: ApprovalRequest): Answer<typeof notifyField> | undefined {
  if (notify === undefined) return undefined
  return notify.kind === 'channel' ? { channel: notify.named } : { member: notify.named }
}
