import type { ApprovalRequest } from '../../domain/request.ts'
import type { Clock, Log } from '../../ports/ports.ts'
import type { ApiKeyStore } from '../api-keys.ts'
import { shareCommands } from '../mongo/shared-commands.ts'
import type { RequestStore } from './requests.ts'
import { createSignal, newWatcher, tell, type Watcher } from './signal.ts'

/** What a read for a waiter finds: the requests in the order they are watched, and whether the waiter's key has been revoked. */
interface News {
  requests: (ApprovalRequest | undefined)[]
  revoked: boolean
}

/** One waiter's watch on some requests and on the waiter's own key. */
export interface Watch {
  /**
   * Waits until one of the requests may have another version than these, the key was revoked, that many milliseconds passed or the
   * change signal was stopped, then reads them all. No change between two calls is missed. @returns undefined when `signal` aborted
   */
  next(versions: readonly number[], ms: number, signal: AbortSignal): Promise<News | undefined>
  close(): void
}

/** `versions`: those that the watcher knows, undefined before its first wait. `looked`: when they were last compared. */
interface RequestWatcher extends Watcher {
  requestIds: readonly string[]
  keyId: string
  versions?: readonly number[]
  looked: number
}

/** Milliseconds between polls for other processes' changes, and the longest pause that a slow store gets. */
const POLL_MS = 100
const LONGEST_PAUSE_MS = 400

/** How long after its own timestamp a write may become visible, and still be found by the next poll for changes. */
const LATE_MS = 1_000

/** The same for the poll that reaches back further, once a second: a store may take its time with a write. */
const VERY_LATE_MS = 10_000
const FAR_LOOK_MS = 1_000

/** How often every waiter's request and key are compared, to find what was deleted, came later still, or has no timestamp. */
const WHOLE_MS = 10_000

/** Requests read in one command: a compromise between few commands and small ones. */
const BATCH = 200

interface Stores {
  requests: Pick<RequestStore, 'versions' | 'movedBetween' | 'findMany'>
  apiKeys: Pick<ApiKeyStore, 'revokedAmong' | 'revokedBetween'>
}

export type ChangeSignal = ReturnType<typeof createChangeSignal>

/**
 * Wakes those who wait for a request: at once for changes made by this process, by polling for changes by others. One poller
 * per process serves all waiters (T67): two commands every tenth of a second to find changes, two for each 200 waiters every
 * ten seconds, and none while nobody watches.
 */
export function createChangeSignal(stores: Stores, clock: Pick<Clock, 'now'>, log: Log) {
  const byId = createIndex()
  const read = createSharedRead(stores)
  const signal = createSignal<RequestWatcher>({
    look: createLook(stores, byId, clock),
    failed: (error) => log.warn({ error }, 'looking for changes failed'),
    pollMs: POLL_MS,
    gapMs: 0,
    longestPauseMs: LONGEST_PAUSE_MS,
  })
  return {
    /** Tells waiters in this process that a request changed or a key was revoked. */
    changed: (id: string): void => byId.of(id).forEach(tell),
    stopped: signal.stopped,
    /** Begins a watch: open it before the first read of the request, and close it afterwards. */
    watch(requestIds: readonly string[], keyId: string): Watch {
      const watcher: RequestWatcher = { requestIds, keyId, looked: performance.now(), ...newWatcher() }
      byId.add(watcher)
      signal.add(watcher)
      return {
        async next(versions, ms, gone) {
          Object.assign(watcher, { versions, looked: performance.now() })
          await signal.wait(watcher, ms, gone)
          if (gone.aborted) return undefined
          const news = await Promise.all(requestIds.map((requestId) => read({ requestId, keyId })))
          return {
            requests: news.map(({ request }) => request),
            revoked: news.some(({ revoked }) => revoked),
          }
        },
        close() {
          byId.remove(watcher)
          signal.remove(watcher)
        },
      }
    },
    stop: signal.stop,
  }
}

/**
 * Tells the waiters whose request changed or whose key was revoked. Two queries read what changed since the last poll; then
 * waiters not compared for long are compared one by one, or all of them when too much has changed.
 */
