import { setTimeout as sleep } from 'node:timers/promises'
import type { Peer } from '../../src/send.ts'
import { readEvents } from './read-lines.ts'

/** Longest silence of the stream, which sends a comment every 15 s. */
const SILENCE_MS = 45_000
/** How many requests are looked at by themselves while there is no stream; the pause before the next ones. */
const LOOKED_AT = 20
const PAUSE_MS = 3000
/** How long the stream stays when nobody waits: whoever looks at a request may wait again. */
const IDLE_MS = 5000
/** How many ids are remembered as closed: of a request that was decided before anybody waited for it. */
const REMEMBERED = 1000

/** Tells when a request may no longer be pending. */
export interface Watch {
  /** The list since which nothing is missed; undefined while there is none. To be read before the request is. */
  since(): object | undefined
  /** Resolves then, sometimes without need, or when the signal aborts. */
  changed(id: string, signal: AbortSignal, since: object | undefined): Promise<void>
  close(): void
}

/**
 * Watches all requests of a key by one stream, however many are waited for: a key has ten places for waits. The stream is open
 * while somebody waits, and a moment longer. What was missed while it was not is made up for by a look at each request.
 */
export function watchDecisions(peer: Peer): Watch {
  // Calls that differ may share a request: each hears of it.
  const waiting = new Map<string, Set<() => void>>()
  const wakeAll = (id: string): void => {
    for (const wake of waiting.get(id) ?? []) wake()
  }
  const closed = new Set<string>()
  let stream: AbortController | undefined
  let listed: object | undefined

  const follow = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const pending = new Set<string>()
      try {
        for await (const { event, data } of readStream(peer, signal)) {
          const { id, status } = Object(JSON.parse(data || '{}'))
          if (event === 'listed') {
            listed = {}
            for (const one of waiting.keys()) if (!pending.has(one)) wakeAll(one)
          } else if (event === 'status' && status === 'pending' && !listed) pending.add(id)
          else if (event === 'status' && status !== 'pending') {
            remember(closed, id)
            wakeAll(id)
          }
        }
      } catch {
        // The service is away, or other processes hold all places.
      }
      if (signal.aborted) return
      listed = undefined
      closed.clear()
      for (const id of [...waiting.keys()].slice(0, LOOKED_AT)) wakeAll(id)
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => {})
    }
  }

  const close = (): void => {
    stream?.abort()
    stream = listed = undefined
    closed.clear()
  }
  const closeIfIdle = (): void => {
    if (waiting.size === 0) close()
  }

  return {
    since: () => listed,
    async changed(id, signal, since) {
      // Decided between the answer and now, or the stream began in between.
      if (closed.delete(id) || signal.aborted || (listed && since !== listed)) return
      const own = waiting.get(id) ?? new Set()
      let wake = (): void => {}
      await new Promise<void>((resolve) => {
        wake = resolve
        waiting.set(id, own.add(wake))
        signal.addEventListener('abort', () => resolve(), { once: true })
        if (stream !== undefined) return
        stream = new AbortController()
        void follow(stream.signal)
      })
      own.delete(wake)
      if (own.size === 0) waiting.delete(id)
      if (waiting.size === 0) setTimeout(closeIfIdle, IDLE_MS).unref()
    },
    close,
  }
}

function remember(ids: Set<string>, id: string): void {
  ids.add(id)
  const [oldest] = ids
  if (ids.size > REMEMBERED && oldest !== undefined) ids.delete(oldest)
}

async function* readStream({ url, key, fetch }: Peer, signal: AbortSignal) {
  const silent = new AbortController()
  const timer = setTimeout(() => silent.abort(), SILENCE_MS)
  try {
    const response = await fetch(`${url}/api/v1/approvals/events`, {
      headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
      redirect: 'manual',
      signal: AbortSignal.any([signal, silent.signal]),
    })
    if (response.status !== 200 || response.body === null) return void (await response.body?.cancel())
    yield* readEvents(heard(response.body, () => timer.refresh()))
  } finally {
    clearTimeout(timer)
  }
}

async function* heard(stream: AsyncIterable<Uint8Array>, tell: () => void) {
  for await (const chunk of stream) {
    tell()
    yield chunk
  }
}
