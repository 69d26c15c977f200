import type { ChangeSignal, Clock, Log, Watch } from '../flow/ports.ts'
import type { ApiKeyStore } from './api-keys.ts'
import type { RequestStore } from './requests.ts'
import { createSharedLook } from './shared-look.ts'

/** One who watches. `version`: what it waits beyond; undefined while it does not wait. `told`: something happened. */
interface Watcher {
  requestId: string
  keyId: string
  version: number | undefined
  told: boolean
  wake: () => void
}

/** How often other processes' changes are looked for. A slow store is left alone for as long as it took, within reason. */
const POLL_MS = 100
const LONGEST_PAUSE_MS = 400

/** A change signal that can be stopped; stopping wakes everybody. */
export interface StoppableChangeSignal extends ChangeSignal {
  stop(): void
}

interface Stores {
  requests: Pick<RequestStore, 'versions' | 'findMany'>
  apiKeys: Pick<ApiKeyStore, 'revokedAmong'>
}

/** One poller per process for all waiters (T67): two commands a tenth of a second, and none while nobody waits. */
export function createChangeSignal(stores: Stores, clock: Clock, log: Log): StoppableChangeSignal {
  const watchers = createWatchers()
  const look = createSharedLook(stores)
  const poller = createPoller({
    wanted: () => watchers.waiting().length > 0,
    async poll() {
      const behind = await whoIsBehind(stores, watchers.waiting())
      behind.forEach(tell)
    },
    failed: (error) => log.warn({ error }, 'looking for changes failed'),
  })
  let stopped = false

  const sleep = (watcher: Watcher, version: number, deadline: Date, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        watcher.version = undefined
        watcher.wake = nothing
        resolve()
      }
      const timer = setTimeout(done, Math.max(0, deadline.getTime() - clock.now().getTime()))
      signal.addEventListener('abort', done)
      watcher.version = version
      watcher.wake = done
      poller.start()
    })
  const watch = (requestId: string, keyId: string): Watch => {
    const watcher: Watcher = { requestId, keyId, version: undefined, told: false, wake: nothing }
    watchers.add(watcher)
    return {
      async next(version, deadline, signal) {
        if (!watcher.told && !stopped && !signal.aborted) await sleep(watcher, version, deadline, signal)
        // Before the look: what happens while it is under way must lead to another one.
        watcher.told = false
        return signal.aborted ? undefined : look(requestId, keyId)
      },
      close: () => watchers.remove(watcher),
    }
  }
  return {
    changed: (id) => watchers.of(id).forEach(tell),
    stopped: () => stopped,
    watch,
    stop() {
      stopped = true
      poller.stop()
      for (const watcher of watchers.waiting()) tell(watcher)
    },
  }
}

const nothing = (): void => undefined

function tell(watcher: Watcher): void {
  watcher.told = true
  watcher.wake()
}

/** Those whose request has moved on or whose key was revoked: two queries, however many ask. */
async function whoIsBehind({ requests, apiKeys }: Stores, waiting: readonly Watcher[]): Promise<Watcher[]> {
  const [versions, revoked] = await Promise.all([
    requests.versions([...new Set(waiting.map((watcher) => watcher.requestId))]),
    apiKeys.revokedAmong([...new Set(waiting.map((watcher) => watcher.keyId))]),
  ])
  const dead = new Set(revoked)
  return waiting.filter(
    ({ requestId, keyId, version }) =>
      version !== undefined && (versions.get(requestId) !== version || dead.has(keyId)),
  )
}

/** Everybody who watches, by the ids they watch. */
function createWatchers() {
  const all = new Set<Watcher>()
  const byId = new Map<string, Set<Watcher>>()
  return {
    of: (id: string): Watcher[] => [...(byId.get(id) ?? [])],
    waiting: (): Watcher[] => [...all].filter((watcher) => watcher.version !== undefined),
    add(watcher: Watcher): void {
      all.add(watcher)
      for (const id of [watcher.requestId, watcher.keyId]) {
        byId.set(id, (byId.get(id) ?? new Set()).add(watcher))
      }
    },
    remove(watcher: Watcher): void {
      all.delete(watcher)
      for (const id of [watcher.requestId, watcher.keyId]) {
        byId.get(id)?.delete(watcher)
        if (byId.get(id)?.size === 0) byId.delete(id)
      }
    },
  }
}

/** Polls from `start` on for as long as it is wanted. */
function createPoller(work: { wanted(): boolean; poll(): Promise<void>; failed(error: unknown): void }) {
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let failing = false
  const poll = async (): Promise<void> => {
    try {
      await work.poll()
      failing = false
    } catch (error) {
      if (!failing) work.failed(error)
      failing = true
    }
  }
  const turn = async (): Promise<void> => {
    const started = performance.now()
    if (work.wanted()) await poll()
    const took = performance.now() - started
    timer = undefined
    if (work.wanted()) schedule(Math.max(POLL_MS - took, Math.min(took, LONGEST_PAUSE_MS)))
  }
  const schedule = (ms: number): void => {
    if (!stopped && timer === undefined) timer = setTimeout(turn, ms)
  }
  return {
    start: () => schedule(POLL_MS),
    stop(): void {
      stopped = true
      clearTimeout(timer)
    },
  }
}
