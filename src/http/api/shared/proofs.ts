import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import { isTransport } from '../../../domain/user.ts'
import { text } from './input.ts'

/** Base64url without padding, as `@simplewebauthn/browser` writes it; `bytes` bounds the decoded length. */
function base64url(bytes: number) {
  return z
    .string({ error: 'must be base64url' })
    .regex(/^[A-Za-z0-9_-]+$/, 'must be base64url without padding')
    .max(Math.ceil((bytes * 4) / 3), 'is too long')
}

const credentialId = base64url(1023)

const credentialType = z.literal('public-key', { error: 'must be public-key' })

/** An assertion (`AuthenticationResponseJSON`); fields that the verifier does not read are dropped. */
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

/** A registration (`RegistrationResponseJSON`); fields that the verifier does not read are dropped. */
export const registrationSchema = z
  .object({
    id: credentialId,
    rawId: credentialId,
    type: credentialType,
    response: z.object({
      clientDataJSON: base64url(4096),
      attestationObject: base64url(12_288),
      transports: z.array(z.string().max(32)).max(16).nullish(),
    }),
  })
  .transform(({ response: { transports, ...response }, ...credential }): RegistrationResponseJSON => {
    const known = (transports ?? []).filter(isTransport)
    return { ...credential, response: { ...response, transports: known }, clientExtensionResults: {} }
  })
  .meta({ id: 'PasskeyRegistration', description: 'A `RegistrationResponseJSON` (WebAuthn Level 3).' })

/** The fields of a proof of presence, which a decision carries beside its other fields. */
export const eitherProof = z
  .object({
    passkey: authenticationSchema.optional(),
    totp: text.max(64, 'is too long').optional(),
  })
  .meta({ id: 'Proof' })

/** The same fields as the document describes them. */
export const provenBy = {
  passkey: eitherProof.shape.passkey.meta({
    description: 'The assertion over `options`. Send exactly one of `passkey` and `totp`.',
  }),
  totp: eitherProof.shape.totp.meta({ description: 'The current one-time code.', example: '123456' }),
}

/** A fresh proof by an existing factor: `{passkey}` or `{totp}`, exactly one. */
export const proofSchema = eitherProof
  .optional()
  .transform((given, context): { passkey: AuthenticationResponseJSON } | { totp: string } | undefined => {
    if (given === undefined) return undefined
    const { passkey, totp } = given
    if ((passkey === undefined) !== (totp === undefined))
      return passkey === undefined ? { totp: totp ?? '' } : { passkey }
    context.addIssue({ code: 'custom', message: 'must hold exactly one of passkey and totp' })
    return z.NEVER
  })

const challenge = z.string().regex(/^[A-Za-z0-9_-]+$/)

const descriptor = z.strictObject({
  id: z.string(),
  type: z.literal('public-key'),
  transports: z.array(z.string()).optional(),
})

/** The options of `navigator.credentials.get`, in the JSON form of WebAuthn Level 3. */
export const requestOptions = z
  .strictObject({
    challenge,
    timeout: z.int(),
    rpId: z.string().meta({ example: 'approvals.example.com' }),
    allowCredentials: z.array(descriptor).meta({ description: 'Empty: any passkey of this service.' }),
    userVerification: z.literal('required'),
  })
  .meta({
    id: 'PublicKeyCredentialRequestOptions',
    description: 'Pass it to `PublicKeyCredential.parseRequestOptionsFromJSON` (WebAuthn Level 3).',
  })

/** The options of `navigator.credentials.create`, in the JSON form of WebAuthn Level 3. */
const creationOptions = z
  .strictObject({
    challenge,
    rp: z.strictObject({ name: z.string(), id: z.string() }),
    user: z.strictObject({ id: z.string(), name: z.string(), displayName: z.string() }),
    pubKeyCredParams: z.array(z.strictObject({ alg: z.int(), type: z.literal('public-key') })),
    timeout: z.int(),
    attestation: z.enum(['none', 'direct']),
    excludeCredentials: z.array(descriptor),
    authenticatorSelection: z.looseObject({
      residentKey: z.literal('required'),
      userVerification: z.literal('required'),
    }),
    extensions: z.looseObject({}).optional(),
    hints: z.array(z.string()).optional(),
  })
  .meta({
    id: 'PublicKeyCredentialCreationOptions',
    description: 'Pass it to `PublicKeyCredential.parseCreationOptionsFromJSON` (WebAuthn Level 3).',
  })

/** Assertion options under `options`, the name that all answers use. */
export const requestOptionsAnswer = z
  .strictObject({ options: requestOptions })
  .meta({ id: 'AssertionOptions' })

export const creationOptionsAnswer = z
  .strictObject({ options: creationOptions })
  .meta({ id: 'RegistrationOptions' })

/** The fresh proof for a change of factors. A missing proof is answered 403, not 400: it concerns who asks, not the form. */
export const proofBody = z.object({ proof: proofSchema }).meta({ id: 'FreshProof' })

/** A body that holds the proof alone. */
export const proofOnly = {
  schema: proofBody,
  optional: true,
} as const
