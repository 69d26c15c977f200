import { refusal } from '../../domain/errors.ts'
import type { User } from '../../domain/user.ts'
import { endOneSession } from './end-sessions.ts'
import type { PeopleDeps } from './people-deps.ts'
import { type Client, type SessionGrant, startSession } from './start-session.ts'

type SignInDeps = Parameters<typeof startSession>[0] & Pick<PeopleDeps, 'users'>

/**
 * Starts a session for somebody who has proved a factor of `user`, as it was read then. One that is begun beside a change of
 * factors is worth nothing (`factor_epoch`); so it is ended at once, and its browser told (T23).
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
  if (now !== undefined && now.factor_epoch === user.factor_epoch) return grant
  await endOneSession(deps, grant, client.address, 'factor_changed')
  throw refusal('sign_in_failed')
}
