import { z } from 'zod'

const challenge = z.string().regex(/^[A-Za-z0-9_-]+$/)

const descriptor = z.strictObject({
  id: z.string(),
  type: z.literal('public-key'),
  transports: z.array(z.string()).optional(),
})

/** What `navigator.credentials.get` takes, in the JSON form of WebAuthn Level 3. */
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

/** What `navigator.credentials.create` takes, in the JSON form of WebAuthn Level 3. */
const creationOptions = z
  .strictObject({
    challenge,
    rp: z.strictObject({ name: z.string(), id: z.string() }),
    user: z.strictObject({ id: z.string(), name: z.string(), displayName: z.string() }),
    pubKeyCredParams: z.array(z.strictObject({ alg: z.int(), type: z.literal('public-key') })),
    timeout: z.int(),
    attestation: z.literal('none'),
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

/** Options under the one name all answers use. */
export const requestOptionsAnswer = z
  .strictObject({ options: requestOptions })
  .meta({ id: 'AssertionOptions' })
export const creationOptionsAnswer = z
  .strictObject({ options: creationOptions })
  .meta({ id: 'RegistrationOptions' })
