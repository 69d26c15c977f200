import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server'
import { Refusal, refusal } from '../../domain/errors.ts'
import { normaliseEmail, type User } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/base64.ts'
import type { PeopleDeps } from '../deps.ts'
import { drawChallenge, takeChallenge } from './ceremony.ts'
import { backupCodeHash, verifyTotp } from './codes.ts'
import { personAudit } from './person.ts'
import { assertionOptions } from './register-passkey.ts'
import { type Client, endOneSession, type SessionGrant, startSession } from './sessions.ts'
import { verifyAssertion } from './verify-assertion.ts'

/** Builds options for signing in. They name no person, so they do not tell who exists. */
export async function startPasskeySignIn(
  deps: PeopleDeps,
): Promise<{ options: PublicKeyCredentialRequestOptionsJSON }> {
  const challenge = await drawChallenge(deps, { purpose: 'sign-in' })
  return { options: await assertionOptions(deps, { challenge }) }
}

/**
 * Signs in with a discoverable passkey, on any browser.
 * @throws Refusal `challenge_invalid`, `sign_in_failed` (an unknown passkey and a bad signature answer alike),
 * `passkey_suspended` and `user_handle_missing` to the holder of the passkey
 */
export async function signInWithPasskey(
  deps: PeopleDeps,
  response: AuthenticationResponseJSON,
  client: Client,
): Promise<SessionGrant> {
  const { expectedChallenge } = await takeChallenge(deps, response, 'sign-in')
  const user = await deps.users.findByCredential(response.id)
  if (user === undefined) throw refusal('sign_in_failed')
  const input = { user, response, expectedChallenge, discoverable: true, authenticators: undefined }
  const { passkey } = await verifyAssertion(deps, input).catch(asFailed)
  return signIn(deps, user, client, 'passkey', passkey.credential_id)
}

/**
 * Starts a session for a person who has proved a factor of `user` as read then. A session begun during a change of factors is
 * worth nothing (`factor_epoch`), so it is ended at once, and its browser told (T23).
 * @throws Refusal `sign_in_failed` when the factors changed in between
 */
async function signIn(
  deps: PeopleDeps,
  user: User,
  client: Client,
  how: string,
  provenBy?: string,
): Promise<SessionGrant> {
  const grant = await startSession(deps, user, client, how, provenBy)
  const now = await deps.users.find(user.id)
  if (now !== undefined && now.factor_epoch === user.factor_epoch) return grant
  await endOneSession(deps, grant, client.address, 'factor_changed')
  throw refusal('sign_in_failed')
}

/** Hides why a passkey or code was refused: before sign-in the answer does not say which part was wrong. */
function asFailed(error: unknown): never {
  const vague = ['passkey_refused', 'totp_refused', 'method_not_enrolled']
  if (error instanceof Refusal && vague.includes(error.code)) throw refusal('sign_in_failed')
  throw error
}

/** E-mail and code as typed, and the device cookie's token. */
interface CodeSignIn {
  email: string
  code: string
  device: string | undefined
}

const BACKUP_ALLOWANCE = { most: 10, seconds: 15 * 60 }

/**
 * Signs in with a time-based code, on a browser that was enrolled before.
 * @throws Refusal `unknown_browser`, `sign_in_failed`, `totp_locked`, `totp_disabled`
 */
export async function signInWithTotp(
  deps: PeopleDeps,
  input: CodeSignIn,
  client: Client,
): Promise<SessionGrant> {
  const user = await personOnThisBrowser(deps, input)
  await verifyTotp(deps, { user, code: input.code, address: client.address }).catch(asFailed)
  return signIn(deps, user, client, 'totp', 'totp')
}

/**
 * Signs in with one of the backup codes, on a browser that was enrolled before; the code is gone afterwards.
 * @throws Refusal `unknown_browser`, `sign_in_failed`, `totp_locked`
 */
export async function signInWithBackupCode(
  deps: PeopleDeps,
  input: CodeSignIn,
  client: Client,
): Promise<SessionGrant> {
  const user = await personOnThisBrowser(deps, input)
  const taken = await deps.attempts.take(`backup-code:${user.id}`, BACKUP_ALLOWANCE)
  if (!taken.allowed) throw refusal('totp_locked', { retry_after: taken.retryAfter, limit: taken.limit })
  const hash = backupCodeHash(deps, user.id, input.code)
  const entry = personAudit(deps, 'factor.backup_code_used', user, { address: client.address })
  if (hash === undefined || !(await deps.users.takeBackupCode(user.id, hash, entry)))
    throw refusal('sign_in_failed')
  return signIn(deps, user, client, 'backup_code')
}

/**
 * Finds the person by the browser, before all else: a stranger learns nothing about who exists, and can neither guess codes nor
 * lock a person out (T15, T27). On a known browser an unknown e-mail, another person's, and a wrong code answer alike.
 */
async function personOnThisBrowser(deps: PeopleDeps, input: CodeSignIn): Promise<User> {
  const owner =
    input.device === undefined
      ? undefined
      : await deps.users.findByDevice(deps.vault.hash('device', input.device))
  if (owner === undefined) throw refusal('unknown_browser')
  if (normaliseEmail(input.email) !== owner.email) throw refusal('sign_in_failed')
  return owner
}

/** Browsers remembered per person; the oldest is forgotten first. */
const MAX_DEVICES = 20

/**
 * Draws a token that makes this browser a known one: codes sign in only on known browsers, so that a phished code alone opens
 * nothing (T15). The token is always fresh: one that was planted before must not become known.
 */
export function drawDevice(deps: PeopleDeps): {
  token: string
  entry: User['devices'][number]
} {
  const token = toBase64Url(deps.random.bytes(32))
  return { token, entry: { hash: deps.vault.hash('device', token), created_at: deps.clock.now() } }
}

/** The person's browsers with one more. */
export function withDevice(devices: User['devices'], entry: User['devices'][number]): User['devices'] {
  return [...devices, entry].slice(-MAX_DEVICES)
}
