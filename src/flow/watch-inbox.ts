import { refusal } from '../domain/errors.ts'
import type { FlowDeps } from './deps.ts'
import type { Patience } from './next-state.ts'
import type { SignedIn } from './people/sessions.ts'

/**
 * Yields whenever the person's inbox may have changed, the first time at once, until patience ends. Watching is no use of the
 * session: it does not keep it alive (T23).
 * @throws Refusal `not_signed_in` soon after the session has ended
 */
export async function* watchInbox(
  deps: Pick<FlowDeps, 'inbox' | 'changes' | 'clock'>,
  { session, user }: SignedIn,
  { until, signal }: Patience,
): AsyncGenerator<'changed', void, undefined> {
  const watch = deps.inbox.watch(user.id, session.id)
  try {
    while (!signal.aborted && !deps.changes.stopped() && deps.clock.now() < until) {
      const news = await watch.next(until, signal)
      if (news === 'session_over') throw refusal('not_signed_in')
      if (news === 'changed') yield news
    }
  } finally {
    watch.close()
  }
}
