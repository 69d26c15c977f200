import { EventEmitter } from 'node:events'
import type { ApiKeyStore, ChangeSignal, Clock, Log, RequestStore } from '../flow/ports.ts'

interface Watch {
  requestId: string
  version: number
  keyId: string
}

const POLL_MS = 200

/** A change signal that can be stopped; stopping wakes everybody. */
export interface StoppableChangeSignal extends ChangeSignal {
  stop(): void
}

/** One poller per process for all waiters (T67): two queries every 200 ms, and none while nobody waits. */
export function createChangeSignal(
  stores: { requests: Pick<RequestStore, 'versions'>; apiKeys: Pick<ApiKeyStore, 'revokedAmong'> },
  clock: Clock,
  log: Log,
): StoppableChangeSignal {
  const emitter = new EventEmitter().setMaxListeners(0)
  const watches = new Set<Watch>()
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const poll = async (): Promise<void> => {
    const seen = [...watches]
    const versions = await stores.requests.versions([...new Set(seen.map((watch) => watch.requestId))])
    const revoked = new Set(await stores.apiKeys.revokedAmong([...new Set(seen.map((watch) => watch.keyId))]))
    for (const watch of seen) {
      if (versions.get(watch.requestId) !== watch.version) emitter.emit(watch.requestId)
      if (revoked.has(watch.keyId)) emitter.emit(watch.keyId)
    }
  }
  const schedule = (): void => {
    if (stopped || timer !== undefined || watches.size === 0) return
    timer = setTimeout(async () => {
      await poll().catch((error: unknown) => log.warn({ error }, 'looking for changes failed'))
      timer = undefined
      schedule()
    }, POLL_MS)
  }
  return {
    changed: (id) => void emitter.emit(id),
    stopped: () => stopped,
    async wait({ deadline, signal, ...watch }) {
      if (stopped || signal.aborted) return
      watches.add(watch)
      schedule()
      await firstOf(
        emitter,
        [watch.requestId, watch.keyId, STOP],
        deadline.getTime() - clock.now().getTime(),
        signal,
      )
      watches.delete(watch)
    },
    stop() {
      stopped = true
      clearTimeout(timer)
      emitter.emit(STOP)
    },
  }
}

const STOP = 'stop'

function firstOf(emitter: EventEmitter, names: string[], ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      for (const name of names) emitter.off(name, done)
      resolve()
    }
    const timer = setTimeout(done, Math.max(0, ms))
    signal.addEventListener('abort', done)
    for (const name of names) emitter.on(name, done)
  })
}
