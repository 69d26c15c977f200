import {
  type AuthenticatorTransport,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server'
import { isTransport, type Passkey, type User, usablePasskeys } from '../../domain/user.ts'
import { fromBase64Url } from '../../signing/encoding.ts'
import type { RelyingParty } from '../deps.ts'
import { CHALLENGE_MS } from './ceremony.ts'
import { ALLOWED_ALGORITHMS } from './passkey-key.ts'

/** Options for an assertion by this person: exactly their usable passkeys, user verification required. */
export function assertionOptions(input: {
  user: User
  challenge: Uint8Array
  rpId: string
}): Promise<PublicKeyCredentialRequestOptionsJSON> {
  return requestOptions(input.rpId, input.challenge, usablePasskeys(input.user))
}

/** Options for signing in without a name: the authenticator offers what it has. */
export function discoverableOptions(input: {
  challenge: Uint8Array
  rpId: string
}): Promise<PublicKeyCredentialRequestOptionsJSON> {
  return requestOptions(input.rpId, input.challenge, [])
}

/** Bytes, not text: the library would encode a string challenge a second time. */
function requestOptions(
  rpId: string,
  challenge: Uint8Array,
  passkeys: Passkey[],
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  return generateAuthenticationOptions({
    rpID: rpId,
    challenge: Uint8Array.from(challenge),
    allowCredentials: passkeys.map(describe),
    timeout: CHALLENGE_MS,
    userVerification: 'required',
  })
}

/** Options for a new passkey. No attestation is asked for: it would identify the device and proves nothing we rely on. */
export function registrationOptions(input: {
  party: RelyingParty
  challenge: Uint8Array
  person: { email: string; name: string; user_handle: string }
  existing: Passkey[]
}): Promise<PublicKeyCredentialCreationOptionsJSON> {
  return generateRegistrationOptions({
    rpName: input.party.name,
    rpID: input.party.rpId,
    userID: Uint8Array.from(fromBase64Url(input.person.user_handle)),
    userName: input.person.email,
    userDisplayName: input.person.name,
    challenge: Uint8Array.from(input.challenge),
    timeout: CHALLENGE_MS,
    attestationType: 'none',
    excludeCredentials: input.existing.map(describe),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: [...ALLOWED_ALGORITHMS],
  })
}

function describe(passkey: Passkey): { id: string; transports: AuthenticatorTransport[] } {
  return { id: passkey.credential_id, transports: passkey.transports.filter(isTransport) }
}
