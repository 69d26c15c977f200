import { z } from 'zod'
import {
  BOOTSTRAP_MINUTES,
  type Bootstrap,
  type BootstrapEnd,
  COLLECT_MINUTES,
  POLL_SECONDS,
  showMatchingCode,
} from '../../domain/bootstrap.ts'
import { hasHidden } from '../../domain/text.ts'
import { checkCallerText, codePointLength } from '../../domain/text-check.ts'
import { normaliseEmail } from '../../domain/user.ts'
import type { PollAnswer } from '../../domain/views.ts'
import { type Answer, ignoredFields, timeField } from './shared/fields.ts'
import { text } from './shared/input.ts'
import { operations } from './shared/operation.ts'

const NAME_LENGTH = 60

/** The name that a stranger gives to itself. A person reads it, so it is one line without hidden characters. */
const clientName = text
  .trim()
  .refine((text) => text !== '', 'must not be empty')
  .refine((text) => codePointLength(text) <= NAME_LENGTH, `must not exceed ${NAME_LENGTH} characters`)
  .refine(
    (text) => checkCallerText(text).ok && !/[\n\t]/.test(text) && !hasHidden(text),
    'must be one line of printable characters',
  )

const email = text.transform((text, context) => {
  const normalised = normaliseEmail(text)
  if (normalised !== undefined) return normalised
  context.addIssue({ code: 'custom', message: 'is not an e-mail address' })
  return z.NEVER
})

export const bootstrapBody = z
  .object({
    email: email.meta({
      maxLength: 254,
      description: 'E-mail address of the owner of the account.',
      example: 'you@example.com',
    }),
    client_name: clientName.meta({
      minLength: 1,
      maxLength: NAME_LENGTH,
      description: 'The name of the agent, in printable characters. The owner sees it as unverified.',
      example: 'Release agent',
    }),
    code_challenge: text
      .regex(/^[A-Za-z0-9_-]{43}$/, 'must be the base64url SHA-256 of the verifier')
      .optional()
      .meta({
        description:
          'Base64url SHA-256 of a verifier of 43 to 128 characters (RFC 7636). Then every poll must send the verifier in `X-Code-Verifier`.',
        example: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      }),
    code_challenge_method: z.literal('S256', { error: 'must be S256' }).optional(),
  })
  // A caller who sends only the method believes that the key is bound to a verifier.
  .refine((body) => body.code_challenge_method === undefined || body.code_challenge !== undefined, {
    path: ['code_challenge_method'],
    error: 'needs a code_challenge',
  })
  .meta({ id: 'StartBootstrap' })

export const startedAnswer = z
  .strictObject({
    bootstrap_id: z
      .string()
      .regex(/^boot_[A-Za-z0-9_-]{43}$/)
      .meta({ description: 'A secret: its holder can collect the key.' }),
    status: z.literal('pending'),
    message: z.string().meta({
      description: 'For people. Contains the matching code, which the owner must get from you.',
      example: 'Ask the owner of the account to confirm the code BDWP-HQPK: …',
    }),
    expires_at: timeField,
    interval: z.int().meta({ description: 'Seconds to wait between two polls.', example: 3 }),
    ignored_fields: ignoredFields,
  })
  .meta({ id: 'BootstrapStarted' })

const undecided = z
  .strictObject({ status: z.enum(['pending', 'rejected']) })
  .meta({ id: 'BootstrapUndecided' })

const approved = z
  .strictObject({
    status: z.literal('approved'),
    api_key: z
      .string()
      .regex(/^sa_live_[0-9A-Za-z]{49}$/)
      .meta({
        description:
          'Only in that one answer; keep it. Its scopes are `approval:create` and `approval:read`.',
      }),
  })
  .meta({ id: 'BootstrapApproved' })

const expired = z
  .strictObject({
    status: z.literal('expired'),
    reason: z.enum(['not_answered', 'not_collected', 'already_collected']).meta({
      description:
        'The owner did not answer in time; or consented, but the key was not collected within an hour, or the owner lost the consenting factor before that; or the key was already collected.',
    }),
    message: z.string().meta({ description: 'For people: the reason, and what to do.' }),
  })
  .meta({ id: 'BootstrapExpired' })

