import { refusal } from '../../domain/errors.ts'
import { normaliseEmail, type User } from '../../domain/user.ts'
import { backupCodeHash } from './backup-codes.ts'
import { personAudit } from './people-audit.ts'
import type { PeopleDeps } from './people-deps.ts'
import { signIn } from './sign-in.ts'
import { asFailed } from './sign-in-with-passkey.ts'
import type { Client, SessionGrant } from './start-session.ts'
import { secondsUntil, verifyTotp } from './verify-totp.ts'

/** E-mail and code as typed, and the device cookie's token. */
export interface CodeSignIn {
  email: string
  code: string
  device: string | undefined
}

const BACKUP_LIMIT = 10
const BACKUP_WINDOW_SECONDS = 15 * 60

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
  return signIn(deps, user, client, 'totp')
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
  const { count, ends } = await deps.attempts.take(`backup-code:${user.id}`, BACKUP_WINDOW_SECONDS)
  if (count > BACKUP_LIMIT)
    throw refusal('totp_locked', { retry_after: secondsUntil(ends, deps.clock.now()) })
  const hash = backupCodeHash(deps, user.id, input.code)
  const entry = personAudit(deps, 'factor.backup_code_used', user, { address: client.address })
  if (hash === undefined || !(await deps.users.takeBackupCode(user.id, hash, entry)))
    throw refusal('sign_in_failed')
  return signIn(deps, user, client, 'backup_code')
}

/**
 * Whose browser it is decides first: a stranger learns nothing about who exists, and can neither guess nor lock anybody
 * out (T15, T27). On a known browser an unknown e-mail, somebody else's, and a wrong code answer alike.
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
