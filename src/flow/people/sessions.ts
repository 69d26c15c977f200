import type { AuditActor, AuditEntry } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { drawId, isId } from '../../domain/identifier.ts'
import type { Session, User } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/base64.ts'
import type { PeopleDeps } from '../deps.ts'
import { personAudit } from './person.ts'

/** The person who is signed in, and the session. */
export interface SignedIn {
  session: Session
  user: User
}

/** A person and the session in which they confirm something: a challenge drawn in one session counts in no other (T33). */
export interface Confirming {
  session: Pick<Session, 'id'>
  user: User
}

/** Where a request came from. */
export interface Client {
  address: string
  user_agent: string
  /** The session the browser had before, if any: signing in ends it, so that a planted id never becomes a signed-in one (T23). */
  previous?: SignedIn
}

/** A session as its browser receives it: the cookie's token and the JWT exist nowhere else. */
export interface SessionGrant {
  session: Session
  user: User
  cookie: string
  token: string
  /** Lifetime of the JWT in seconds. */
  expires_in: number
}

/** A first session, and the token that makes this browser a known one. */
export interface EnrollmentGrant extends SessionGrant {
  device: string
}

/**
 * Signs a person in, always with a new id and cookie (T23). `how` is for the trail.
 * @param provenBy the factor by which they proved presence (`Session.proven_by`); a backup code proves none
 */
export async function startSession(
  deps: PeopleDeps,
  user: User,
  client: Client,
  how: string,
  provenBy?: string,
): Promise<SessionGrant> {
  if (client.previous !== undefined) await endOneSession(deps, client.previous, client.address, 'replaced')
  const now = deps.clock.now()
  const expires_at = new Date(now.getTime() + deps.sessions.limits.mostMs)
  const proven = provenBy === undefined ? {} : { proven_at: now, proven_by: provenBy }
  return openSession(deps, user, client, { expires_at, ...proven }, how)
}

/**
 * Ends every session of the person after a factor changed, so that an intruder does not stay (T23), and gives this browser
 * a new session with the old time limit.
 */
export async function renewSession(
  deps: PeopleDeps,
  user: User,
  old: Session,
  client: Client,
): Promise<SessionGrant> {
  await endAllSessions(deps, user, { kind: 'user', id: user.id, address: client.address }, 'factor_changed')
  const { expires_at, proven_at, proven_by } = old
  return openSession(deps, user, client, { expires_at, ...given({ proven_at, proven_by }) }, 'renewal')
}

async function openSession(
  deps: PeopleDeps,
  user: User,
  client: Client,
  kept: Pick<Session, 'expires_at' | 'proven_at' | 'proven_by'>,
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
    ...kept,
    user_agent: client.user_agent.slice(0, 200),
    ...given({ factor_epoch: user.factor_epoch }),
  }
  const about = { address: client.address, subject: session.id, detail: { method } }
  await deps.sessions.insert(session, personAudit(deps, 'session.created', user, about))
  return { session, user, cookie, ...(await deps.tokens.issue(session, now)) }
}

/** The credential of a request: the cookie's token, or a bearer token. */
export type SessionCredential = { cookie: string } | { bearer: string }

/** Whether a use extends the session: a page that polls by itself must not keep a forgotten session alive (T23). */
export type SessionUse = 'counts' | 'polled'

/** Finds the live session of a credential and notes its use. A JWT counts only while its session lives (T56). */
export async function readSession(
  deps: PeopleDeps,
  credential: SessionCredential,
  use: SessionUse = 'counts',
): Promise<SignedIn | undefined> {
  const now = deps.clock.now()
  const session = await findSession(deps, credential, now)
  const user = session && (await deps.users.find(session.user_id))
  if (session === undefined || user === undefined) return undefined
  // A change of factors ends all sessions by its own write; ending each one is for the trail, and may have been cut off.
  if ((session.factor_epoch ?? 0) !== (user.factor_epoch ?? 0)) return undefined
  if (use === 'counts') await deps.sessions.touch(session, now)
  return { session, user }
}

async function findSession(
  deps: PeopleDeps,
  credential: SessionCredential,
  now: Date,
): Promise<Session | undefined> {
  if ('cookie' in credential)
    return deps.sessions.findByToken(deps.vault.hash('session', credential.cookie), now)
  const named = await deps.tokens.verify(credential.bearer, now)
  const session = named && (await deps.sessions.findLive(named.session_id, now))
  return session?.user_id === named?.user_id ? session : undefined
}

/**
 * Why a session ended, for the trail. `replaced`: its browser signed in again; `revoked`: its person ended it from the list of
 * their sessions; `reset`: the operator took everything away; `lapsed`: idle, or past its limit; `restored`: the store
 * was restored from a copy.
 */
