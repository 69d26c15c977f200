import { z } from 'zod'
import { SCOPES } from '../../../domain/api-key.ts'
import {
  approverField,
  idField,
  outcomeField,
  pageOf,
  statusField,
  timeField,
} from '../../api/shared/fields.ts'
import { requestOptions } from '../../api/shared/proofs.ts'

/** `POST /api/v1/bootstrap`. */
export const startedAnswer = z
  .strictObject({
    bootstrap_id: z
      .string()
      .regex(/^boot_[A-Za-z0-9_-]{43}$/)
      .meta({ description: 'A secret: whoever has it can collect the key.' }),
    status: z.literal('pending'),
    message: z.string().meta({
      description: 'For people. Holds the matching code, which the owner must get from you.',
      example: 'Ask the owner of the account to confirm the code BDWP-HQPK: …',
    }),
    expires_at: timeField,
    interval: z.int().meta({ description: 'Seconds to leave between two polls.', example: 3 }),
  })
  .meta({ id: 'BootstrapStarted' })

/** `GET /api/v1/bootstrap/:id/status`. */
export const bootstrapStatusAnswer = z
  .strictObject({
    status: statusField,
    api_key: z
      .string()
      .regex(/^sa_live_[0-9A-Za-z]{49}$/)
      .optional()
      .meta({
        description:
          'In the first answer after approval only; keep it. Its scopes are `approval:create` and `approval:read`.',
      }),
  })
  .meta({ id: 'BootstrapStatus' })

const waiting = z.strictObject({
  id: idField('bst'),
  client_name: z
    .string()
    .meta({ description: "The caller's own word, unverified.", example: 'Release agent' }),
  requester: z.strictObject({
    address: z.string().meta({ example: '203.0.113.7' }),
    user_agent: z.string().meta({ description: 'What the caller says it runs.', example: 'curl/8.5.0' }),
  }),
  scopes: z.array(z.enum(SCOPES)),
  created_at: timeField,
  expires_at: timeField,
})

/** `GET /api/v1/account/bootstrap`. */
export const waitingConsentsAnswer = pageOf(waiting.meta({ id: 'WaitingConsent' })).meta({
  id: 'WaitingConsents',
})

/** `GET /api/v1/account/bootstrap/:id`. */
export const consentAnswer = waiting
  .extend({
    status: statusField,
    server_time: timeField,
    tries_left: z.int().meta({ description: 'Wrong matching codes until it is rejected.' }),
    methods: z.array(z.enum(['passkey', 'totp'])),
    consent: z
      .strictObject({ decision: outcomeField, method: z.enum(['passkey', 'totp']), at: timeField })
      .optional(),
    collected: z
      .strictObject({ at: timeField, address: z.string().optional(), key_id: idField('key').optional() })
      .optional()
      .meta({ description: 'When, and from where, the key was collected.' }),
  })
  .meta({ id: 'Consent' })

/** `POST /api/v1/account/bootstrap/:id/decision/options`. */
export const consentOptionsAnswer = z
  .strictObject({
    intent: z
      .strictObject({
        typ: z.literal('human-approval/bootstrap/v1'),
        aud: z.string(),
        bst: idField('bst'),
        decision: outcomeField,
        approver: approverField,
        client_name: z.string(),
        scopes: z.string(),
        code: z.string().nullable().meta({ description: 'The matching code; null when rejecting.' }),
        requested_at: timeField,
        exp: z.int(),
        salt: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
      })
      .meta({
        id: 'ConsentIntent',
        description: 'What the owner consents to. Compare it with what you show.',
      }),
    options: requestOptions,
  })
  .meta({
    id: 'ConsentOptions',
    description: '`options.challenge` is the base64url SHA-256 of the RFC 8785 JSON of `intent`.',
  })

/** `POST /api/v1/account/bootstrap/:id/decision`. */
export const consentedAnswer = z
  .strictObject({ id: idField('bst'), status: statusField })
  .meta({ id: 'Consented' })
