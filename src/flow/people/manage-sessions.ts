import { refusal } from '../../domain/errors.ts'
import { isId } from '../../domain/identifier.ts'
import type { Session } from '../../domain/user.ts'
import { type EndDeps, endOneSession } from './end-sessions.ts'
import type { SignedIn } from './read-session.ts'

/** Sessions listed at most; of more the latest used are shown. */
const LISTED = 100

/** Sessions looked for in one go. */
const BATCH = 200

/** The person's live sessions, the latest used first; the one that asks is always among them. */
export async function listSessions(deps: EndDeps, { session, user }: SignedIn): Promise<Session[]> {
  const found = await deps.sessions.liveOf(user.id, deps.clock.now(), LISTED)
  return found.some(({ id }) => id === session.id) ? found : [...found.slice(0, LISTED - 1), session]
}

/**
 * Ends one session of the person at once, for its cookie and its JWTs.
 * @throws Refusal `not_found` for malformed, unknown, foreign and ended ones alike (T55)
 */
export async function endOwnSession(
  deps: EndDeps,
  { user }: SignedIn,
  id: string,
  address: string,
): Promise<void> {
  const session = isId('ses', id) ? await deps.sessions.findLive(id, deps.clock.now()) : undefined
  if (session === undefined || session.user_id !== user.id) throw refusal('not_found')
  if (!(await endOneSession(deps, { session, user }, address, 'revoked'))) throw refusal('not_found')
}

/** Ends every session of the person but the one that asks. @returns how many */
export async function endOtherSessions(deps: EndDeps, who: SignedIn, address: string): Promise<number> {
  const { user } = who
  let ended = 0
  for (;;) {
    // One more than a batch: the one that asks stays among them.
    const found = await deps.sessions.liveOf(user.id, deps.clock.now(), BATCH + 1)
    const others = found.filter(({ id }) => id !== who.session.id)
    const done = await Promise.all(
      others.map((session) => endOneSession(deps, { session, user }, address, 'revoked')),
    )
    ended += done.filter(Boolean).length
    if (found.length <= BATCH) return ended
  }
}
