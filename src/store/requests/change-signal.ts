import type { ApprovalRequest } from '../../domain/request.ts'
import type { Clock, Log } from '../../ports/ports.ts'
import type { ApiKeyStore } from '../api-keys.ts'
import { shareCommands } from '../mongo/shared-commands.ts'
import type { RequestStore } from './requests.ts'
import { createSignal, newWatcher, tell, type Watcher } from './signal.ts'

/** What a read for a waiter finds: the request, and whether the waiter's key has been revoked. */
interface News {
  request: ApprovalRequest | undefined
  revoked: boolean
}

/** One waiter's watch on a request and on the waiter's own key. */
export interface Watch {
  /**
   * Waits until the request may have another version than this, the key was revoked, that many milliseconds passed or the change
   * signal was stopped, then reads both. No change between two calls is missed. @returns undefined when `signal` aborted
   */
  next(version: number, ms: number, signal: AbortSignal): Promise<News | undefined>
  close(): void
}

/** `version`: the version that the watcher knows, undefined before its first wait. `looked`: when that was last compared. */
interface RequestWatcher extends Watcher {
  requestId: string
  keyId: string
  version?: number
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
    watch(requestId: string, keyId: string): Watch {
      const watcher: RequestWatcher = { requestId, keyId, looked: performance.now(), ...newWatcher() }
      byId.add(watcher)
      signal.add(watcher)
      return {
        async next(version, ms, gone) {
          Object.assign(watcher, { version, looked: performance.now() })
          await signal.wait(watcher, ms, gone)
          return gone.aborted ? undefined : read(watcher)
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

/** Returns the waiters due for a comparison, at most a batch, so that the next poll need not wait for thousands. */
function longestUnseen(watchers: ReadonlySet<RequestWatcher>, now: number): RequestWatcher[] {
  const due: RequestWatcher[] = []
  for (const watcher of watchers) {
    if (due.length === BATCH) break
    if (now - watcher.looked >= WHOLE_MS) due.push(watcher)
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
    for (const watcher of byId.of(id)) if (watcher.version !== version) tell(watcher)
  return moved !== undefined
}

/** Compares waiters' requests and keys, in batches: thousands of answers at once would survive the cheap garbage collection. */
async function tellWhoIsBehind(
  { requests, apiKeys }: Stores,
  watchers: readonly RequestWatcher[],
): Promise<void> {
  const waiting = watchers.filter(({ version }) => version !== undefined)
  for (let first = 0; first < waiting.length; first += BATCH) {
    const some = waiting.slice(first, first + BATCH)
    const [versions, revoked] = await Promise.all([
      requests.versions([...new Set(some.map((watcher) => watcher.requestId))]),
      apiKeys.revokedAmong([...new Set(some.map((watcher) => watcher.keyId))]),
    ])
    for (const watcher of some) {
      watcher.looked = performance.now()
      const { requestId, keyId, version } = watcher
      if (versions.get(requestId) !== version || revoked.includes(keyId)) tell(watcher)
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
      for (const id of [watcher.requestId, watcher.keyId]) {
        byId.set(id, (byId.get(id) ?? new Set()).add(watcher))
      }
    },
    remove(watcher: RequestWatcher): void {
      for (const id of [watcher.requestId, watcher.keyId]) {
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
}: Stores): (of: Pick<RequestWatcher, 'requestId' | 'keyId'>) => Promise<News> {
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
