import { z } from 'zod'
import { ATTACHMENT_KINDS, ATTACHMENT_NAME_LENGTH, MOST_ATTACHMENTS } from '../../domain/attachment.ts'
import { type ApprovalRequest, contextOf, MOST_AT_ONCE, REVERSIBILITIES } from '../../domain/request.ts'
import { LONGEST_WAIT } from '../../domain/restore.ts'
import { checkCallerText, codePointLength } from '../../domain/text-check.ts'
import { requestAnswer } from './approval.ts'
import {
  type Answer,
  actionField,
  contextField,
  idField,
  ignoredFields,
  present,
  reviewUrl,
  reviewUrlField,
  sandboxMark,
  timeField,
} from './shared/fields.ts'
import { callerText, flag, outcome, text, ttlSeconds, wholeNumber } from './shared/input.ts'
import { operations } from './shared/operation.ts'

/** The longest action, in Unicode code points (interface, "Limits"). */
const ACTION_LENGTH = 500

const action = callerText
  .refine((text) => codePointLength(text) <= ACTION_LENGTH, `must not exceed ${ACTION_LENGTH} characters`)
  .meta({
    description: 'The action to be approved, in words.',
    minLength: 1,
    maxLength: ACTION_LENGTH,
    example: 'Pay $120.00 to ACME Corp, invoice 4711',
  })

/**
 * The context. Its keys and values may hold control characters, as tool arguments often do, since every view shows these
 * characters by name; unpaired surrogates, noncharacters and tag characters are refused as in `action`.
 */
const context = z
  .record(z.string().meta({ maxLength: 128 }), z.unknown(), { error: 'must be an object' })
  .superRefine((value, issues) => {
    const bad = firstBadText(value)
    if (bad !== undefined) issues.addIssue({ code: 'custom', message: bad })
  })

function firstBadText(root: Record<string, unknown>): string | undefined {
  const open: unknown[] = [root]
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    if (typeof item === 'string') {
      const checked = checkCallerText(withoutControls(item))
      if (!checked.ok) return checked.reason
    } else if (item !== null && typeof item === 'object') {
      for (const [key, value] of Object.entries(item)) open.push(key, value ?? '')
    }
  }
  return undefined
}

function withoutControls(text: string): string {
  return text.replace(/\p{Cc}/gu, '')
}

const target = text.min(1, 'must not be empty').max(320, 'is too long').optional()

const notify = z
  .object(
    {
      channel: target.meta({
        description: 'A channel that the account has connected: its id, or its name with or without the #.',
        example: '#deploys',
      }),
      member: target.meta({
        description:
          'A member of the account, or its owner, who has linked a chat identity: their e-mail address or user id.',
        example: 'alice@example.com',
      }),
    },
    { error: 'must be an object' },
  )
  .refine(({ channel, member }) => (channel === undefined) !== (member === undefined), {
    error: 'must name either a channel or a member',
  })
  .meta({
    description:
      'Where the outcome also goes in chat, for the person behind the caller: approved, rejected, expired or withdrawn. It is no part of what is signed.',
  })

const attachment = z
  .strictObject(
    {
      name: callerText
        .min(1, 'must not be empty')
        .refine(
          (name) => codePointLength(name) <= ATTACHMENT_NAME_LENGTH && !/[\n\t]/.test(name),
          `must be one line of at most ${ATTACHMENT_NAME_LENGTH} characters`,
        )
        .meta({ minLength: 1, maxLength: ATTACHMENT_NAME_LENGTH, example: 'config.yaml' }),
      type: z
        .enum(ATTACHMENT_KINDS, { error: `must be one of ${ATTACHMENT_KINDS.join(', ')}` })
        .optional()
        .meta({ description: 'Follows from the content; `file`: not shown, only offered for download.' }),
      text: text.optional(),
      base64: text.optional().meta({ description: 'Instead of `text`. PNG, JPEG, GIF and WebP are shown.' }),
      base: text.optional().meta({ description: 'Name of the attachment with the former text.' }),
    },
    // A misspelt `base` would be missing on the page.
    { error: 'must be an object with name, and text or base64; also type and base' },
  )
  .meta({ id: 'Attachment' })

