import { okAnswer } from '../api/shared/fields.ts'
import { operations, SIGNED_IN, SIGNED_IN_CHANGE } from '../api/shared/operation.ts'
import { creationOptionsAnswer, requestOptionsAnswer } from '../api/shared/proofs.ts'
import {
  codeSignInBody,
  enrollmentOptionsBody,
  lookUpBody,
  passkeyEnrollmentBody,
  passkeySignInBody,
  totpEnrollmentBody,
} from '../schemas/people.ts'
import {
  currentSessionAnswer,
  enrollmentAnswer,
  sessionAnswer,
  totpEnrolledAnswer,
  totpSetUpAnswer,
} from '../schemas/responses/people.ts'

const ownPage = { by: 'own page' } as const
const signedIn = { schema: sessionAnswer, description: 'Signed in.', headers: ['Set-Cookie'] } as const
const badText = 'must be a text'

export const sessionOperations = operations('Signing in', {
  'get /api/v1/session': {
    id: 'getSession',
    summary: 'Who is signed in',
    access: SIGNED_IN,
    answers: { '200': { schema: currentSessionAnswer, description: 'The session.' } },
  },
  'delete /api/v1/session': {
    id: 'endSession',
    summary: 'Sign out',
    description: 'The session ends on the server: its cookie and its JWTs are worth nothing from now on.',
    access: SIGNED_IN_CHANGE,
    answers: { '200': { schema: okAnswer, description: 'Signed out.', headers: ['Set-Cookie'] } },
  },
  'post /api/v1/session/refresh': {
    id: 'refreshSession',
    summary: 'Get a new session JWT',
    description: 'With the session cookie only: a JWT does not prolong itself.',
    access: { by: 'cookie' },
    answers: { '200': { schema: sessionAnswer, description: 'A new JWT for the same session.' } },
  },
  'post /api/v1/session/passkey/options': {
    id: 'startPasskeySignIn',
    summary: 'Start signing in with a passkey',
    access: ownPage,
    limited: true,
    answers: {
      '200': { schema: requestOptionsAnswer, description: 'Any passkey of this service may answer.' },
    },
  },
  'post /api/v1/session/passkey': {
    id: 'signInWithPasskey',
    summary: 'Sign in with a passkey',
    access: ownPage,
    limited: true,
    body: {
      schema: passkeySignInBody,
      required: 'credential',
      invalid: ['credential.type', 'must be public-key'],
    },
    answers: { '200': signedIn },
    refusals: ['challenge_invalid', 'sign_in_failed'],
  },
  'post /api/v1/session/totp': {
    id: 'signInWithTotp',
    summary: 'Sign in with a one-time code',
    description: 'Only on a browser that was enrolled before: a phished code alone opens nothing.',
    access: ownPage,
    limited: true,
    body: { schema: codeSignInBody, required: 'email', invalid: ['code', badText] },
    answers: { '200': signedIn },
    refusals: ['sign_in_failed', 'unknown_browser', 'totp_disabled', 'totp_locked'],
  },
  'post /api/v1/session/backup-code': {
    id: 'signInWithBackupCode',
    summary: 'Sign in with a backup code',
    description: 'Only on a browser that was enrolled before. The code is used up; it never decides.',
    access: ownPage,
    limited: true,
    body: { schema: codeSignInBody, required: 'email', invalid: ['code', badText] },
    answers: { '200': signedIn },
    refusals: ['sign_in_failed', 'unknown_browser', 'totp_locked'],
  },
})

export const enrollmentOperations = operations('Enrolment', {
  'post /api/v1/enrollment/lookup': {
    id: 'lookUpEnrollment',
    summary: 'Look at a one-time link',
    description: 'The token comes from the fragment of the link.',
    access: ownPage,
    limited: true,
    body: { schema: lookUpBody, required: 'token', invalid: ['token', badText] },
    answers: { '200': { schema: enrollmentAnswer, description: 'What the link is for.' } },
    refusals: ['enrollment_invalid'],
  },
  'post /api/v1/enrollment/passkey/options': {
    id: 'startPasskeyEnrollment',
    summary: 'Start enrolling with a passkey',
    description: 'A `setup` link also needs `email` and `name`.',
    access: ownPage,
    limited: true,
    body: {
      schema: enrollmentOptionsBody,
      required: 'token',
      invalid: ['email', 'is not an e-mail address'],
    },
    answers: { '200': { schema: creationOptionsAnswer, description: 'What to make the passkey with.' } },
    refusals: ['email_taken', 'enrollment_invalid'],
  },
  'post /api/v1/enrollment/passkey': {
    id: 'enrollWithPasskey',
    summary: 'Enrol with a passkey',
    access: ownPage,
    limited: true,
    body: {
      schema: passkeyEnrollmentBody,
      required: 'token',
      invalid: ['passkey_name', 'must not be empty'],
    },
    answers: { '201': { ...signedIn, description: 'Enrolled and signed in.' } },
    refusals: ['challenge_invalid', 'passkey_refused', 'passkey_exists', 'email_taken', 'enrollment_invalid'],
  },
  'post /api/v1/enrollment/totp/options': {
    id: 'startTotpEnrollment',
    summary: 'Start enrolling with one-time codes',
    description: 'A `setup` link also needs `email` and `name`.',
    access: ownPage,
    limited: true,
    body: {
      schema: enrollmentOptionsBody,
      required: 'token',
      invalid: ['email', 'is not an e-mail address'],
    },
    answers: { '200': { schema: totpSetUpAnswer, description: 'The seed, shown this once.' } },
    refusals: ['email_taken', 'enrollment_invalid'],
  },
  'post /api/v1/enrollment/totp': {
    id: 'enrollWithTotp',
    summary: 'Enrol with one-time codes',
    access: ownPage,
    limited: true,
    body: { schema: totpEnrollmentBody, required: 'token', invalid: ['code', badText] },
    answers: {
      '201': {
        schema: totpEnrolledAnswer,
        description: 'Enrolled and signed in.',
        headers: ['Set-Cookie'],
      },
    },
    refusals: ['totp_refused', 'totp_not_started', 'email_taken', 'enrollment_invalid'],
  },
})
