import type { Clock, Log } from '../../ports/ports.ts'
import { damageTold } from '../mongo/failures.ts'
import type { SessionStore } from '../people/sessions.ts'
import type { InboxStore } from './inbox.ts'
import { createLooker, nothing, sleepFor } from './looker.ts'

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

interface Watcher {
  userId: string
  sessionId: string
  /** What the last look found; undefined before the first. */
  seen: string | undefined
  news: InboxNews | undefined
  wake: () => void
}

export type InboxSignal = ReturnType<typeof createInboxSignal>

/**
 * Wakes those who watch an inbox: at once for changes made by this process, by polling for changes by others. One looker per
 * process: each look takes four queries for all streams together (T67), five where one person stands in for another, and none
 * while no inbox is watched.
 */
export function createInboxSignal(stores: Stores, clock: Pick<Clock, 'now'>, log: Log) {
  const watchers = new Set<Watcher>()
  let stopped = false
  const looker = createLooker({
    wanted: () => watchers.size > 0,
    look: () => lookForEach(stores, clock, [...watchers]),
    failed: (error) => log.warn({ error }, 'looking for changes of inboxes failed'),
    pollMs: POLL_MS,
    gapMs: GAP_MS,
    longestPauseMs: POLL_MS,
  })
  return {
    /** Call it after a write that may concern an inbox or a session. */
    wake: looker.wake,
    watch(userId: string, sessionId: string): InboxWatch {
      const watcher: Watcher = { userId, sessionId, seen: undefined, news: undefined, wake: nothing }
      watchers.add(watcher)
      looker.wake()
      return {
        async next(ms, signal) {
          const waits = watcher.news === undefined && !stopped && !signal.aborted
          if (waits) await sleepFor(watcher, ms, signal)
          const { news } = watcher
          watcher.news = undefined
          return news
        },
        close: () => void watchers.delete(watcher),
      }
    },
    /** Wakes all watchers, for good. */
    stop(): void {
      stopped = true
      looker.stop()
      for (const watcher of watchers) watcher.wake()
    },
  }
}

/** Looks for all watchers together; if it meets damage, for each alone, so that the unaffected ones are told. */
async function lookForEach(stores: Stores, clock: Pick<Clock, 'now'>, watchers: Watcher[]): Promise<void> {
  try {
    await lookFor(stores, clock, watchers)
  } catch (error) {
    if (damageTold(error) === undefined) throw error
    const looks = watchers.map((watcher) => lookFor(stores, clock, [watcher]))
    const failed = (await Promise.allSettled(looks)).find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
  }
}

async function lookFor(
  { inbox, sessions }: Stores,
  clock: Pick<Clock, 'now'>,
  watchers: Watcher[],
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
  for (const watcher of watchers) if (!alive.has(watcher.sessionId)) tell(watcher, 'session_over')
  const delegates = [...new Set(standIns.map(({ delegate }) => delegate))]
  const [marks, seats] = await Promise.all([
    inbox.marks([...new Set([...userIds, ...standIns.map(({ principal }) => principal)])]),
    delegates.length === 0 ? [] : inbox.seats(delegates),
  ])
  const markOf = marksByPerson(marks, standIns, seats)
  for (const watcher of watchers) {
    const mark = markOf(watcher.userId)
    if (alive.has(watcher.sessionId) && mark !== watcher.seen) tell(watcher, 'changed')
    watcher.seen = mark
  }
}

function tell(watcher: Watcher, news: InboxNews): void {
  watcher.news = news
  watcher.wake()
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
