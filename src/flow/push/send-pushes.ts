import { coalesce } from '../delivery/coalesce.ts'
import { createSendSlots, type SendLimits } from '../delivery/send-slots.ts'
import { warnSeldom } from '../delivery/warn-seldom.ts'
import type { Wakeups } from '../delivery-ports.ts'
import { attemptPush } from './attempt-push.ts'

type PushDeps = Parameters<typeof attemptPush>[0]

/** How much one process sends at once, and for how long a claim holds. */
export interface PushLimits extends SendLimits {
  /** Milliseconds; longer than the longest attempt. After it another worker takes over. */
  leaseMs: number
}

/** Sends pushes that are due. */
export interface PushLoop {
  /** Something may be due: claim as long as there is room. Never throws, never waits. */
  wake(): void
  /** Claims nothing more and resolves when the attempts under way have reported. */
  drain(): Promise<void>
}

/**
 * The sending loop of one process, as that of deliveries: any number of processes share the work, a claim is a conditional
 * write, and no push service is flooded (T9).
 * @param wakeups asked to wake a process when a retry is due
 */
export function createPushLoop(deps: PushDeps, wakeups: Wakeups, limits: PushLimits): PushLoop {
  const underWay = new Set<Promise<void>>()
  const slots = createSendSlots(limits)
  const trouble = warnSeldom(deps.log, 'claiming pushes failed; the sweep tries again')
  let stopped = false

  const attempt = async ({ push, interrupted }: Claimed): Promise<void> => {
    try {
      const { state, next_at } = await attemptPush(deps, push, interrupted)
      if (state === 'due' && next_at !== undefined) wakeups.at('deliver', next_at)
    } catch (error) {
      deps.log.error({ error, push_id: push.id }, 'an attempt was not recorded; its lease will end')
    }
  }
  const claimAll = coalesce(async () => {
    while (!stopped && slots.roomFor(1)) {
      const now = deps.clock.now()
      const leaseEnds = new Date(now.getTime() + limits.leaseMs)
      const claimed = await deps.pushes.claim({ now, leaseEnds, ...slots.busy() })
      if (claimed === undefined) return
      slots.take(claimed.push)
      const running: Promise<void> = attempt(claimed).finally(() => {
        underWay.delete(running)
        slots.free(claimed.push)
        wake()
      })
      underWay.add(running)
    }
  })
  const wake = (): void => void claimAll().then(trouble.worked, trouble.failed)
  return {
    wake,
    async drain() {
      stopped = true
      // A claim that was on its way may still come home with a push; that one is sent, too.
      await claimAll().catch(() => undefined)
      await Promise.all(underWay)
    },
  }
}

type Claimed = NonNullable<Awaited<ReturnType<PushDeps['pushes']['claim']>>>
