import { z } from 'zod'
import { REQUEST_STATUSES } from '../../domain/request.ts'
import { checkCallerText, codePointLength } from '../../domain/text.ts'
import { pageQuery, ttlSeconds } from '../api/shared/input.ts'

/** Longest action, in Unicode code points (interface, "Limits"). */
const ACTION_LENGTH = 500

/** Text a person will read: what could deceive them unseen is refused, everything else is kept as it is (T43). */
const callerText = z.string({ error: 'must be a text' }).superRefine((text, context) => {
  const checked = checkCallerText(text)
  if (!checked.ok) {
    const where = checked.codePoint === undefined ? '' : ` (${checked.codePoint})`
    context.addIssue({ code: 'custom', message: `${checked.reason}${where}` })
  }
})

const action = callerText
  .refine((text) => codePointLength(text) <= ACTION_LENGTH, `must not exceed ${ACTION_LENGTH} characters`)
  .meta({
    description: 'What is to be approved, in words; at most 500 characters.',
    example: 'Pay $120.00 to ACME Corp, invoice 4711',
  })

/**
 * Context keys and values may hold control characters — tool arguments often do — since every view shows them by name;
 * unpaired surrogates, noncharacters and tag characters are refused as in `action`.
 */
const context = z
  .record(z.string(), z.unknown(), { error: 'must be an object' })
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

/** `POST /api/v1/approvals/request`. */
export const createBody = z
  .object({
    action,
    ttl_seconds: ttlSeconds
      .optional()
      .meta({ description: "Seconds until the request expires; the owner's default (3600) if omitted." }),
    context: context
      .default({})
      .meta({ description: 'Structured data shown to the approver; at most 16 KiB of JSON, 16 levels.' }),
    requires_individual_decision: z
      .boolean({ error: 'must be true or false' })
      .default(false)
      .meta({ description: 'Marks the request as high impact.' }),
    callback_url: z
      .string({ error: 'must be a text' })
      .max(2048, 'must not exceed 2048 characters')
      .optional()
      .meta({ description: 'Receives one signed POST with the decision; https: in production.' }),
    sandbox_decision: z
      .enum(['approved', 'rejected'], { error: 'must be approved or rejected' })
      .optional()
      .meta({ description: 'Sandbox keys only.' }),
    sandbox_auto_decide_seconds: z
      .int({ error: 'must be a whole number' })
      .min(0, 'must be at least 0')
      .max(300, 'must be at most 300')
      .optional()
      .meta({ description: 'Sandbox keys only; 5 if omitted.' }),
  })
  .meta({ id: 'CreateRequest' })

/** `GET /api/v1/approvals`. */
export const listQuery = z.object({
  status: z
    .enum(REQUEST_STATUSES, { error: `must be one of ${REQUEST_STATUSES.join(', ')}` })
    .optional()
    .meta({ description: 'Only requests in this state.' }),
  ...pageQuery(20).shape,
})

/** `GET /api/v1/approvals/:id/wait`. */
export const waitQuery = z.object({
  timeout: z.coerce
    .number({ error: 'must be a number' })
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(60, 'must be at most 60')
    .default(25)
    .meta({ description: 'Seconds to wait at most.' }),
})

/** `POST /api/v1/approvals/:id/consume`: what is about to run. Only compared, so nothing but the form is checked. */
export const consumeBody = z
  .object({
    action: z
      .string({ error: 'must be a text' })
      .optional()
      .meta({ description: 'The action about to run; must equal the approved text exactly.' }),
    context: z.record(z.string(), z.unknown(), { error: 'must be an object' }).optional().meta({
      description: 'The context about to be used; compared in its RFC 8785 form, so order does not matter.',
    }),
    context_sha256: z
      .string({ error: 'must be a text' })
      .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex characters')
      .optional()
      .meta({ description: 'SHA-256 of the RFC 8785 form of that context, as the decision page shows it.' }),
  })
  .meta({ id: 'ConsumeRequest' })

/** `Idempotency-Key` header. */
export const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters')
  .optional()
