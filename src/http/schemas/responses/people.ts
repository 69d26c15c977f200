import { z } from 'zod'
import { approverField, idField, memberRoleField, roleField, timeField } from '../../api/shared/fields.ts'
import { requestOptions } from '../../api/shared/proofs.ts'

export const userAnswer = z
  .strictObject({
    id: idField('usr'),
    email: z.string().meta({ example: 'alice@example.com' }),
    name: z.string(),
    approver: approverField,
    account_id: idField('acc'),
    role: z.literal('owner'),
    has_passkey: z.boolean(),
    has_totp: z.boolean(),
    default_ttl_seconds: z.int(),
    delegate: z
      .strictObject({ email: z.string(), name: z.string(), starts_at: timeField, ends_at: timeField })
      .nullable()
      .meta({ description: 'Who decides for the person, now or from that time on.' }),
  })
  .meta({ id: 'User' })

const grantFields = {
  token: z.string().meta({ description: 'Session JWT, for callers that cannot hold a cookie.' }),
  token_type: z.literal('Bearer'),
  expires_in: z.int().meta({ description: 'Seconds the JWT is valid.', example: 900 }),
  user: userAnswer,
}

/** After signing in. */
export const sessionAnswer = z
  .strictObject(grantFields)
  .meta({ id: 'Session', description: 'The answer also sets the session cookie.' })

const backupCodes = z
  .array(z.string().regex(/^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$/))
  .length(10)
  .meta({ description: 'Each signs in once, shown only now. They never decide.' })

/** After enrolling with codes. */
export const totpEnrolledAnswer = z
  .strictObject({ ...grantFields, backup_codes: backupCodes })
  .meta({ id: 'SessionWithBackupCodes' })

export const backupCodesAnswer = z.strictObject({ backup_codes: backupCodes }).meta({ id: 'BackupCodes' })

/** `GET /api/v1/session`. */
export const currentSessionAnswer = z
  .strictObject({
    user: userAnswer,
    expires_at: timeField.meta({
      description: 'The latest end of the session; 12 idle hours end it sooner.',
    }),
    accounts: z
      .array(z.strictObject({ id: idField('acc'), name: z.string(), role: roleField, own: z.boolean() }))
      .meta({ description: 'Accounts the person may look at, the one to open first at the front.' }),
    invitations: z
      .array(
        z.strictObject({
          account_id: idField('acc'),
          account_name: z.string(),
          role: memberRoleField,
          invited_at: timeField,
        }),
      )
      .meta({ description: 'Accounts that ask the person to join, the latest first; at most fifty.' }),
  })
  .meta({ id: 'CurrentSession' })

/** `POST /api/v1/enrollment/lookup`. */
export const enrollmentAnswer = z
  .strictObject({
    kind: z
      .enum(['setup', 'invite'])
      .meta({ description: '`setup`: the first owner, who still has to say who they are.' }),
    email: z.string().nullable(),
    name: z.string().nullable(),
    expires_at: timeField,
    account_id: idField('acc').optional(),
    account_name: z.string().optional().meta({ description: 'The account that asks the person to join.' }),
    role: memberRoleField.optional(),
    enrolled: z.boolean().meta({
      description: 'True: the link gives no factor; the person signs in to accept.',
    }),
  })
  .meta({ id: 'Enrollment' })

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

const passkeyAnswer = z
  .strictObject({
    id: idField('pky'),
    name: z.string().meta({ example: 'Work laptop' }),
    created_at: timeField,
    last_used_at: timeField.nullable(),
    synced: z.boolean().meta({ description: 'Kept in a password manager or cloud account.' }),
    suspended: z.boolean().meta({ description: 'It may have been copied; it no longer counts.' }),
  })
  .meta({ id: 'Passkey' })

export const newPasskeyAnswer = z.strictObject({ passkey: passkeyAnswer }).meta({ id: 'NewPasskeyAnswer' })

/** `GET /api/v1/me/factors`. */
export const factorsAnswer = z
  .strictObject({
    passkeys: z.array(passkeyAnswer),
    totp: z.strictObject({ enabled: z.boolean(), since: timeField.nullable() }),
    backup_codes_left: z.int().min(0),
  })
  .meta({ id: 'Factors' })

/** `POST /api/v1/me/step-up/options`. */
export const stepUpAnswer = z
  .strictObject({
    methods: z.array(z.enum(['passkey', 'totp'])).meta({ description: 'Ways to confirm this operation.' }),
    options: requestOptions.optional().meta({ description: 'Where a passkey can confirm it.' }),
  })
  .meta({ id: 'StepUpOptions' })
