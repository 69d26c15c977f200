import { createHash } from 'node:crypto'
import { type AuthenticationResponseJSON, verifyAuthenticationResponse } from '@simplewebauthn/server'
import type { Authenticators } from '../../domain/authenticator.ts'
import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import type { Evidence } from '../../domain/request.ts'
import type { Passkey, User } from '../../domain/user.ts'
import { fromBase64Url, toBase64Url } from '../../signing/base64.ts'
import type { PeopleDeps, RelyingParty } from '../deps.ts'
import { countsToday } from './authenticator-models.ts'
import { CeremonyError, checkClientData } from './ceremony.ts'
import { readPasskeyKey } from './passkey-key.ts'
import { personAudit } from './person.ts'

/**
 * Verifies an assertion of this person and records the use of the passkey; the challenge must have been taken from its
 * store before (T33). State changes only after every check passed, and only a genuine assertion is told more than that it was
 * refused.
 * @throws Refusal `passkey_refused`; for a genuine assertion `passkey_suspended`, `user_handle_missing`, or
 * `authenticator_refused` when the passkey does not count there
 */
export async function verifyAssertion(deps: PeopleDeps, input: AssertionInput): Promise<CheckedAssertion> {
  try {
    const checked = await checkAssertion(deps.party, input)
    if (checked.passkey.suspended_at !== null) throw refusal('passkey_suspended')
    if (input.discoverable === true && !input.response.response.userHandle)
      throw refusal('user_handle_missing')
    if (!countsToday(deps.models, input.authenticators, checked.passkey))
      throw refusal('authenticator_refused')
    await book(deps, input, checked)
    return checked
  } catch (error) {
    if (!(error instanceof CeremonyError)) throw error
    deps.log.info({ user_id: input.user.id, reason: error.message }, 'passkey refused')
    throw refusal('passkey_refused')
  }
}

/** How long a person who heard that a counter went backwards hears no more of that passkey. */
const TOLD_FOR_MS = 24 * 3_600_000

/**
 * Records the use. A counter that does not grow may mean a copy (T30); authenticators without a counter always send 0. A passkey
 * bound to its device is then suspended. A synced one has copies anyway, whose apps count differently or not at all, so it is
 * only told of.
 */
async function book(deps: PeopleDeps, { user }: AssertionInput, checked: CheckedAssertion) {
  const { passkey, counter, synced } = checked
  const { id, name, backup_eligible: syncs, counter_fell_at: fell } = passkey
  const at = deps.clock.now()
  const use = { userId: user.id, credentialId: passkey.credential_id, counter, synced, at, syncs }
  if (counter > passkey.counter || (counter === 0 && passkey.counter === 0)) {
    if (!(await deps.users.usePasskey(use))) throw new CeremonyError('another use was ahead')
    return
  }
  const again = fell !== undefined && at.getTime() - fell.getTime() < TOLD_FOR_MS
  const entry = personAudit(deps, syncs ? 'factor.passkey_counter_fell' : 'factor.passkey_suspended', user, {
    actor: { kind: 'service' },
    detail: { passkey: id, name, stored_counter: passkey.counter, counter, ...(again && { again }) },
  })
  if (!syncs) {
    await deps.users.suspendPasskey(user.id, passkey.credential_id, at, entry)
    throw refusal('passkey_suspended')
  }
  if (!(await deps.users.usePasskey({ ...use, fell: { at: again ? fell : at, entry } })))
    throw new CeremonyError('the passkey is gone')
}

/** The facts of a genuine assertion. */
interface CheckedAssertion {
  passkey: Passkey
  evidence: Extract<Evidence, { type: 'passkey' }>
  /** The authenticator's signature counter; 0 when it keeps none. */
  counter: number
  /** Is the passkey backed up by now? */
  synced: boolean
}

interface AssertionInput {
  user: User
  response: AuthenticationResponseJSON
  expectedChallenge: Uint8Array
  /** Which passkeys count for what is confirmed; undefined: any passkey of the person. */
  authenticators: Authenticators | undefined
  /** Sign-in without a name: the user handle must then be there (WebAuthn L3 §7.2 step 6). */
  discoverable?: boolean
}

