import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server'
import { Refusal, refusal } from '../../domain/errors.ts'
import { drawChallenge, takeChallenge } from './challenge-book.ts'
import { discoverableOptions } from './passkey-options.ts'
import type { PeopleDeps } from './people-deps.ts'
import { signIn } from './sign-in.ts'
import type { Client, SessionGrant } from './start-session.ts'
import { verifyAssertion } from './verify-assertion.ts'

/** Options for signing in: nobody is named, so nothing is told about who exists. */
export async function startPasskeySignIn(
  deps: PeopleDeps,
): Promise<{ options: PublicKeyCredentialRequestOptionsJSON }> {
  const challenge = await drawChallenge(deps, { purpose: 'sign-in' })
  return { options: await discoverableOptions({ challenge, rpId: deps.party.rpId }) }
}

/**
 * Signs in with a discoverable passkey, on any browser.
 * @throws Refusal `challenge_invalid`, `sign_in_failed` (an unknown passkey and a bad signature answer alike)
 */
export async function signInWithPasskey(
  deps: PeopleDeps,
  response: AuthenticationResponseJSON,
  client: Client,
): Promise<SessionGrant> {
  const { expectedChallenge } = await takeChallenge(deps, response, 'sign-in')
  const user = await deps.users.findByCredential(response.id)
  if (user === undefined) throw refusal('sign_in_failed')
  await verifyAssertion(deps, { user, response, expectedChallenge, discoverable: true }).catch(asFailed)
  return signIn(deps, user, client, 'passkey')
}

/** A passkey or code that was refused: before sign-in the answer does not say which part was wrong. */
export function asFailed(error: unknown): never {
  const vague = ['passkey_refused', 'totp_refused', 'method_not_enrolled']
  if (error instanceof Refusal && vague.includes(error.code)) throw refusal('sign_in_failed')
  throw error
}
