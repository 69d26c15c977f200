import { z } from 'zod'
import { factorsOf, type Passkey, STEP_UP_OPERATIONS, type User } from '../../domain/user.ts'
import { code } from './session.ts'
import { type Answer, idField, okAnswer, present, timeField } from './shared/fields.ts'
import { flag, givenName, text } from './shared/input.ts'
import { idInPath, operations, PROOF_REFUSALS } from './shared/operation.ts'
import { creationOptionsAnswer, proofOnly, registrationSchema, requestOptions } from './shared/proofs.ts'

export const stepUpBody = z
  .object({
    operation: z.enum(STEP_UP_OPERATIONS, { error: `must be one of ${STEP_UP_OPERATIONS.join(', ')}` }),
    // The longest target is an e-mail address.
    target: text.max(320, 'is too long').optional(),
  })
  .meta({ id: 'StepUp' })

export const newPasskeyOptionsBody = proofOnly.schema
  .extend({
    attested: flag
      .default(false)
      .meta({ description: 'Also ask the authenticator to prove its model, which a policy may require.' }),
  })
  .meta({ id: 'NewPasskeyOptions' })

export const newPasskeyBody = z
  .object({ name: givenName, credential: registrationSchema })
  .meta({ id: 'NewPasskey' })

export const codeBody = z.object({ code }).meta({ id: 'Code' })

export const backupCodes = z
  .array(z.string().regex(/^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$/))
  .length(10)
  .meta({ description: 'Each signs in once, shown only now. They never decide.' })

export const backupCodesAnswer = z.strictObject({ backup_codes: backupCodes }).meta({ id: 'BackupCodes' })

