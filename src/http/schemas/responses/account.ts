import { z } from 'zod'
import { SCOPES } from '../../../domain/api-key.ts'
import { idField, pageOf, timeField } from '../../api/shared/fields.ts'

const keyPrefix = z.string().meta({
  description: 'The leading characters, to tell keys apart.',
  example: 'sa_live_4ivxdq',
})

const keyPolicy = z
  .strictObject({
    approvers: z.array(idField('usr')).optional(),
    quorum: z.int().min(1).optional(),
    passkey_only: z.literal(true).optional(),
    high_impact: z.literal(true).optional(),
  })
  .meta({ id: 'KeyPolicy', description: 'What the key adds to the policy of the account; it only narrows.' })

/** The record of an API key; the key itself is stored only as a keyed hash. */
const keyAnswer = z
  .strictObject({
    id: idField('key'),
    name: z.string().meta({ example: 'billing-bot' }),
    key_prefix: keyPrefix,
    sandbox: z.boolean(),
    scopes: z.array(z.enum(SCOPES)),
    source_control: z.boolean().meta({ description: 'All its requests are high impact.' }),
    policy: keyPolicy.nullable(),
    created_at: timeField,
    last_used_at: timeField.nullable().meta({ description: 'To the minute.' }),
    revoked_at: timeField.nullable(),
  })
  .meta({ id: 'ApiKey' })

/** `GET /api/v1/account/api-keys`. */
export const keyListAnswer = pageOf(keyAnswer).meta({ id: 'ApiKeyList' })

/** `POST /api/v1/account/api-keys`. */
export const createdKeyAnswer = z
  .strictObject({
    raw_key: z
      .string()
      .regex(/^sa_(?:live|test)_[0-9A-Za-z]{49}$/)
      .meta({ description: 'The key itself, shown this once.' }),
    key: keyAnswer,
  })
  .meta({ id: 'CreatedApiKey' })

/** `PATCH /api/v1/account/api-keys/:id`. */
export const changedKeyAnswer = z.strictObject({ key: keyAnswer }).meta({ id: 'ChangedApiKey' })

/** `DELETE /api/v1/account/api-keys/:id`. */
export const revokedKeyAnswer = z
  .strictObject({ ok: z.literal(true), key: keyAnswer })
  .meta({ id: 'RevokedApiKey' })

const webhookSecret = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .meta({ description: 'Key of the HMAC-SHA256 over `<timestamp>.<raw body>`, hex.' })

/** `GET /api/v1/account/webhook-secret`. */
export const webhookSecretAnswer = z
  .union([
    z
      .strictObject({ webhook_signing_secret: webhookSecret })
      .meta({ id: 'WebhookSecret', description: 'Answer to an API key: the secret of this key.' }),
    z
      .strictObject({
        keys: z.array(
          z.strictObject({
            id: idField('key'),
            name: z.string(),
            key_prefix: keyPrefix,
            webhook_signing_secret: webhookSecret,
          }),
        ),
      })
      .meta({ id: 'WebhookSecrets', description: 'Answer to a session: all keys that are not revoked.' }),
  ])
  .meta({ id: 'WebhookSecretAnswer' })