function createLook(stores: Stores, byId: Index, clock: Pick<Clock, 'now'>) {
  let last = Number.NEGATIVE_INFINITY
  // By the monotonic clock: `clock` follows the database's, which may also go backwards.
  let lastBegun = Number.NEGATIVE_INFINITY
  let lastFar = Number.NEGATIVE_INFINITY
  return async (watchers: ReadonlySet<RequestWatcher>): Promise<void> => {
    const [now, begun] = [clock.now().getTime(), performance.now()]
    const rested = begun - lastBegun > WHOLE_MS
    const isFar = begun - lastFar >= FAR_LOOK_MS
    const times = { from: last - (isFar ? VERY_LATE_MS : LATE_MS), to: now + LATE_MS }
    const isTold = !rested && (await tellNews(stores, byId, times))
    await tellWhoIsBehind(stores, isTold ? longestUnseen(watchers, begun) : [...watchers])
    last = now
    lastBegun = begun
    if (isFar) lastFar = begun
  }
}

/** Returns the waiters due for a comparison, about a batch of requests, so that the next poll need not wait for thousands. */
function longestUnseen(watchers: ReadonlySet<RequestWatcher>, now: number): RequestWatcher[] {
  const due: RequestWatcher[] = []
  let room = BATCH
  for (const watcher of watchers) {
    if (room <= 0) break
    if (now - watcher.looked < WHOLE_MS) continue
    due.push(watcher)
    room -= watcher.requestIds.length
  }
  return due
}

/** Tells watchers of changes, also those not waiting now: their next wait reads at once. @returns false if too much has moved */
async function tellNews(
  { requests, apiKeys }: Stores,
  byId: Index,
  { from, to }: { from: number; to: number },
): Promise<boolean> {
  // With no end, a write made while the database's clock was ahead would stay news until time caught up with it.
  const [since, until] = [new Date(from), new Date(to)]
  const [moved, revoked] = await Promise.all([
    requests.movedBetween(since, until),
    apiKeys.revokedBetween(since, until),
  ])
  for (const id of revoked) byId.of(id).forEach(tell)
  for (const { id, version } of moved ?? [])
    for (const watcher of byId.of(id)) if (knownVersion(watcher, id) !== version) tell(watcher)
  return moved !== undefined
}

function knownVersion({ requestIds, versions }: RequestWatcher, id: string): number | undefined {
  return versions?.[requestIds.indexOf(id)]
}

/** Compares waiters' requests and keys, in batches: thousands of answers at once would survive the cheap garbage collection. */
async function tellWhoIsBehind(
  { requests, apiKeys }: Stores,
  watchers: readonly RequestWatcher[],
): Promise<void> {
  const waiting = watchers.filter(({ versions }) => versions !== undefined)
  const watched = waiting.flatMap((watcher) => watcher.requestIds.map((id) => ({ watcher, id })))
  for (let first = 0; first < watched.length; first += BATCH) {
    const some = watched.slice(first, first + BATCH)
    const [versions, revoked] = await Promise.all([
      requests.versions([...new Set(some.map(({ id }) => id))]),
      apiKeys.revokedAmong([...new Set(some.map(({ watcher }) => watcher.keyId))]),
    ])
    for (const { watcher, id } of some) {
      watcher.looked = performance.now()
      if (versions.get(id) !== knownVersion(watcher, id) || revoked.includes(watcher.keyId)) tell(watcher)
    }
  }
}

type Index = ReturnType<typeof createIndex>

/** All watchers by the ids they watch. */
function createIndex() {
  const byId = new Map<string, Set<RequestWatcher>>()
  return {
    of: (id: string): RequestWatcher[] => [...(byId.get(id) ?? [])],
    add(watcher: RequestWatcher): void {
      for (const id of [...watcher.requestIds, watcher.keyId]) {
        byId.set(id, (byId.get(id) ?? new Set()).add(watcher))
      }
    },
    remove(watcher: RequestWatcher): void {
      for (const id of [...watcher.requestIds, watcher.keyId]) {
        byId.get(id)?.delete(watcher)
        if (byId.get(id)?.size === 0) byId.delete(id)
      }
    },
  }
}

/**
 * Reads for many waiters together: a thousand woken by one poll cost a handful of commands, not two thousand. A waiter's key
 * is read at the same moment as its request (T54).
 */
function createSharedRead({
  requests,
  apiKeys,
}: Stores): (of: {
  requestId: string
  keyId: string
}) => Promise<{ request: ApprovalRequest | undefined; revoked: boolean }> {
  return shareCommands(
    async (batch) => {
      const [found, revoked] = await Promise.all([
        requests.findMany([...new Set(batch.map((one) => one.requestId))]),
        apiKeys.revokedAmong([...new Set(batch.map((one) => one.keyId))]),
      ])
      const byId = new Map(found.map((request) => [request.id, request]))
      const dead = new Set(revoked)
      return batch.map(({ requestId, keyId }) => ({
        request: byId.get(requestId),
        revoked: dead.has(keyId),
      }))
    },
    { most: BATCH },
  )
}
