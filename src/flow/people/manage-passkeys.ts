import type { PublicKeyCredentialCreationOptionsJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { refusal } from '../../domain/errors.ts'
import { isOutOfUse, nextFactorEpoch, type Passkey } from '../../domain/user.ts'
import type { PeopleDeps } from '../deps.ts'
import { enrollingRule } from './accounts.ts'
import { drawChallenge, takeChallenge } from './ceremony.ts'
import { changeOwn, personAudit } from './person.ts'
import { makeOf, registerPasskey, registrationOptions, subjectOfPasskey } from './register-passkey.ts'
import type { SignedIn } from './sessions.ts'
import { type Client, renewSession, type SessionGrant } from './sessions.ts'
import { checkOperation, type Proof, proveFactor } from './step-up.ts'

/**
 * Starts adding a passkey, after a fresh proof by a factor the person has (T34).
 * @param attested the person wants the make proven, as a policy may later require it
 * @throws Refusal those of `proveFactor`
 */
export async function startAddingPasskey(
  deps: PeopleDeps,
  who: SignedIn,
  { proof, attested }: { proof: Proof | undefined; attested: boolean },
  address: string,
): Promise<{ options: PublicKeyCredentialCreationOptionsJSON }> {
  const subject = await proveFactor(deps, who, { operation: 'passkey.add' }, proof, address)
  const { user, session } = who
  const binding = { purpose: 'passkey.add', user_id: user.id, session_id: session.id, subject } as const
  const challenge = await drawChallenge(deps, binding)
  const wanted = (attested && deps.models.known) || (await enrollingRule(deps, user)) !== undefined
  const options = { party: deps.party, challenge, person: user, existing: user.passkeys }
  return { options: await registrationOptions({ ...options, attested: wanted }) }
}

/**
 * Adds the passkey made with those options. The challenge stands for the proof: only this person in this session has it. It
 * stands no more once the passkey that proved it is suspended: a copy found out must not leave a factor of its own (T30).
 * @throws Refusal `challenge_invalid`, `passkey_refused`, `authenticator_refused`, `passkey_exists`, `passkey_limit`
 */
export async function addPasskey(
  deps: PeopleDeps,
  who: SignedIn,
  input: { name: string; credential: RegistrationResponseJSON },
  client: Client,
): Promise<{ passkey: Passkey; grant: SessionGrant }> {
  const belongs = { user_id: who.user.id, session_id: who.session.id }
  const { expectedChallenge, challenge } = await takeChallenge(deps, input.credential, 'passkey.add', belongs)
  const response = input.credential
  const authenticators = await enrollingRule(deps, who.user)
  const passkey = await registerPasskey(deps, {
    name: input.name,
    response,
    expectedChallenge,
    authenticators,
  })
  const changed = await changeOwn(deps, who, (user) => {
    checkOperation(user, { operation: 'passkey.add' })
    // One that was removed has ended the session.
    if (isOutOfUse(user, challenge.subject)) throw refusal('challenge_invalid')
    const audit = personAudit(deps, 'factor.passkey_added', user, {
      address: client.address,
      detail: { passkey: passkey.id, ...makeOf(passkey), ...subjectOfPasskey(user, passkey) },
    })
    return { fields: { passkeys: [...user.passkeys, passkey], ...nextFactorEpoch(user) }, audit: [audit] }
  })
  deps.log.info({ user_id: changed.id, passkey_id: passkey.id }, 'passkey added')
  return { passkey, grant: await renewSession(deps, changed, who.session, client) }
}

/**
 * Removes a passkey, after a fresh proof by another factor (T34).
 * @throws Refusal `not_found`, `last_factor`, and those of `proveFactor`
 */
export async function removePasskey(
  deps: PeopleDeps,
  who: SignedIn,
  input: { id: string; proof: Proof | undefined },
  client: Client,
): Promise<SessionGrant> {
  const stepUp = { operation: 'passkey.remove', target: input.id } as const
  await proveFactor(deps, who, stepUp, input.proof, client.address)
  const changed = await changeOwn(deps, who, (user) => {
    // Checked again on fresh data: two removals at once must not take the last two passkeys.
    checkOperation(user, stepUp)
    const audit = personAudit(deps, 'factor.passkey_removed', user, {
      address: client.address,
      detail: { passkey: input.id },
    })
    const passkeys = user.passkeys.filter((passkey) => passkey.id !== input.id)
    return { fields: { passkeys, ...nextFactorEpoch(user) }, audit: [audit] }
  })
  deps.log.info({ user_id: changed.id, passkey_id: input.id }, 'passkey removed')
  return renewSession(deps, changed, who.session, client)
}
