import { drawId } from '../../domain/identifier.ts'
import type { Session, User } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/encoding.ts'
import { endAllSessions, endOneSession } from './end-sessions.ts'
import { personAudit } from './people-audit.ts'
import type { PeopleDeps } from './people-deps.ts'
import type { SignedIn } from './read-session.ts'

/** Where a request came from. */
export interface Client {
  address: string
  user_agent: string
  /** The session the browser had before, if any: signing in ends it, so that a planted id never becomes a signed-in one (T23). */
  previous?: SignedIn
}

/** A session as its browser gets it: the cookie's token and the JWT exist nowhere else. */
export interface SessionGrant {
  session: Session
  user: User
  cookie: string
  token: string
  /** Seconds of the JWT. */
  expires_in: number
}

type SessionDeps = Pick<PeopleDeps, 'sessions' | 'vault' | 'tokens' | 'clock' | 'random'>

/** 30 days from sign-in, whatever happens in between. */
const SESSION_MS = 30 * 86_400_000

/** Signs a person in: always a new id and a new cookie (T23). `how` is for the trail. */
export async function startSession(
  deps: SessionDeps,
  user: User,
  client: Client,
  how: string,
): Promise<SessionGrant> {
  if (client.previous !== undefined) await endOneSession(deps, client.previous, client.address, 'replaced')
  const expiresAt = new Date(deps.clock.now().getTime() + SESSION_MS)
  return openSession(deps, user, client, expiresAt, how)
}

/**
 * After a factor changed: every session of the person ends and this browser gets a new one with the old time limit, so
 * that nobody who had slipped in stays (T23).
 */
export async function renewSession(
  deps: SessionDeps,
  user: User,
  old: Session,
  client: Client,
): Promise<SessionGrant> {
  await endAllSessions(deps, user, client.address, 'factor_changed')
  return openSession(deps, user, client, old.expires_at, 'renewal')
}

async function openSession(
  deps: SessionDeps,
  user: User,
  client: Client,
  expiresAt: Date,
  method: string,
): Promise<SessionGrant> {
  const now = deps.clock.now()
  const cookie = toBase64Url(deps.random.bytes(32))
  const session: Session = {
    id: drawId(deps, 'ses'),
    token_hash: deps.vault.hash('session', cookie),
    user_id: user.id,
    account_id: user.account_id,
    created_at: now,
    last_seen_at: now,
    expires_at: expiresAt,
    user_agent: client.user_agent.slice(0, 200),
    ...(user.factor_epoch === undefined ? {} : { factor_epoch: user.factor_epoch }),
  }
  const about = { address: client.address, subject: session.id, detail: { method } }
  await deps.sessions.insert(session, personAudit(deps, 'session.created', user, about))
  return { session, user, cookie, ...(await deps.tokens.issue(session, now)) }
}
