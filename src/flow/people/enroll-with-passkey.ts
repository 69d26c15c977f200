import type { PublicKeyCredentialCreationOptionsJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { refusal } from '../../domain/errors.ts'
import { drawChallenge, takeChallenge } from './challenge-book.ts'
import { type EnrollDeps, type EnrollmentGrant, finishEnrollment } from './finish-enrollment.ts'
import { drawUserHandle } from './new-person.ts'
import { openForEnrolling, profileFor } from './open-enrollment.ts'
import { registrationOptions } from './passkey-options.ts'
import type { PeopleDeps } from './people-deps.ts'
import { registerPasskey } from './register-passkey.ts'
import type { Client } from './start-session.ts'

/**
 * Starts the registration under a link. For the first owner e-mail and name are fixed here, with the challenge.
 * @throws Refusal `enrollment_invalid`, `<field> required`, `invalid_field`, `email_taken`
 */
export async function startPasskeyEnrollment(
  deps: PeopleDeps,
  input: { token: string; email?: string | undefined; name?: string | undefined },
): Promise<{ options: PublicKeyCredentialCreationOptionsJSON }> {
  const open = await openForEnrolling(deps, input.token)
  const typed = await profileFor(deps, open, input)
  const profile = { ...typed, user_handle: open.user?.user_handle ?? drawUserHandle(deps) }
  const subject = open.enrollment.id
  const challenge = await drawChallenge(deps, { purpose: 'enroll', subject, profile })
  const existing = open.user?.passkeys ?? []
  return { options: await registrationOptions({ party: deps.party, challenge, person: profile, existing }) }
}

/**
 * Finishes it: the person has a passkey and is signed in.
 * @throws Refusal `enrollment_invalid`, `challenge_invalid`, `passkey_refused`, `passkey_exists`, `email_taken`
 */
export async function enrollWithPasskey(
  deps: EnrollDeps,
  input: { token: string; passkey_name: string; credential: RegistrationResponseJSON },
  client: Client,
): Promise<EnrollmentGrant> {
  const open = await openForEnrolling(deps, input.token)
  const subject = open.enrollment.id
  const { expectedChallenge, challenge } = await takeChallenge(deps, input.credential, 'enroll', { subject })
  if (challenge.profile === undefined) throw refusal('challenge_invalid')
  const passkey = await registerPasskey(deps, {
    name: input.passkey_name,
    response: input.credential,
    expectedChallenge,
  })
  const change = (user: { passkeys: (typeof passkey)[] }) => ({ passkeys: [...user.passkeys, passkey] })
  return finishEnrollment(deps, open, challenge.profile, { method: 'passkey', change }, client)
}