export const createBody = z
  .object({
    action,
    ttl_seconds: ttlSeconds.optional().meta({
      description: "Seconds until the request expires; the owner's default (3600) if omitted.",
    }),
    context: context.default({}).meta({
      maxProperties: 2000,
      description: 'Structured data shown to the approver; at most 16 KiB of JSON, 16 levels, 2000 values.',
    }),
    requires_individual_decision: flag
      .default(false)
      .meta({ description: 'Marks the request as high impact.' }),
    callback_url: text
      .max(2048, 'must not exceed 2048 characters')
      .optional()
      .meta({ description: 'Receives one signed POST with the decision; https: in production.' }),
    audience: text
      .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 visible ASCII characters without spaces')
      .optional()
      .meta({
        description:
          'The intended recipient of the decision, such as the service that will act on it: shown, and signed in the intent.',
        example: 'https://payments.example.com',
      }),
    reversibility: z
      .enum(REVERSIBILITIES, { error: `must be one of ${REVERSIBILITIES.join(', ')}` })
      .optional()
      .meta({
        description:
          'How far the caller says the action can be undone: shown on page and card, and signed in the intent.',
      }),
    use_within_seconds: z
      .int({ error: 'must be a whole number' })
      .min(1, 'must be at least 1')
      .max(LONGEST_WAIT, `must be at most ${LONGEST_WAIT}`)
      .optional()
      .meta({
        description:
          'Seconds from the decision in which an approval can be used: shown, and signed in the intent.',
      }),
    attachments: z
      .array(attachment, { error: 'must be a list' })
      .max(MOST_ATTACHMENTS, `must not have more than ${MOST_ATTACHMENTS} entries`)
      .optional()
      .meta({ description: 'Shown to the approver, and signed by hash: 256 KiB each, 1 MiB in all.' }),
    notify: notify.optional(),
    reuse: z.enum(['open'], { error: 'must be open' }).optional().meta({
      description:
        '`open`: joins a request of this key, made with `reuse` too, that is pending, or approved and unused, and equal in all fields but `ttl_seconds`; the answer then has `reused: true`.',
    }),
    sandbox_decision: outcome.optional().meta({ description: 'Sandbox keys only.' }),
    sandbox_auto_decide_seconds: z
      .int({ error: 'must be a whole number' })
      .min(0, 'must be at least 0')
      .max(300, 'must be at most 300')
      .optional()
      .meta({ description: 'Sandbox keys only; 5 if omitted.' }),
  })
  .meta({ id: 'CreateRequest' })

export const createQuery = z.object({
  wait: wholeNumber(1, 60).optional().meta({
    description:
      'Seconds to wait for the decision before the answer, which then has `approval`. Needs the scope `approval:read` too.',
  }),
})

/** `POST /api/v1/approvals/requests` */
export const createManyBody = z
  .object({
    requests: z
      .array(createBody, { error: 'must be a list' })
      .min(1, 'must hold at least one request')
      .max(MOST_AT_ONCE, `must not hold more than ${MOST_AT_ONCE} requests`)
      .meta({ description: 'Without `reuse`.' }),
  })
  .meta({ id: 'CreateRequests' })

/** The header `Idempotency-Key`. */
export const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters')
  .optional()

const createdStatus = z.enum(['pending', 'approved']).meta({
  description: '`approved`: only if `reused`.',
})

const reusedField = z.literal(true).optional().meta({ description: 'The request was open before this call.' })

const approvalField = requestAnswer.optional().meta({
  description:
    'With `wait`: the request as `GET` answers it, once it is no longer pending, or at the time-out. Absent if it could not be read.',
})

/** `POST /api/v1/approvals/request` with a live key. */
const createdAnswer = z
  .strictObject({
    id: idField('req'),
    status: createdStatus,
    action: actionField,
    metadata: contextField,
    created_at: timeField,
    expires_at: timeField,
    review_url: reviewUrlField,
    reused: reusedField,
    approval: approvalField,
    ignored_fields: ignoredFields,
  })
  .meta({ id: 'CreatedRequest', description: 'Answer to a live key; `metadata` is the supplied `context`.' })

/** `POST /api/v1/approvals/request` with a sandbox key. */
const sandboxCreatedAnswer = z
  .strictObject({
    id: idField('req'),
    request_id: idField('req'),
    status: createdStatus,
    sandbox: sandboxMark,
    verify_url: z.string().meta({ description: 'Where the receipt can be verified once it is decided.' }),
    review_url: reviewUrlField,
    reused: reusedField,
    approval: approvalField,
    ignored_fields: ignoredFields,
  })
  .meta({
    id: 'CreatedSandboxRequest',
    description: 'Answer to a sandbox key. `request_id` is the `id`.',
  })

const createdManyAnswer = z
  .strictObject({
    data: z
      .array(z.union([createdAnswer, sandboxCreatedAnswer]))
      .meta({ description: 'In the order of `requests`.' }),
    ignored_fields: ignoredFields,
  })
  .meta({ id: 'CreatedRequests' })

/** What stands in the answer to a creation; a replayed one repeats the first answer, whatever has become of the request. */
interface Shown {
  baseUrl: string
  reused: boolean
}

function sharedParts({ id, status }: ApprovalRequest, { baseUrl, reused }: Shown) {
  return {
    status: reused && status === 'approved' ? status : ('pending' as const),
    review_url: reviewUrl(baseUrl, id),
    reused: reused || undefined,
  }
}

