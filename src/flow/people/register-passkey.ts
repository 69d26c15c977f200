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
import { type AuthenticatorFacts, type Authenticators, permits } from '../../domain/authenticator.ts'
import { refusal } from '../../domain/errors.ts'
import { drawId } from '../../domain/identifier.ts'
import { isTransport, type Passkey, type User, usablePasskeys } from '../../domain/user.ts'
import { fromBase64Url, toBase64Url } from '../../signing/base64.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { sha256Hex } from '../../signing/digest.ts'
import { enrolledPasskey } from '../../signing/log/leaves.ts'
import type { AuthenticatorModels, PeopleDeps, RelyingParty } from '../deps.ts'
import { CeremonyError, CHALLENGE_MS, checkClientData } from './ceremony.ts'
import { ALLOWED_ALGORITHMS, readPasskeyKey } from './passkey-key.ts'

/**
 * Verifies a registration whose challenge was taken, and returns the new passkey, which the caller stores.
 * @param input `authenticators`: the rule of the accounts that the passkey is for
 * @throws Refusal `passkey_refused`; `authenticator_refused` when that rule does not count it; `passkey_exists` when a person has
 * this credential already (WebAuthn L3 §7.1 step 26)
 */
export async function registerPasskey(
  deps: PeopleDeps,
  input: {
    name: string
    response: RegistrationResponseJSON
    expectedChallenge: Uint8Array
    authenticators: Authenticators | undefined
  },
): Promise<Passkey> {
  const checked = await checkRegistration(deps, input).catch((error: unknown) => {
    if (!(error instanceof CeremonyError)) throw error
    deps.log.info({ reason: error.message }, 'registration refused')
    throw refusal('passkey_refused')
  })
  if (!permits(input.authenticators, checked)) throw refusal('authenticator_refused')
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

/** A verified new passkey, before it has a name and an id of ours. */
type CheckedRegistration = Omit<Passkey, 'id' | 'name' | 'created_at' | 'last_used_at'>

/** WebAuthn L3 §4: a credential id has at most 1023 bytes. */
const MAX_CREDENTIAL_ID = 1023

/**
 * Verifies a registration by WebAuthn L3 §7.1: our origin and relying party, present and verified person, an allowed key.
 * @throws CeremonyError with the reason, for the log
 */
export async function checkRegistration(
  { party, models }: Pick<PeopleDeps, 'party' | 'models'>,
  input: { response: RegistrationResponseJSON; expectedChallenge: Uint8Array },
): Promise<CheckedRegistration> {
  const { response, expectedChallenge } = input
  checkClientData(response.response.clientDataJSON, {
    type: 'webauthn.create',
    challenge: expectedChallenge,
    origin: party.origin,
  })
  const { format, certificates } = readAttestation(response, models)
  const info = await verifyByLibrary(party, response, expectedChallenge)
  const { credential } = info
  // The library reads the credential id from the authenticator data and does not compare it with the ids in the response.
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
    aaguid: info.aaguid.toLowerCase(),
    attestation: format,
    ...(certificates !== undefined && vouched(models, info.aaguid.toLowerCase(), certificates)
      ? { attested: true }
      : {}),
  }
}

/** Checks that the leaf leads to a root of the model. The library, given no roots, checks only what the leaf signed. */
function vouched(models: AuthenticatorModels, aaguid: string, certificates: readonly Uint8Array[]): boolean {
  try {
    return models.vouchFor(aaguid, certificates)
  } catch (cause) {
    throw new CeremonyError('the certificates cannot be read', { cause })
  }
}

/**
 * Formats for which the library fetches nothing. For the others it fetches from addresses that certificates name, for
 * `android-key` even before it knows whose certificates they are.
 */
const CERTIFIED_FORMATS: readonly unknown[] = ['packed', 'tpm']

/**
 * Reads the attestation. Certificates that cannot be judged are refused unread. Clients that were asked for no attestation answer
 * `none`, or `packed` signed by the credential itself.
 */
function readAttestation(
  response: RegistrationResponseJSON,
  { known }: AuthenticatorModels,
): { format: string; certificates?: Uint8Array[] } {
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
  if (certificates === undefined && (format === 'none' || format === 'packed')) return { format }
  if (!known || !CERTIFIED_FORMATS.includes(format) || !isChain(certificates))
    throw new CeremonyError('the attestation format is not accepted')
  return { format: String(format), certificates }
}

function isChain(certificates: unknown): certificates is Uint8Array[] {
  return Array.isArray(certificates) && certificates.every((one) => one instanceof Uint8Array)
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

/** Returns what the trail keeps of a passkey: the model that it claims, and whether that is proven. */
export function makeOf({ aaguid, attested }: AuthenticatorFacts): { aaguid?: string; attested?: true } {
  return { ...(aaguid === undefined ? {} : { aaguid }), ...(attested ? { attested } : {}) }
}

/** Returns the detail by which the log names a new passkey of that person. */
export function subjectOfPasskey({ approver }: User, passkey: Passkey): { subject_sha256: string } {
  return { subject_sha256: sha256Hex(canonicalize(enrolledPasskey(approver, passkey))) }
}

/**
 * Builds options for an assertion by this person: exactly the passkeys that count there, user verification required. Without a
 * person they are for signing in without a name: the authenticator offers the passkeys it has.
 */
export function assertionOptions(
  { party }: PeopleDeps,
  input: { user?: User; challenge: Uint8Array; authenticators?: Authenticators | undefined },
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const passkeys = input.user === undefined ? [] : usablePasskeys(input.user, input.authenticators)
  return generateAuthenticationOptions({
    rpID: party.rpId,
    // Bytes, not text: the library would encode a string challenge a second time.
    challenge: Uint8Array.from(input.challenge),
    allowCredentials: passkeys.map(describe),
    timeout: CHALLENGE_MS,
    userVerification: 'required',
  })
}

/** Builds options for a new passkey. Attestation reveals the make of the device, so it is asked for only where needed. */
export function registrationOptions(input: {
  party: RelyingParty
  challenge: Uint8Array
  person: { email: string; name: string; user_handle: string }
  existing: Passkey[]
  attested: boolean
}): Promise<PublicKeyCredentialCreationOptionsJSON> {
  return generateRegistrationOptions({
    rpName: input.party.name,
    rpID: input.party.rpId,
    userID: Uint8Array.from(fromBase64Url(input.person.user_handle)),
    userName: input.person.email,
    userDisplayName: input.person.name,
    challenge: Uint8Array.from(input.challenge),
    timeout: CHALLENGE_MS,
    attestationType: input.attested ? 'direct' : 'none',
    excludeCredentials: input.existing.map(describe),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: [...ALLOWED_ALGORITHMS],
  })
}

function describe(passkey: Passkey): { id: string; transports: AuthenticatorTransport[] } {
  return { id: passkey.credential_id, transports: passkey.transports.filter(isTransport) }
}
