import type { Session, User } from '../../domain/user.ts'
import { type EndDeps, endOneSession } from './end-sessions.ts'
import type { PeopleDeps } from './people-deps.ts'

/** Who is signed in. */
export interface SignedIn {
  session: Session
  user: User
}

/** What a request shows: the cookie's token, or a bearer token. */
export type SessionCredential = { cookie: string } | { bearer: string }

/** A page that looks again by itself is no sign of a person: it must not keep a forgotten session alive (T23). */
export type SessionUse = 'counts' | 'polled'

type ReadSessionDeps = Pick<PeopleDeps, 'sessions' | 'users' | 'tokens' | 'vault' | 'clock'>

/** Finds the live session of a credential and notes its use. A JWT counts only while its session lives (T56). */
export async function readSession(
  deps: ReadSessionDeps,
  credential: SessionCredential,
  use: SessionUse = 'counts',
): Promise<SignedIn | undefined> {
  const now = deps.clock.now()
  const session = await findSession(deps, credential, now)
  const user = session && (await deps.users.find(session.user_id))
  if (session === undefined || user === undefined) return undefined
  // A change of factors ends all sessions by its own write; ending each is for the trail, and may have been cut off.
  if ((session.factor_epoch ?? 0) !== (user.factor_epoch ?? 0)) return undefined
  if (use === 'counts') await deps.sessions.touch(session.id, now)
  return { session, user }
}

async function findSession(
  deps: ReadSessionDeps,
  credential: SessionCredential,
  now: Date,
): Promise<Session | undefined> {
  if ('cookie' in credential)
    return deps.sessions.findByToken(deps.vault.hash('session', credential.cookie), now)
  const named = await deps.tokens.verify(credential.bearer, now)
  const session = named && (await deps.sessions.findLive(named.session_id, now))
  return session?.user_id === named?.user_id ? session : undefined
}

/** A new JWT for a session that lives. */
export function refreshSession(
  deps: Pick<PeopleDeps, 'tokens' | 'clock'>,
  { session }: SignedIn,
): Promise<{ token: string; expires_in: number }> {
  return deps.tokens.issue(session, deps.clock.now())
}

/** Signs out: the session ends on the server, so that its cookie and its JWTs are worth nothing at once. */
export function endSession(deps: EndDeps, who: SignedIn, address: string): Promise<boolean> {
  return endOneSession(deps, who, address, 'signed_out')
}