type EndReason =
  | 'signed_out'
  | 'revoked'
  | 'replaced'
  | 'factor_changed'
  | 'enrolled_again'
  | 'reset'
  | 'lapsed'
  | 'restored'

/** Sessions read at once. */
const BATCH = 200

/** Ends one session on the word of its holder. @returns false when it was over already */
export function endOneSession(
  deps: PeopleDeps,
  { session, user }: { session: Session; user: User },
  address: string,
  reason: EndReason,
): Promise<boolean> {
  const entry = endedEntry(deps, session, { kind: 'user', id: user.id, address }, reason)
  return deps.sessions.end(session.id, entry.at, entry)
}

/** Ends every session of the person, on all browsers. @returns how many */
export function endAllSessions(
  deps: PeopleDeps,
  user: User,
  actor: AuditActor,
  reason: EndReason,
): Promise<number> {
  return deps.sessions.endAllOf(user.id, deps.clock.now(), (session) =>
    endedEntry(deps, session, actor, reason),
  )
}

/** Ends all sessions of the store, which was restored from a copy: some may have ended since. */
export async function endEverySession(deps: PeopleDeps): Promise<void> {
  for (;;) {
    const live = await deps.sessions.notEnded(BATCH)
    const entries = live.map((session) => endedEntry(deps, session, { kind: 'service' }, 'restored'))
    await Promise.all(entries.map((entry) => deps.sessions.end(entry.subject, entry.at, entry)))
    if (live.length < BATCH) return
  }
}

/**
 * Ends lapsed sessions, so that the trail has their end, and deletes the sessions whose end has reached the trail. Meant for
 * an occasional clean-up: a lapsed session is worth nothing anyway. A session that cannot be ended does not hold up the others.
 * @throws the first error of a session that could not be ended
 */
export async function deleteOverSessions(deps: PeopleDeps): Promise<{ ended: number; deleted: number }> {
  const now = deps.clock.now()
  const failures: unknown[] = []
  let ended = 0
  for (let before = -1; before < ended; ) {
    before = ended
    const lapsed = await deps.sessions.lapsed(now, BATCH)
    const results = await Promise.allSettled(
      lapsed.map((session) => {
        const entry = endedEntry(deps, session, { kind: 'service' }, 'lapsed')
        return deps.sessions.endLapsed(session.id, now, entry)
      }),
    )
    for (const result of results) {
      if (result.status === 'rejected') failures.push(result.reason)
      else if (result.value) ended += 1
    }
    if (lapsed.length < BATCH) break
  }
  const deleted = await deps.sessions.deleteEnded()
  if (failures.length > 0) throw failures[0]
  return { ended, deleted }
}

function endedEntry(deps: PeopleDeps, session: Session, actor: AuditActor, reason: EndReason): AuditEntry {
  const owner = { id: session.user_id, account_id: session.account_id }
  return personAudit(deps, 'session.ended', owner, { actor, subject: session.id, detail: { reason } })
}

/** Sessions listed at most; the latest used are shown. */
const LISTED = 100

/** Lists the person's live sessions, the latest used first; the caller's own session is always among them. */
export async function listSessions(deps: PeopleDeps, { session, user }: SignedIn): Promise<Session[]> {
  const found = await deps.sessions.liveOf(user.id, deps.clock.now(), LISTED)
  return found.some(({ id }) => id === session.id) ? found : [...found.slice(0, LISTED - 1), session]
}

/**
 * Ends one session of the person at once, for its cookie and its JWTs.
 * @throws Refusal `not_found` for malformed, unknown, foreign and ended sessions alike (T55)
 */
export async function endOwnSession(
  deps: PeopleDeps,
  { user }: SignedIn,
  id: string,
  address: string,
): Promise<void> {
  const session = isId('ses', id) ? await deps.sessions.findLive(id, deps.clock.now()) : undefined
  if (session === undefined || session.user_id !== user.id) throw refusal('not_found')
  if (!(await endOneSession(deps, { session, user }, address, 'revoked'))) throw refusal('not_found')
}

/** Ends every session of the person except the caller's own. @returns how many */
export async function endOtherSessions(deps: PeopleDeps, who: SignedIn, address: string): Promise<number> {
  const { user } = who
  let ended = 0
  for (;;) {
    // One more than a batch: the caller's own session stays among them.
    const found = await deps.sessions.liveOf(user.id, deps.clock.now(), BATCH + 1)
    const others = found.filter(({ id }) => id !== who.session.id)
    const done = await Promise.all(
      others.map((session) => endOneSession(deps, { session, user }, address, 'revoked')),
    )
    ended += done.filter(Boolean).length
    if (found.length <= BATCH) return ended
  }
}
