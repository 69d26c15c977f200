import { z } from 'zod'
import type { Account, Member } from '../../domain/account.ts'
import type { User } from '../../domain/user.ts'
import { backupCodes, totpSetUpAnswer } from './factors.ts'
import { code, email, grantFields, signedIn } from './session.ts'
import { type Answer, idField, memberRoleField, present, timeField } from './shared/fields.ts'
import { givenName, text } from './shared/input.ts'
import { OWN_PAGE, operations } from './shared/operation.ts'
import { creationOptionsAnswer, registrationSchema } from './shared/proofs.ts'

const linkToken = text.max(128, 'is too long')

export const lookUpBody = z.object({ token: linkToken }).meta({ id: 'EnrollmentLookup' })

/** `POST /api/v1/enrollment/passkey/options` and `…/totp/options`; a set-up link asks for e-mail and name. */
export const enrollmentOptionsBody = z
  .object({
    token: linkToken,
    email: email.optional(),
    name: givenName.optional(),
    account_name: givenName
      .optional()
      .meta({ description: 'With a `setup` link: the name of the account; the person’s own if omitted.' }),
  })
  .meta({ id: 'EnrollmentOptions' })

export const passkeyEnrollmentBody = z
  .object({ token: linkToken, passkey_name: givenName, credential: registrationSchema })
  .meta({ id: 'PasskeyEnrollment' })

export const totpEnrollmentBody = z.object({ token: linkToken, code }).meta({ id: 'TotpEnrollment' })

/** The answer after enrolment with one-time codes. */
export const totpEnrolledAnswer = z
  .strictObject({ ...grantFields, backup_codes: backupCodes })
  .meta({ id: 'SessionWithBackupCodes' })

export const enrollmentAnswer = z
  .strictObject({
    kind: z
      .enum(['setup', 'invite'])
      .meta({ description: '`setup`: for the first owner, who still has to give name and address.' }),
    email: z.string().nullable(),
    name: z.string().nullable(),
    expires_at: timeField,
    account_id: idField('acc').optional(),
    account_name: z.string().optional().meta({ description: 'The account that asks the person to join.' }),
    role: memberRoleField.optional(),
    opens_at: timeField.optional().meta({
      description:
        'Present if the link lets a member of the account set up their sign-in anew: from when on it works. All earlier factors then end.',
    }),
    enrolled: z.boolean().meta({
      description: 'True: the link cannot enrol a factor; the person signs in to accept.',
    }),
  })
  .meta({ id: 'Enrollment' })

/** An open link and, for an invitation, the invited person and the account that they are asked to join. */
interface OpenEnrollment {
  enrollment: { kind: 'setup' | 'invite'; expires_at: Date }
  user?: User
  invitation?: { account: Account; member: Member }
  recovery?: { opens_at: Date }
}

/** Presents what a link is for. @param enrolls whether it gives a factor; if not, the name is what the inviter wrote */
export function presentEnrollment(
  { enrollment, user, invitation, recovery }: OpenEnrollment,
  enrolls: boolean,
): Answer<typeof enrollmentAnswer> {
  const name = enrolls ? user?.name : invitation?.member.name
  return present(enrollmentAnswer, enrollment, {
    email: user?.email ?? null,
    name: name ?? null,
    account_id: invitation?.account.id,
    account_name: invitation?.account.name,
    role: invitation?.member.role,
    opens_at: recovery?.opens_at.toISOString(),
    enrolled: !enrolls,
  })
}

const starting = {
  description: 'A `setup` link also needs `email` and `name`.',
  access: OWN_PAGE,
  body: {
    schema: enrollmentOptionsBody,
  },
  refusals: ['email_taken', 'enrollment_invalid', 'enrollment_early'],
} as const

export const enrollmentOperations = operations('Enrolment', {
  'post /api/v1/enrollment/lookup': {
    id: 'lookUpEnrollment',
    summary: 'Inspect a one-time link',
    description: 'The token comes from the fragment of the link.',
    access: OWN_PAGE,
    body: { schema: lookUpBody },
    answers: { '200': { schema: enrollmentAnswer, description: 'The purpose of the link.' } },
    refusals: ['enrollment_invalid'],
  },
  'post /api/v1/enrollment/passkey/options': {
    id: 'startPasskeyEnrollment',
    summary: 'Start enrolling with a passkey',
    ...starting,
    answers: {
      '200': { schema: creationOptionsAnswer, description: 'The options to make the passkey with.' },
    },
  },
  'post /api/v1/enrollment/passkey': {
    id: 'enrollWithPasskey',
    summary: 'Enrol with a passkey',
    access: OWN_PAGE,
    body: {
      schema: passkeyEnrollmentBody,
    },
    answers: { '201': { ...signedIn, description: 'Enrolled and signed in.' } },
    refusals: [
      'challenge_invalid',
      'passkey_refused',
      'authenticator_refused',
      'passkey_exists',
      'email_taken',
      'enrollment_invalid',
      'enrollment_early',
    ],
  },
  'post /api/v1/enrollment/totp/options': {
    id: 'startTotpEnrollment',
    summary: 'Start enrolling with one-time codes',
    ...starting,
    answers: { '200': { schema: totpSetUpAnswer, description: 'The seed, shown only once.' } },
  },
  'post /api/v1/enrollment/totp': {
    id: 'enrollWithTotp',
    summary: 'Enrol with one-time codes',
    access: OWN_PAGE,
    body: { schema: totpEnrollmentBody },
    answers: {
      '201': {
        schema: totpEnrolledAnswer,
        description: 'Enrolled and signed in.',
        headers: ['Set-Cookie'],
      },
    },
    refusals: ['totp_refused', 'totp_not_started', 'email_taken', 'enrollment_invalid', 'enrollment_early'],
  },
})
