import { z } from 'zod'
import { STEP_UP_OPERATIONS } from '../../flow/people/step-up.ts'
import { givenName } from '../api/shared/input.ts'
import { authenticationSchema, proofSchema, registrationSchema } from '../api/shared/proofs.ts'

const email = z.string({ error: 'must be a text' }).max(320, 'is too long')
const code = z.string({ error: 'must be a text' }).max(64, 'is too long')
const linkToken = z.string({ error: 'must be a text' }).max(128, 'is too long')

/** `POST /api/v1/session/passkey`. */
export const passkeySignInBody = z.object({ credential: authenticationSchema }).meta({ id: 'PasskeySignIn' })

/** `POST /api/v1/session/totp` and `…/backup-code`. */
export const codeSignInBody = z.object({ email, code }).meta({ id: 'CodeSignIn' })

/** `POST /api/v1/enrollment/lookup`. */
export const lookUpBody = z.object({ token: linkToken }).meta({ id: 'EnrollmentLookup' })

/** `POST /api/v1/enrollment/passkey/options` and `…/totp/options`; a set-up link asks for e-mail and name. */
export const enrollmentOptionsBody = z
  .object({ token: linkToken, email: email.optional(), name: givenName.optional() })
  .meta({ id: 'EnrollmentOptions' })

/** `POST /api/v1/enrollment/passkey`. */
export const passkeyEnrollmentBody = z
  .object({ token: linkToken, passkey_name: givenName, credential: registrationSchema })
  .meta({ id: 'PasskeyEnrollment' })

/** `POST /api/v1/enrollment/totp`. */
export const totpEnrollmentBody = z.object({ token: linkToken, code }).meta({ id: 'TotpEnrollment' })

/** `POST /api/v1/me/step-up/options`. */
export const stepUpBody = z
  .object({
    operation: z.enum(STEP_UP_OPERATIONS, { error: `must be one of ${STEP_UP_OPERATIONS.join(', ')}` }),
    // As long as an e-mail address can be.
    target: z.string({ error: 'must be a text' }).max(320, 'is too long').optional(),
  })
  .meta({ id: 'StepUp' })

/** Every change of factors: a fresh proof. A missing one is answered 403, not 400: it is about who asks. */
export const proofBody = z.object({ proof: proofSchema }).meta({ id: 'FreshProof' })

/** `POST /api/v1/me/passkeys`. */
export const newPasskeyBody = z
  .object({ name: givenName, credential: registrationSchema })
  .meta({ id: 'NewPasskey' })

/** `POST /api/v1/me/totp`. */
export const codeBody = z.object({ code }).meta({ id: 'Code' })