/**
 * Verifies an assertion by WebAuthn L3 §7.2 against this one person and this one origin, except for the counter, which
 * only the store can compare, and for what only the holder of the passkey may learn (`verifyAssertion`). The library leaves to us: crossOrigin, the credential's id, the user
 * handle, the constant BE flag and the replay of challenges.
 * @throws CeremonyError with the reason, for the log
 */
export async function checkAssertion(party: RelyingParty, input: AssertionInput): Promise<CheckedAssertion> {
  const { user, response, expectedChallenge } = input
  const passkey = user.passkeys.find((candidate) => candidate.credential_id === response.id)
  if (passkey === undefined) throw new CeremonyError('the passkey is not one of this person')
  if (response.rawId !== response.id) throw new CeremonyError('id and rawId differ')
  const { userHandle } = response.response
  if (userHandle && userHandle !== user.user_handle)
    throw new CeremonyError('the user handle is of another person')
  checkClientData(response.response.clientDataJSON, {
    type: 'webauthn.get',
    challenge: expectedChallenge,
    origin: party.origin,
  })
  const info = await verifyByLibrary(party, passkey, response, expectedChallenge)
  checkStrictly(passkey, response)
  if (!info.userVerified) throw new CeremonyError('the user was not verified')
  if ((info.credentialDeviceType === 'multiDevice') !== passkey.backup_eligible)
    throw new CeremonyError('the backup eligibility changed')
  return {
    passkey,
    counter: info.newCounter,
    synced: info.credentialBackedUp,
    evidence: evidenceOf(passkey, response),
  }
}

/** Passes counter 0: else the library throws on a regress before it checks the signature; a stranger could suspend a passkey. */
async function verifyByLibrary(
  party: RelyingParty,
  passkey: Passkey,
  response: AuthenticationResponseJSON,
  challenge: Uint8Array,
) {
  const result = await verifyAuthenticationResponse({
    response,
    expectedChallenge: toBase64Url(challenge),
    expectedOrigin: party.origin,
    expectedRPID: party.rpId,
    credential: {
      id: passkey.credential_id,
      publicKey: Uint8Array.from(fromBase64Url(passkey.public_key)),
      counter: 0,
    },
    // Checked by the caller, after the signature, so that the log tells a weak ceremony from a forged one.
    requireUserVerification: false,
  }).catch((cause: unknown) => {
    throw new CeremonyError(cause instanceof Error ? cause.message : 'the response cannot be read', { cause })
  })
  if (!result.verified) throw new CeremonyError('the signature is wrong')
  return result.authenticationInfo
}

/**
 * Checks that the key's algorithm is still allowed and that a strict verifier accepts the very texts that are kept: the library
 * accepts more encodings of them than others do, and a vote whose evidence others refuse could be denied later.
 */
function checkStrictly(passkey: Passkey, { response }: AuthenticationResponseJSON): void {
  const key = readPasskeyKey(fromBase64Url(passkey.public_key))
  if (key.algorithm !== passkey.algorithm) throw new CeremonyError('the algorithm is another')
  const clientDataHash = createHash('sha256').update(bytesOf(response.clientDataJSON)).digest()
  const message = Buffer.concat([bytesOf(response.authenticatorData), clientDataHash])
  if (!key.verifies(message, bytesOf(response.signature)))
    throw new CeremonyError('the signature is not strict')
}

function bytesOf(text: string): Uint8Array {
  try {
    return fromBase64Url(text)
  } catch (cause) {
    throw new CeremonyError('the response is not in the one spelling of base64url', { cause })
  }
}

function evidenceOf(
  passkey: Passkey,
  { response }: AuthenticationResponseJSON,
): CheckedAssertion['evidence'] {
  return {
    type: 'passkey',
    credential_id: passkey.credential_id,
    public_key: passkey.public_key,
    ...given({ aaguid: passkey.aaguid, attestation: passkey.attestation }),
    client_data_json: response.clientDataJSON,
    authenticator_data: response.authenticatorData,
    signature: response.signature,
  }
}
