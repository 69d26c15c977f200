import type { Wakeups } from '../delivery-ports.ts'
import { attemptDelivery } from './attempt-delivery.ts'
import { coalesce } from './coalesce.ts'

type DispatchDeps = Parameters<typeof attemptDelivery>[0]

/** How much one process sends at once, and for how long a claim holds. */
export interface DispatchLimits {
  /** Attempts under way in this process. */
  total: number
  /** Of them, to one host: no receiver can take all workers, nor be flooded by us (T8, T9). */
  perHost: number
  /** Milliseconds; longer than the longest attempt. After it another worker takes over. */
  leaseMs: number
}

/** Sends what is due. */
export interface Dispatcher {
  /** Something may be due: claim as long as there is room. Never throws, never waits. */
  wake(): void
  /** Claims nothing more and resolves when the attempts under way have reported. */
  drain(): Promise<void>
}

/**
 * The sending loop of one process. Any number of processes share the work: a claim is a conditional write.
 * @param wakeups asked to wake a process when a retry is due
 */
export function createDispatcher(deps: DispatchDeps, wakeups: Wakeups, limits: DispatchLimits): Dispatcher {
  const underWay = new Set<Promise<void>>()
  const hosts = new Map<string, number>()
  let stopped = false

  const run = async ({ delivery, interrupted }: Claimed): Promise<void> => {
    hosts.set(delivery.host, (hosts.get(delivery.host) ?? 0) + 1)
    try {
      const { state, next_at } = await attemptDelivery(deps, delivery, { interrupted })
      if (state === 'due' && next_at !== undefined) wakeups.at('deliver', next_at)
    } catch (error) {
      deps.log.error({ error, delivery_id: delivery.id }, 'an attempt was not recorded; its lease will end')
    }
    const left = (hosts.get(delivery.host) ?? 1) - 1
    if (left === 0) hosts.delete(delivery.host)
    else hosts.set(delivery.host, left)
  }
  const claimAll = coalesce(async () => {
    while (!stopped && underWay.size < limits.total) {
      const busyHosts = [...hosts].filter(([, n]) => n >= limits.perHost).map(([host]) => host)
      const now = deps.clock.now()
      const leaseEnds = new Date(now.getTime() + limits.leaseMs)
      const claimed = await deps.deliveries.claim({ now, leaseEnds, busyHosts })
      if (claimed === undefined) return
      const attempt: Promise<void> = run(claimed).finally(() => {
        underWay.delete(attempt)
        wake()
      })
      underWay.add(attempt)
    }
  })
  const wake = (): void => {
    claimAll().catch((error: unknown) =>
      deps.log.warn({ error }, 'claiming deliveries failed; the sweep tries again'),
    )
  }
  return {
    wake,
    async drain() {
      stopped = true
      // A claim that was on its way may still come home with a delivery; that one is sent, too.
      await claimAll().catch(() => undefined)
      await Promise.all(underWay)
    },
  }
}

type Claimed = NonNullable<Awaited<ReturnType<DispatchDeps['deliveries']['claim']>>>
