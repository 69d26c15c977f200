import { refusal } from '../../domain/errors.ts'
import { type User, usablePasskeys } from '../../domain/user.ts'
import { endOneSession } from './end-sessions.ts'
import type { PeopleDeps } from './people-deps.ts'
import { type Client, type SessionGrant, startSession } from './start-session.ts'

type SignInDeps = Parameters<typeof startSession>[0] & Pick<PeopleDeps, 'users'>

/**
 * Starts a session for somebody who has proved a factor of `user`, as it was read then. A change of factors ends the sessions
 * that there are; one that is begun beside it may not be among them, so whoever begins it looks again (T23).
 * @throws Refusal `sign_in_failed` when the factors changed in between
 */
export async function signIn(
  deps: SignInDeps,
  user: User,
  client: Client,
  how: string,
): Promise<SessionGrant> {
  const grant = await startSession(deps, user, client, how)
  const now = await deps.users.find(user.id)
  if (now !== undefined && factorsIn(now) === factorsIn(user)) return grant
  await endOneSession(deps, grant, client.address, 'factor_changed')
  throw refusal('sign_in_failed')
}

function factorsIn(user: User): string {
  return [...usablePasskeys(user).map(({ id }) => id), user.totp?.sealed_seed].join(' ')
}
