import { z } from 'zod'
import { checkCallerText, codePointLength, hasHidden } from '../../domain/text.ts'
import { normaliseEmail } from '../../domain/user.ts'

const NAME_LENGTH = 60

/** Shown to a person as a stranger's own word: one line, nothing in it unseen. */
const clientName = z
  .string({ error: 'must be a text' })
  .trim()
  .refine((text) => text !== '', 'must not be empty')
  .refine((text) => codePointLength(text) <= NAME_LENGTH, `must not exceed ${NAME_LENGTH} characters`)
  .refine(
    (text) => checkCallerText(text).ok && !/[\n\t]/.test(text) && !hasHidden(text),
    'must be one line of printable characters',
  )

const email = z.string({ error: 'must be a text' }).transform((text, context) => {
  const normalised = normaliseEmail(text)
  if (normalised !== undefined) return normalised
  context.addIssue({ code: 'custom', message: 'is not an e-mail address' })
  return z.NEVER
})

/** `POST /api/v1/bootstrap`. */
export const bootstrapBody = z
  .object({
    email: email.meta({
      description: 'E-mail address of the owner of the account.',
      example: 'you@example.com',
    }),
    client_name: clientName.meta({
      description: 'Who asks: 1 to 60 printable characters. The owner sees it as unverified.',
      example: 'Release agent',
    }),
    code_challenge: z
      .string({ error: 'must be a text' })
      .regex(/^[A-Za-z0-9_-]{43}$/, 'must be the base64url SHA-256 of the verifier')
      .optional()
      .meta({
        description:
          'Base64url SHA-256 of a verifier of 43 to 128 characters (RFC 7636). Then every poll must send the verifier in `X-Code-Verifier`.',
        example: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      }),
    code_challenge_method: z.literal('S256', { error: 'must be S256' }).optional(),
  })
  .meta({ id: 'StartBootstrap' })

const outcome = z.enum(['approved', 'rejected'], { error: 'must be approved or rejected' })

/** `POST /api/v1/account/bootstrap/:id/decision/options`, and the decision itself without its proof. */
export const consentBody = z
  .object({
    decision: outcome,
    code: z.string({ error: 'must be a text' }).max(64, 'is too long').optional().meta({
      description:
        'The matching code that the caller shows. An approval needs it; the third wrong one rejects.',
      example: 'BDWP-HQPK',
    }),
  })
  .meta({ id: 'ConsentRequest' })
