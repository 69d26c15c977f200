import type { Clock, Log } from '../../ports/ports.ts'
import type { ApiKeyStore } from '../api-keys.ts'
import type { RequestStore, Stamp } from './requests.ts'
import { createSignal, newWatcher, tell, type Watcher } from './signal.ts'

/** News for who watches a key. `gap`: changes may have been missed; `revoked`: the key was. */
interface KeyNews {
  /** Ids of requests that are new or have changed. */
  changed: string[]
  gap: boolean
  revoked: boolean
}

/** One stream's watch on all requests of a key. */
export interface KeyWatch {
  /**
   * Waits for news, that many milliseconds, or until the signal is stopped. No change between two calls is missed without a `gap`.
   * @returns undefined when `signal` aborted
   */
  next(ms: number, signal: AbortSignal): Promise<KeyNews | undefined>
  close(): void
}

/** `seen`: the versions told of, with the look that saw them; `looked`: when a look last covered the watcher. */
interface KeyWatcher extends Watcher {
  keyId: string
  news: KeyNews
  changed: Set<string>
  seen: Map<string, { version: number; at: number }>
  looked: number
}

/** Milliseconds between looks, and the longest pause that a slow store gets. */
const POLL_MS = 200
const LONGEST_PAUSE_MS = 800

/** How long after its own timestamp a write may become visible and still be found, in most looks and in one a second. */
const LATE_MS = 1_000
const VERY_LATE_MS = 10_000
const FAR_LOOK_MS = 1_000

/** From this pause between two looks on, changes may have been missed. */
const GAP_MS = VERY_LATE_MS - LATE_MS

interface Stores {
  requests: Pick<RequestStore, 'movedBetween' | 'createdBetween'>
  apiKeys: Pick<ApiKeyStore, 'revokedAmong'>
}

export type KeySignal = ReturnType<typeof createKeySignal>

/**
 * Wakes those who watch all requests of a key, by polling, whichever process wrote. Each look takes three queries for all
 * streams together (T67), and none is taken while no key is watched.
 */
export function createKeySignal(stores: Stores, clock: Pick<Clock, 'now'>, log: Log) {
  const signal = createSignal<KeyWatcher>({
    look: createLook(stores, clock),
    failed: (error) => log.warn({ error }, 'looking for changes of keys’ requests failed'),
    pollMs: POLL_MS,
    gapMs: 0,
    longestPauseMs: LONGEST_PAUSE_MS,
  })
  return {
    /** Begins a watch: open it before the requests are first read, and close it afterwards. */
    watch(keyId: string): KeyWatch {
      const watcher: KeyWatcher = {
        keyId,
        news: noNews(),
        changed: new Set(),
        seen: new Map(),
        looked: performance.now(),
        ...newWatcher(),
      }
      signal.add(watcher)
      return {
        async next(ms, gone) {
          await signal.wait(watcher, ms, gone)
          if (gone.aborted) return undefined
          const news = { ...watcher.news, changed: [...watcher.changed] }
          watcher.changed.clear()
          watcher.news = noNews()
          return news
        },
        close: () => signal.remove(watcher),
      }
    },
    stop: signal.stop,
  }
}

const noNews = (): KeyNews => ({ changed: [], gap: false, revoked: false })

function createLook({ requests, apiKeys }: Stores, clock: Pick<Clock, 'now'>) {
  let last = Number.NEGATIVE_INFINITY
  let lastFar = Number.NEGATIVE_INFINITY
  return async (all: ReadonlySet<KeyWatcher>): Promise<void> => {
    const watchers = [...all]
    const [now, begun] = [clock.now().getTime(), performance.now()]
    // Also after a rest, and when a clock was set: the first look must reach back to when its watchers began.
    const isFar = begun - lastFar >= FAR_LOOK_MS || Math.abs(now - last) > LATE_MS
    const since = new Date(isFar ? now - VERY_LATE_MS : last - LATE_MS)
    const keyIds = [...new Set(watchers.map(({ keyId }) => keyId))]
    const until = new Date(now + LATE_MS)
    const [moved, created, revoked] = await Promise.all([
      requests.movedBetween(since, until),
      requests.createdBetween(keyIds, since, until),
      apiKeys.revokedAmong(keyIds),
    ])
    const found = byKey([...(moved ?? []), ...(created ?? [])])
    for (const watcher of watchers) {
      if (revoked.includes(watcher.keyId)) watcher.news.revoked = true
      if (moved === undefined || created === undefined || begun - watcher.looked > GAP_MS)
        watcher.news.gap = true
      note(watcher, found.get(watcher.keyId) ?? [], begun)
      watcher.looked = begun
      if (watcher.news.revoked || watcher.news.gap || watcher.changed.size > 0) tell(watcher)
    }
    last = now
    if (isFar) lastFar = begun
  }
}

function byKey(news: readonly Stamp[]): Map<string, Stamp[]> {
  const found = new Map<string, Stamp[]>()
  for (const one of news) found.set(one.api_key_id, [...(found.get(one.api_key_id) ?? []), one])
  return found
}

/** Notes what a watcher was not told of yet: one look overlaps with the next. */
function note(watcher: KeyWatcher, found: readonly Stamp[], at: number): void {
  const { seen, changed } = watcher
  for (const { id, version } of found) {
    if (seen.get(id)?.version !== version) changed.add(id)
    // Last in the order, which is that of the times.
    seen.delete(id)
    seen.set(id, { version, at })
  }
  for (const [id, before] of seen) {
    if (at - before.at <= 2 * VERY_LATE_MS) break
    seen.delete(id)
  }
}