export const bootstrapStatusAnswer = z.union([undecided, approved, expired]).meta({ id: 'BootstrapStatus' })

/** Presents a started bootstrap. The answer is the same for an e-mail address that belongs to no account (T51). */
export function presentStarted(
  bootstrapId: string,
  bootstrap: Bootstrap,
  baseUrl: string,
): Answer<typeof startedAnswer> {
  const code = showMatchingCode(bootstrap.code)
  return {
    bootstrap_id: bootstrapId,
    status: 'pending',
    message:
      `Ask the owner of the account to confirm the code ${code}: signed in at ${baseUrl}/ they find this request, ` +
      `if the account exists. It expires in ${BOOTSTRAP_MINUTES} minutes; poll its status every ${POLL_SECONDS} seconds.`,
    expires_at: bootstrap.expires_at.toISOString(),
    interval: POLL_SECONDS,
  }
}

const ENDS: Readonly<Record<BootstrapEnd, string>> = {
  not_answered: `The owner did not answer within ${BOOTSTRAP_MINUTES} minutes. Start again.`,
  not_collected: `The owner consented, but the key was not collected within ${COLLECT_MINUTES} minutes, or the owner lost the consenting factor before that, so none was made. Start again.`,
  already_collected:
    'The key was already collected. If it did not reach you, ask the owner to revoke it, and start again; with a code_challenge, a lost key is replaced within a minute.',
}

/** Presents a poll. A bootstrap that can no longer give out the key is `expired`, with the reason. */
export function presentPoll(polled: PollAnswer): Answer<typeof bootstrapStatusAnswer> {
  const { status } = polled
  if (status === 'approved') return { status, api_key: polled.api_key }
  if (status === 'expired') return { status, reason: polled.reason, message: ENDS[polled.reason] }
  return { status }
}

/** The verifier that a poll sends (RFC 7636, section 4.5); in a header, since addresses are logged. */
const verifierHeader = z.object({
  'X-Code-Verifier': z
    .string()
    .optional()
    .meta({ description: 'Required if the bootstrap was started with a `code_challenge`.' }),
})

const publicAccess = { by: [] }

export const bootstrapOperations = operations('Bootstrap', {
  'post /api/v1/bootstrap': {
    id: 'startBootstrap',
    summary: 'Ask the owner of an account for an API key',
    description:
      'The account must exist, but the answer does not reveal whether it does. The owner compares the matching code in `message` with what you show them, and consents with a passkey or a one-time code. At most 5 in any hour for one e-mail address, from any caller, whether or not the account exists: the sixth is refused, and a new one does not end an earlier one. Also at most 20 a minute from one network address. The rate-limit headers describe whichever limit has less left.',
    access: publicAccess,
    body: {
      schema: bootstrapBody,
      example: { email: 'you@example.com', client_name: 'Release agent' },
    },
    answers: { '202': { schema: startedAnswer, description: 'Started; poll the status.' } },
  },
  'get /api/v1/bootstrap/{id}/status': {
    id: 'getBootstrapStatus',
    summary: 'Get consent status',
    description:
      'Poll every 3 seconds. The first answer after approval is `approved` and contains the key, which is made at that moment; it can be collected within an hour after consent. After that the answer is `expired`, with the `reason`. Only a caller with a `code_challenge` gets another key, within 60 seconds and while the first was never used; the first then stops working.',
    access: publicAccess,
    parameters: {
      path: z.object({
        id: z.string().meta({
          description: 'The `bootstrap_id`.',
          example: 'boot_b3JhY2xlLW9mLWRlbHBoaS1rbm93cy10aGUtYW5zd2Vy',
        }),
      }),
      header: verifierHeader,
    },
    answers: { '200': { schema: bootstrapStatusAnswer, description: 'Where it stands.' } },
    refusals: ['code_verifier_refused', 'key_limit', 'not_found', 'slow_down'],
  },
})
