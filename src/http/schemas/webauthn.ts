import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import { invalidField, refusal } from '../../domain/errors.ts'
import { isTransport } from '../../flow/people/passkey-options.ts'
import type { Proof } from '../../flow/people/step-up.ts'
import type { PresenceProof } from '../../flow/prove-presence.ts'
import { parseBody } from '../parse.ts'

/** Base64url without padding, as `@simplewebauthn/browser` writes it; `bytes` bounds the decoded length. */
function base64url(bytes: number) {
  return z
    .string({ error: 'must be base64url' })
    .regex(/^[A-Za-z0-9_-]+$/, 'must be base64url without padding')
    .max(Math.ceil((bytes * 4) / 3), 'is too long')
}

const credentialId = base64url(1023)
const credentialType = z.literal('public-key', { error: 'must be public-key' })

/** An assertion (`AuthenticationResponseJSON`); what the verifier does not read is dropped. */
export const authenticationSchema = z
  .object({
    id: credentialId,
    rawId: credentialId,
    type: credentialType,
    response: z.object({
      clientDataJSON: base64url(4096),
      authenticatorData: base64url(4096),
      signature: base64url(1024),
      userHandle: base64url(64).or(z.literal('')).nullish(),
    }),
  })
  .transform(({ response: { userHandle, ...response }, ...credential }): AuthenticationResponseJSON => {
    const handle = userHandle === undefined || userHandle === null ? {} : { userHandle }
    return { ...credential, response: { ...response, ...handle }, clientExtensionResults: {} }
  })
  .meta({ id: 'PasskeyAssertion', description: 'An `AuthenticationResponseJSON` (WebAuthn Level 3).' })

/** A registration (`RegistrationResponseJSON`); what the verifier does not read is dropped. */
export const registrationSchema = z
  .object({
    id: credentialId,
    rawId: credentialId,
    type: credentialType,
    response: z.object({
      clientDataJSON: base64url(4096),
      attestationObject: base64url(6144),
      transports: z.array(z.string().max(32)).max(16).nullish(),
    }),
  })
  .transform(({ response: { transports, ...response }, ...credential }): RegistrationResponseJSON => {
    const known = (transports ?? []).filter(isTransport)
    return { ...credential, response: { ...response, transports: known }, clientExtensionResults: {} }
  })
  .meta({ id: 'PasskeyRegistration', description: 'A `RegistrationResponseJSON` (WebAuthn Level 3).' })

const eitherProof = z.object({
  passkey: authenticationSchema.optional(),
  totp: z.string({ error: 'must be a text' }).max(64, 'is too long').optional(),
})

/** A fresh proof by an existing factor: `{passkey}` or `{totp}`, exactly one. */
export const proofSchema = eitherProof.optional().transform((given, context): Proof | undefined => {
  if (given === undefined) return undefined
  const { passkey, totp } = given
  if ((passkey === undefined) !== (totp === undefined))
    return passkey === undefined ? { totp: totp ?? '' } : { passkey }
  context.addIssue({ code: 'custom', message: 'must hold exactly one of passkey and totp' })
  return z.NEVER
})

/**
 * The proof in the body of a decision, exactly one of `passkey` and `totp`.
 * @throws Refusal `proof_required` for none, `invalid_field` for both or an ill-formed one
 */
export function readProof(body: unknown, address: string): PresenceProof {
  const { passkey, totp } = parseBody(eitherProof, body)
  if (passkey !== undefined && totp !== undefined)
    throw invalidField('passkey', 'must not be sent together with totp')
  if (passkey !== undefined) return { method: 'passkey', response: passkey }
  if (totp !== undefined) return { method: 'totp', code: totp, address }
  throw refusal('proof_required')
}
