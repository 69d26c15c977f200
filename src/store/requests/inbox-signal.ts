import type { Clock, Log } from '../../ports/ports.ts'
import type { SessionStore } from '../people/sessions.ts'
import type { InboxStore } from './inbox.ts'
import { createSignal, newWatcher, tell, type Watcher } from './signal.ts'

/** Milliseconds between polls for changes by other processes, and the least between two looks, whatever changes here. */
const POLL_MS = 1_000
const GAP_MS = 100

/** Why a watcher is woken; `session_over`: the watching session has ended. */
type InboxNews = 'changed' | 'session_over'

/** One stream's watch on its person's inbox and on its own session. */
interface InboxWatch {
  /**
   * Resolves when the inbox may have changed since the last call; the first call, once later changes will be noticed.
   * @returns undefined after that many milliseconds, when `signal` aborted or when the inbox signal was stopped
   */
  next(ms: number, signal: AbortSignal): Promise<InboxNews | undefined>
  close(): void
}

interface Stores {
  inbox: InboxStore
  sessions: Pick<SessionStore, 'liveAmong'>
}

interface InboxWatcher extends Watcher {
  userId: string
  sessionId: string
  /** What the last look found; undefined before the first. */
  seen?: string
  sessionOver: boolean
}

export type InboxSignal = ReturnType<typeof createInboxSignal>

/**
 * Wakes those who watch an inbox: at once for changes made by this process, by polling for changes by others. Each look takes
 * four queries for all streams together (T67), five where one person stands in for another, and none while no inbox is watched.
 */
export function createInboxSignal(stores: Stores, clock: Pick<Clock, 'now'>, log: Log) {
  const signal = createSignal<InboxWatcher>({
    look: (watchers) => lookFor(stores, clock, [...watchers]),
    failed: (error) => log.warn({ error }, 'looking for changes of inboxes failed'),
    pollMs: POLL_MS,
    gapMs: GAP_MS,
    longestPauseMs: POLL_MS,
  })
  return {
    /** Call it after a write that may concern an inbox or a session. */
    wake: signal.wake,
    watch(userId: string, sessionId: string): InboxWatch {
      const watcher: InboxWatcher = { userId, sessionId, sessionOver: false, ...newWatcher() }
      signal.add(watcher)
      signal.wake()
      return {
        async next(ms, gone) {
          if (!(await signal.wait(watcher, ms, gone))) return undefined
          return watcher.sessionOver ? 'session_over' : 'changed'
        },
        close: () => signal.remove(watcher),
      }
    },
    stop: signal.stop,
  }
}

async function lookFor(
  { inbox, sessions }: Stores,
  clock: Pick<Clock, 'now'>,
  watchers: InboxWatcher[],
): Promise<void> {
  const userIds = [...new Set(watchers.map(({ userId }) => userId))]
  const sessionIds = [...new Set(watchers.map(({ sessionId }) => sessionId))]
  const now = clock.now()
  const [standIns, live] = await Promise.all([
    inbox.standIns(userIds, now),
    sessions.liveAmong(sessionIds, now),
  ])
  const alive = new Set(live)
  // Before the inboxes are read: an unreadable inbox must not keep the stream of an ended session open.
  for (const watcher of watchers) {
    watcher.sessionOver = !alive.has(watcher.sessionId)
    if (watcher.sessionOver) tell(watcher)
  }
  const delegates = [...new Set(standIns.map(({ delegate }) => delegate))]
  const [marks, seats] = await Promise.all([
    inbox.marks([...new Set([...userIds, ...standIns.map(({ principal }) => principal)])]),
    delegates.length === 0 ? [] : inbox.seats(delegates),
  ])
  const markOf = marksByPerson(marks, standIns, seats)
  for (const watcher of watchers) {
    const mark = markOf(watcher.userId)
    if (mark !== watcher.seen) tell(watcher)
    watcher.seen = mark
  }
}

/** Builds a person's mark from all groups that name them or someone they stand in for, and from their own seats in accounts. */
function marksByPerson(
  marks: Awaited<ReturnType<InboxStore['marks']>>,
  standIns: Awaited<ReturnType<InboxStore['standIns']>>,
  seats: Awaited<ReturnType<InboxStore['seats']>>,
): (userId: string) => string {
  const byApprover = new Map<string, string[]>()
  for (const { approvers, mark } of marks)
    for (const id of approvers) byApprover.set(id, [...(byApprover.get(id) ?? []), mark])
  return (userId) => {
    const principals = standIns
      .filter(({ delegate }) => delegate === userId)
      .map(({ principal }) => principal)
    const found = [userId, ...principals].flatMap((id) => [id, ...(byApprover.get(id) ?? []).sort()])
    const mine = seats.filter(({ user_id }) => user_id === userId)
    return [...found, ...mine.map(({ mark }) => mark)].join(' ')
  }
}
