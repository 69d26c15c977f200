import type { AuditActor, AuditEntry } from '../../domain/audit.ts'
import type { Session, User } from '../../domain/user.ts'
import { personAudit } from './people-audit.ts'
import type { PeopleDeps } from './people-deps.ts'

export type EndDeps = Pick<PeopleDeps, 'sessions' | 'clock' | 'random'>

/**
 * Why a session ended, for the trail. `replaced`: its browser signed in anew; `revoked`: its person ended it from the list of
 * their sessions; `lapsed`: idle, or past its limit.
 */
type EndReason = 'signed_out' | 'revoked' | 'replaced' | 'factor_changed' | 'enrolled_anew' | 'lapsed'

/** Lapsed sessions looked at in one go. */
const BATCH = 200

/** Ends one session on the word of whoever holds it. @returns false when it was over already */
export function endOneSession(
  deps: EndDeps,
  { session, user }: { session: Session; user: User },
  address: string,
  reason: EndReason,
): Promise<boolean> {
  const entry = endedEntry(deps, session, { kind: 'user', id: user.id, address }, reason)
  return deps.sessions.end(session.id, entry.at, entry)
}

/** Ends every session of the person, on all browsers. */
export async function endAllSessions(
  deps: EndDeps,
  user: User,
  address: string,
  reason: EndReason,
): Promise<void> {
  const actor = { kind: 'user', id: user.id, address } as const
  await deps.sessions.endAllOf(user.id, deps.clock.now(), (session) =>
    endedEntry(deps, session, actor, reason),
  )
}

/**
 * Ends sessions that lapsed, so that the trail tells of their end, and deletes those whose end it has. For a clean-up now
 * and then; a lapsed session is worth nothing before it, too.
 */
export async function deleteOverSessions(deps: EndDeps): Promise<{ ended: number; deleted: number }> {
  const now = deps.clock.now()
  let ended = 0
  for (;;) {
    const lapsed = await deps.sessions.lapsed(now, BATCH)
    const done = await Promise.all(
      lapsed.map((session) => {
        const entry = endedEntry(deps, session, { kind: 'service' }, 'lapsed')
        return deps.sessions.endLapsed(session.id, now, entry)
      }),
    )
    ended += done.filter(Boolean).length
    if (lapsed.length < BATCH) break
  }
  return { ended, deleted: await deps.sessions.deleteEnded() }
}

function endedEntry(deps: EndDeps, session: Session, actor: AuditActor, reason: EndReason): AuditEntry {
  const { user_id: id, account_id } = session
  const owner = { id, ...(account_id === undefined ? {} : { account_id }) }
  return personAudit(deps, 'session.ended', owner, { actor, subject: session.id, detail: { reason } })
}
