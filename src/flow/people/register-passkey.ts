import {
  type AuthenticatorTransport,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyRegistrationResponse,
} from '@simplewebauthn/server'
import { decodeAttestationObject } from '@simplewebauthn/server/helpers'
import { refusal } from '../../domain/errors.ts'
import { drawId } from '../../domain/identifier.ts'
import { isTransport, type Passkey, type User, usablePasskeys } from '../../domain/user.ts'
import { fromBase64Url, toBase64Url } from '../../signing/encoding.ts'
import type { PeopleDeps, RelyingParty } from '../deps.ts'
import { CeremonyError, CHALLENGE_MS, checkClientData } from './ceremony.ts'
import { ALLOWED_ALGORITHMS, readPasskeyKey } from './passkey-key.ts'

type RegisterDeps = Pick<PeopleDeps, 'users' | 'party' | 'clock' | 'random' | 'log'>

/**
 * Verifies a registration whose challenge was taken, and describes the new passkey; storing it is the caller's write.
 * @throws Refusal `passkey_refused`; `passkey_exists` when a person has this credential already (WebAuthn L3 §7.1 step 26)
 */
export async function registerPasskey(
  deps: RegisterDeps,
  input: { name: string; response: RegistrationResponseJSON; expectedChallenge: Uint8Array },
): Promise<Passkey> {
  const checked = await checkRegistration(deps.party, input).catch((error: unknown) => {
    if (!(error instanceof CeremonyError)) throw error
    deps.log.info({ reason: error.message }, 'registration refused')
    throw refusal('passkey_refused')
  })
  if ((await deps.users.findByCredential(checked.credential_id)) !== undefined)
    throw refusal('passkey_exists')
  return {
    id: drawId(deps, 'pky'),
    name: input.name,
    ...checked,
    created_at: deps.clock.now(),
    last_used_at: null,
  }
}

/** What a new passkey is, before it has a name and an id of ours. */
type CheckedRegistration = Pick<
  Passkey,
  | 'credential_id'
  | 'public_key'
  | 'algorithm'
  | 'counter'
  | 'transports'
  | 'backup_eligible'
  | 'synced'
  | 'suspended_at'
>

/** WebAuthn L3 §4: a credential id has at most 1023 bytes. */
const MAX_CREDENTIAL_ID = 1023

/**
 * Verifies a registration by WebAuthn L3 §7.1: our origin and relying party, present and verified person, an allowed key.
 * @throws CeremonyError with the reason, for the log
 */
export async function checkRegistration(
  party: RelyingParty,
  input: { response: RegistrationResponseJSON; expectedChallenge: Uint8Array },
): Promise<CheckedRegistration> {
  const { response, expectedChallenge } = input
  checkClientData(response.response.clientDataJSON, {
    type: 'webauthn.create',
    challenge: expectedChallenge,
    origin: party.origin,
  })
  checkAttestation(response)
  const info = await verifyByLibrary(party, response, expectedChallenge)
  const { credential } = info
  // The library reads the credential from the authenticator data and does not compare it with the name in the response.
  if (response.rawId !== response.id || response.id !== credential.id)
    throw new CeremonyError('id, rawId and credential id differ')
  if (fromBase64Url(credential.id).length > MAX_CREDENTIAL_ID)
    throw new CeremonyError('the credential id is too long')
  return {
    credential_id: credential.id,
    public_key: toBase64Url(credential.publicKey),
    algorithm: readPasskeyKey(credential.publicKey).algorithm,
    counter: credential.counter,
    transports: [...new Set(response.response.transports ?? [])],
    backup_eligible: info.credentialDeviceType === 'multiDevice',
    synced: info.credentialBackedUp,
    suspended_at: null,
  }
}

/**
 * We ask for no attestation, so clients answer `none`, or `packed` signed by the credential itself. Certificates are
 * refused unread: nothing here relies on them, and checking a chain would fetch addresses named inside it.
 */
function checkAttestation(response: RegistrationResponseJSON): void {
  let format: unknown
  let certificates: unknown
  try {
    const attestation = decodeAttestationObject(
      Uint8Array.from(fromBase64Url(response.response.attestationObject)),
    )
    format = attestation.get('fmt')
    certificates = attestation.get('attStmt').get('x5c')
  } catch (cause) {
    throw new CeremonyError('the attestation object cannot be read', { cause })
  }
  if (format !== 'none' && (format !== 'packed' || certificates !== undefined))
    throw new CeremonyError('the attestation format is not accepted')
}

async function verifyByLibrary(
  party: RelyingParty,
  response: RegistrationResponseJSON,
  challenge: Uint8Array,
) {
  const result = await verifyRegistrationResponse({
    response,
    expectedChallenge: toBase64Url(challenge),
    expectedOrigin: party.origin,
    expectedRPID: party.rpId,
    requireUserPresence: true,
    requireUserVerification: true,
    supportedAlgorithmIDs: [...ALLOWED_ALGORITHMS],
  }).catch((cause: unknown) => {
    throw new CeremonyError(cause instanceof Error ? cause.message : 'the response cannot be read', { cause })
  })
  if (!result.verified) throw new CeremonyError('the attestation is wrong')
  return result.registrationInfo
}

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