/** Presents a created request to a live key (interface, endpoint 1). */
function presentCreated(request: ApprovalRequest, shown: Shown): Answer<typeof createdAnswer> {
  const metadata = contextOf(request)
  return present(createdAnswer, request, {
    metadata,
    approval: undefined,
    ignored_fields: undefined,
    ...sharedParts(request, shown),
  })
}

/** Presents a created request to a sandbox key: the interface prescribes other field names here. */
function presentSandboxCreated(request: ApprovalRequest, shown: Shown): Answer<typeof sandboxCreatedAnswer> {
  return {
    id: request.id,
    request_id: request.id,
    sandbox: true,
    verify_url: `${shown.baseUrl}/api/v1/approvals/${request.id}/verify`,
    ...sharedParts(request, shown),
  }
}

/** Describes the header `Idempotency-Key` of an operation. @param description what the key does in this operation */
export function idempotencyHeader(description: string) {
  return z.object({
    'Idempotency-Key': idempotencyKey.meta({ description, example: 'invoice-4711-attempt' }),
  })
}

/** Presents what was created to the key that created it. */
export function presentMade(request: ApprovalRequest, shown: Shown) {
  return request.sandbox ? presentSandboxCreated(request, shown) : presentCreated(request, shown)
}

const traceparent = z
  .string()
  .optional()
  .meta({ description: 'W3C Trace Context; the callback and the events of webhooks carry it on.' })

const RETRIES =
  'Makes retries safe until 24 h after `expires_at`: the same body gets the first answer again, another body `idempotency_mismatch`.'

export const exampleId = 'req_7h3k9m2p5q8r1s4t6v0w2x5y8z'

export const exampleBody = {
  action: 'Pay $120.00 to ACME Corp, invoice 4711',
  ttl_seconds: 900,
  context: { agent_name: 'billing-bot', tool: 'payments.create', reason: 'Invoice 4711 is due today' },
}

export const exampleCreated = {
  id: exampleId,
  status: 'pending',
  action: exampleBody.action,
  metadata: exampleBody.context,
  created_at: '2026-03-04T09:30:00.000Z',
  expires_at: '2026-03-04T09:45:00.000Z',
  review_url: `https://approvals.example.com/a/${exampleId}`,
}

const exampleSandbox = {
  id: exampleId,
  request_id: exampleId,
  status: 'pending',
  sandbox: true,
  verify_url: `https://approvals.example.com/api/v1/approvals/${exampleId}/verify`,
  review_url: exampleCreated.review_url,
}

const CREATE_REFUSALS = [
  'sandbox_fields_require_sandbox_key',
  'no_eligible_approver',
  'notify_not_linked',
  'idempotency_mismatch',
  'quota_exceeded',
  'attachment_quota_exceeded',
  'too_many_pending',
] as const

export const createOperations = operations('Approvals', {
  'post /api/v1/approvals/request': {
    id: 'createApproval',
    summary: 'Make a request',
    description:
      'Submits an action for human approval. Unknown fields are ignored and named in `ignored_fields`; one that looks like a known field, such as `require_individual_decision` or `expires_in_seconds`, is refused with the right name. A sandbox key runs the whole flow without a person: the first read after `sandbox_auto_decide_seconds` decides.',
    access: { by: ['key'], scope: 'approval:create' },
    parameters: { query: createQuery, header: idempotencyHeader(RETRIES).extend({ traceparent }) },
    body: {
      schema: createBody,
      example: exampleBody,
    },
    answers: {
      '201': {
        schema: z.union([createdAnswer, sandboxCreatedAnswer]),
        description: 'The pending request.',
        headers: ['Idempotency-Replayed'],
        examples: { live_key: { value: exampleCreated }, sandbox_key: { value: exampleSandbox } },
      },
    },
    refusals: CREATE_REFUSALS,
  },
  'post /api/v1/approvals/requests': {
    id: 'createApprovals',
    summary: 'Ask for several at once',
    description: `Makes each of the requests, or none: all are checked first, and \`field\` names the one at fault, as in \`requests.3.action\`. Each is counted, decided, read and used by itself; approvers get one card for all that are neither high impact nor have \`notify\`. The body may have 64 KiB in all.`,
    access: { by: ['key'], scope: 'approval:create' },
    parameters: {
      header: z.object({
        'Idempotency-Key': z.string().meta({
          description:
            'Required. The same body gets the same requests; after an answer of 5xx, or none, send it again until it succeeds: the repeat makes what is missing.',
        }),
        traceparent,
      }),
    },
    body: { schema: createManyBody },
    answers: {
      '201': { schema: createdManyAnswer, description: 'All of them.', headers: ['Idempotency-Replayed'] },
    },
    refusals: CREATE_REFUSALS,
  },
})