/** A TOTP seed, shown once. */
export const totpSetUpAnswer = z
  .strictObject({
    secret: z
      .string()
      .regex(/^[A-Z2-7]+$/)
      .meta({ description: 'Base32 seed, for typing.' }),
    otpauth_url: z.string().regex(/^otpauth:\/\/totp\//),
    qr_svg: z.string().regex(/^<svg/).meta({ description: 'The same as a QR code.' }),
  })
  .meta({ id: 'TotpSetUp' })

/** The known facts about the authenticator of a passkey. */
export const authenticatorFields = {
  device_bound: z.literal(true).optional().meta({ description: 'Cannot leave its authenticator.' }),
  aaguid: z.string().optional().meta({ description: 'The model it says it is.' }),
  authenticator: z
    .string()
    .optional()
    .meta({ description: 'The name of that model, if the metadata has it.', example: 'Token 5 NFC' }),
  attested: z
    .literal(true)
    .optional()
    .meta({ description: 'The authenticator proved that model when the passkey was made.' }),
}

const passkeyAnswer = z
  .strictObject({
    id: idField('pky'),
    name: z.string().meta({ example: 'Work laptop' }),
    created_at: timeField,
    last_used_at: timeField.nullable(),
    synced: z.boolean().meta({ description: 'Kept in a password manager or cloud account.' }),
    suspended: z.boolean().meta({ description: 'It is suspended: a copy of it may exist.' }),
    suspended_at: timeField.nullable(),
    ...authenticatorFields,
  })
  .meta({ id: 'Passkey' })

export const newPasskeyAnswer = z.strictObject({ passkey: passkeyAnswer }).meta({ id: 'NewPasskeyAnswer' })

export const factorsAnswer = z
  .strictObject({
    passkeys: z.array(passkeyAnswer),
    totp: z.strictObject({ enabled: z.boolean(), since: timeField.nullable() }),
    backup_codes_left: z.int().min(0),
    can_attest: z.literal(true).optional().meta({
      description: 'The service has metadata to verify the models of authenticators.',
    }),
  })
  .meta({ id: 'Factors' })

const stepUpAnswer = z
  .strictObject({
    methods: z.array(z.enum(['passkey', 'totp'])).meta({ description: 'Ways to confirm this operation.' }),
    options: requestOptions.optional().meta({ description: 'Present if a passkey can confirm it.' }),
  })
  .meta({ id: 'StepUpOptions' })

/** The service's metadata of authenticator models; `known` is false if it has none. */
export interface Models {
  known: boolean
  nameOf(aaguid: string | undefined): string | undefined
}

/** Presents a passkey to its owner. */
export function presentPasskey(passkey: Passkey, models: Models): Answer<typeof passkeyAnswer> {
  return present(passkeyAnswer, passkey, {
    suspended: passkey.suspended_at !== null,
    ...presentAuthenticator(passkey, models),
  })
}

/** Presents the known facts about an authenticator; unless `attested`, its model is only a claim. */
export function presentAuthenticator({ backup_eligible, aaguid, attested }: Passkey, models: Models) {
  return {
    device_bound: backup_eligible ? undefined : (true as const),
    aaguid,
    authenticator: models.nameOf(aaguid),
    attested,
  }
}

/** Presents a TOTP seed, which is shown once. */
export function presentTotpSetUp(
  setUp: { secret: string; otpauth_url: string },
  qr_svg: string,
): Answer<typeof totpSetUpAnswer> {
  return present(totpSetUpAnswer, setUp, { qr_svg })
}

/** Presents all factors of the person. */
export function presentFactors(user: User, models: Models): Answer<typeof factorsAnswer> {
  return {
    passkeys: user.passkeys.map((passkey) => presentPasskey(passkey, models)),
    totp: {
      enabled: factorsOf(user).has_totp,
      since: user.totp?.confirmed_at.toISOString() ?? null,
    },
    backup_codes_left: user.backup_codes.length,
    can_attest: models.known || undefined,
  }
}

const renewed =
  'Every other session of the person ends, and so does every session token issued before; this session gets a new cookie.'

export const factorOperations = operations('Own factors', {
  'get /api/v1/me/factors': {
    id: 'listFactors',
    summary: 'My passkeys and codes',
    answers: { '200': { schema: factorsAnswer, description: 'All factors.' } },
  },
  'post /api/v1/me/step-up/options': {
    id: 'startStepUp',
    summary: 'Start confirming a change',
    description:
      'Lists the factors that may confirm it; the assertion counts for this operation and target only.',
    body: {
      schema: stepUpBody,
    },
    answers: { '200': { schema: stepUpAnswer, description: 'How to confirm.' } },
    refusals: [
      'not_found',
      'last_factor',
      'totp_exists',
      'passkey_limit',
      'identity_limit',
      'method_not_enrolled',
      'authenticator_refused',
    ],
  },
  'post /api/v1/me/passkeys/options': {
    id: 'startAddingPasskey',
    summary: 'Start adding a passkey',
    body: { ...proofOnly, schema: newPasskeyOptionsBody },
    answers: {
      '200': { schema: creationOptionsAnswer, description: 'The options to make the passkey with.' },
    },
    refusals: [...PROOF_REFUSALS, 'passkey_limit'],
  },
  'post /api/v1/me/passkeys': {
    id: 'addPasskey',
    summary: 'Add a passkey',
    description: renewed,
    body: { schema: newPasskeyBody },
    answers: { '201': { schema: newPasskeyAnswer, description: 'Added.', headers: ['Set-Cookie'] } },
    refusals: [
      'challenge_invalid',
      'passkey_refused',
      'authenticator_refused',
      'passkey_exists',
      'passkey_limit',
    ],
  },
  'post /api/v1/me/passkeys/{id}/remove': {
    id: 'removePasskey',
    summary: 'Remove a passkey',
    description: `The proof must come from another factor. ${renewed}`,
    parameters: { path: idInPath('pky', 'Passkey id.') },
    body: proofOnly,
    answers: { '200': { schema: okAnswer, description: 'Removed.', headers: ['Set-Cookie'] } },
    refusals: [...PROOF_REFUSALS, 'not_found', 'last_factor'],
  },
  'post /api/v1/me/totp/options': {
    id: 'startAddingTotp',
    summary: 'Start setting up one-time codes',
    body: proofOnly,
    answers: { '200': { schema: totpSetUpAnswer, description: 'The seed, shown only once.' } },
    refusals: [...PROOF_REFUSALS, 'totp_exists'],
  },
  'post /api/v1/me/totp': {
    id: 'addTotp',
    summary: 'Confirm one-time codes',
    description: renewed,
    body: { schema: codeBody },
    answers: { '201': { schema: backupCodesAnswer, description: 'Set up.', headers: ['Set-Cookie'] } },
    refusals: ['totp_refused', 'totp_not_started', 'totp_exists'],
  },
  'post /api/v1/me/totp/remove': {
    id: 'removeTotp',
    summary: 'Remove one-time codes',
    description: `Confirmed with a passkey. ${renewed}`,
    body: proofOnly,
    answers: { '200': { schema: okAnswer, description: 'Removed.', headers: ['Set-Cookie'] } },
    refusals: [...PROOF_REFUSALS, 'not_found', 'last_factor'],
  },
  'post /api/v1/me/backup-codes': {
    id: 'renewBackupCodes',
    summary: 'Make new backup codes',
    description: `The old ones end. ${renewed}`,
    body: proofOnly,
    answers: {
      '201': { schema: backupCodesAnswer, description: 'The new codes.', headers: ['Set-Cookie'] },
    },
    refusals: [...PROOF_REFUSALS, 'method_not_enrolled'],
  },
})
