import type { InboxNews, InboxSignal, InboxStore, InboxWatch } from '../flow/inbox-ports.ts'
import type { SessionStore } from '../flow/people-ports.ts'
import type { Clock, Log } from '../flow/ports.ts'
import { createLooker } from './looker.ts'

/** How often changes by other processes are looked for, and how close two looks may be, whatever happens here. */
const POLL_MS = 1_000
const GAP_MS = 100

/** A signal that is told of this process's own writes, and can be stopped; stopping wakes everybody. */
export interface StirredInboxSignal extends InboxSignal {
  /** Something was written that may concern an inbox or a session. */
  stir(): void
  stop(): void
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

/**
 * One looker per process: four queries a look for all streams together (T67), five where somebody stands in for another,
 * and none while nobody watches.
 */
export function createInboxSignal(stores: Stores, clock: Clock, log: Log): StirredInboxSignal {
  const watchers = new Set<Watcher>()
  let stopped = false
  const looker = createLooker({
    wanted: () => watchers.size > 0,
    look: () => lookFor(stores, clock, [...watchers]),
    failed: (error) => log.warn({ error }, 'looking for changes of inboxes failed'),
    pollMs: POLL_MS,
    gapMs: GAP_MS,
  })
  return {
    stir: looker.soon,
    watch(userId, sessionId): InboxWatch {
      const watcher: Watcher = { userId, sessionId, seen: undefined, news: undefined, wake: nothing }
      watchers.add(watcher)
      looker.soon()
      return {
        async next(deadline, signal) {
          const waits = watcher.news === undefined && !stopped && !signal.aborted
          if (waits) await sleep(watcher, deadline.getTime() - clock.now().getTime(), signal)
          const { news } = watcher
          watcher.news = undefined
          return news
        },
        close: () => void watchers.delete(watcher),
      }
    },
    stop() {
      stopped = true
      looker.stop()
      for (const watcher of watchers) watcher.wake()
    },
  }
}

const nothing = (): void => undefined

function sleep(watcher: Watcher, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      watcher.wake = nothing
      resolve()
    }
    const timer = setTimeout(done, Math.max(0, ms))
    signal.addEventListener('abort', done)
    watcher.wake = done
  })
}

async function lookFor({ inbox, sessions }: Stores, clock: Clock, watchers: Watcher[]): Promise<void> {
  const userIds = [...new Set(watchers.map(({ userId }) => userId))]
  const sessionIds = [...new Set(watchers.map(({ sessionId }) => sessionId))]
  const now = clock.now()
  const [standIns, live] = await Promise.all([
    inbox.standIns(userIds, now),
    sessions.liveAmong(sessionIds, now),
  ])
  const delegates = [...new Set(standIns.map(({ delegate }) => delegate))]
  const [marks, seats] = await Promise.all([
    inbox.marks([...new Set([...userIds, ...standIns.map(({ principal }) => principal)])]),
    delegates.length === 0 ? [] : inbox.seats(delegates),
  ])
  const markOf = marksByPerson(marks, standIns, seats)
  const alive = new Set(live)
  for (const watcher of watchers) {
    const mark = markOf(watcher.userId)
    if (!alive.has(watcher.sessionId)) tell(watcher, 'session_over')
    else if (mark !== watcher.seen) tell(watcher, 'changed')
    watcher.seen = mark
  }
}

function tell(watcher: Watcher, news: InboxNews): void {
  watcher.news = news
  watcher.wake()
}

/** What a person's inbox looks like: everything that names them, or somebody for whom they stand in, and where they may. */
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
