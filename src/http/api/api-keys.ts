import { z } from 'zod'
import { type ApiKey, SCOPES } from '../../domain/api-key.ts'
import { approvers, quorum } from './policy.ts'
import { type Answer, hexField, idField, ignoredFields, pageOf, present, timeField } from './shared/fields.ts'
import { flag, givenName, shortName } from './shared/input.ts'
import { idInPath, operations, PROOF_REFUSALS } from './shared/operation.ts'
import { proofSchema } from './shared/proofs.ts'

export const newKeyBody = z
  .object({
    name: shortName,
    sandbox: flag.default(false),
    scopes: z
      .array(z.enum(SCOPES, { error: `must be one of ${SCOPES.join(', ')}` }))
      .min(1, 'must name at least one scope')
      .max(SCOPES.length, 'must not repeat scopes')
      .optional(),
    source_control: flag
      .default(false)
      .meta({ description: 'Used by a source-control integration: all its requests are high impact.' }),
  })
  .meta({ id: 'CreateApiKey' })

const only = z.literal(true, { error: 'must be true, or be left out' })

/** The rules that a key adds to the account's policy. */
const keyPolicyBody = z
  .object(
    {
      approvers: approvers.min(1, 'must name an approver, or be left out').optional(),
      quorum: quorum.optional(),
      passkey_only: only.optional(),
      high_impact: only.optional(),
    },
    { error: 'must be an object or null' },
  )
  .meta({
    id: 'NewKeyPolicy',
    description: 'Narrows the policy of the account; null: only that of the account applies.',
  })

export const changeKeyBody = z
  .object({
    name: givenName.optional(),
    source_control: flag.optional(),
    policy: keyPolicyBody.nullable().optional(),
    proof: proofSchema,
  })
  .meta({ id: 'ChangeApiKey' })

const keyPrefix = z.string().meta({
  description: 'The first characters, to tell keys apart.',
  example: 'sa_live_4ivxdq',
})

const keyPolicy = z
  .strictObject({
    approvers: z.array(idField('usr')).optional(),
    quorum: z.int().min(1).optional(),
    passkey_only: z.literal(true).optional(),
    high_impact: z.literal(true).optional(),
  })
  .meta({ id: 'KeyPolicy', description: 'The restrictions that the key adds to the policy of the account.' })

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

export const keyListAnswer = pageOf(keyAnswer).meta({ id: 'ApiKeyList' })

export const createdKeyAnswer = z
  .strictObject({
    raw_key: z
      .string()
      .regex(/^sa_(?:live|test)_[0-9A-Za-z]{49}$/)
      .meta({ description: 'The key itself, shown only once.' }),
    key: keyAnswer,
    ignored_fields: ignoredFields,
  })
  .meta({ id: 'CreatedApiKey' })

export const changedKeyAnswer = z
  .strictObject({ key: keyAnswer, ignored_fields: ignoredFields })
  .meta({ id: 'ChangedApiKey' })

export const revokedKeyAnswer = z
  .strictObject({ ok: z.literal(true), key: keyAnswer })
  .meta({ id: 'RevokedApiKey' })

const webhookSecret = hexField.meta({
  description:
    'Key of the HMAC-SHA256 over `<timestamp>.<raw body>`, hex. The API key itself can read it, so an HMAC proves who sent a callback, not that a person decided.',
})

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

/** Presents the record of a key, never its hash. */
export function presentKey(key: ApiKey): Answer<typeof keyAnswer> {
  return present(keyAnswer, key, {
    source_control: key.source_control === true,
    policy: key.policy === undefined ? null : present(keyPolicy, key.policy, {}),
  })
}

export const apiKeyOperations = operations('Account', {
  'get /api/v1/account/api-keys': {
    id: 'listApiKeys',
    summary: 'List API keys',
    limited: false,
    answers: {
      '200': { schema: keyListAnswer, description: 'All keys of the account, including revoked ones.' },
    },
  },
  'post /api/v1/account/api-keys': {
    id: 'createApiKey',
    summary: 'Make an API key',
    description:
      'To rotate a key, make a new one, switch over, revoke the old one: both work in the meantime. Without `scopes` the key gets all three. An account has at most 100 keys that are not revoked. The session needs a recent proof of presence: signing in is one, and `POST /api/v1/session/proof` gives one.',
    body: { schema: newKeyBody },
    answers: { '201': { schema: createdKeyAnswer, description: 'The key, shown only once.' } },
    refusals: ['key_limit', 'no_own_account', 'proof_required'],
  },
  'patch /api/v1/account/api-keys/{id}': {
    id: 'changeApiKey',
    summary: 'Change an API key',
    description:
      'Applies from its next request on. Changing `policy` or `source_control` needs a proof (step-up `key.change`, target: the key id); a name does not. `policy` narrows that of the account: only the named approvers, the larger quorum, and all rules of both. With a sandbox key no approver is asked, so approvers and quorum have no effect there; its requests still show as high impact.',
    parameters: { path: idInPath('key', 'Key id.') },
    body: {
      schema: changeKeyBody,
      optional: true,
    },
    answers: { '200': { schema: changedKeyAnswer, description: 'As it is now.' } },
    refusals: [...PROOF_REFUSALS, 'not_found', 'no_eligible_approver'],
  },
  'delete /api/v1/account/api-keys/{id}': {
    id: 'revokeApiKey',
    summary: 'Revoke an API key',
    description: 'Immediate and permanent: requests that use it, including open waits, get 401.',
    parameters: { path: idInPath('key', 'Key id.') },
    answers: { '200': { schema: revokedKeyAnswer, description: 'Revoked.' } },
    refusals: ['not_found'],
  },
  'get /api/v1/account/webhook-secret': {
    id: 'getWebhookSecret',
    summary: 'Read the callback signing secrets',
    description:
      'With an API key: the secret of this key. With a session: those of all keys of the account that are not revoked; it needs a recent proof of presence, as for making a key. Every read is in the audit trail.',
    access: { by: ['key', 'cookie', 'token'] },
    answers: { '200': { schema: webhookSecretAnswer, description: 'The secret, or the secrets.' } },
    refusals: ['rate limit exceeded', 'proof_required'],
  },
})
