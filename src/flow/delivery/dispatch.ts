import type { Wakeups, WebhookSender } from '../delivery-ports.ts'
import { attemptDelivery } from './attempt-delivery.ts'
import { coalesce } from './coalesce.ts'
import { createSendSlots, type SendLimits } from './send-slots.ts'
import { warnSeldom } from './warn-seldom.ts'

type DispatchDeps = Parameters<typeof attemptDelivery>[0]

/** How much one process sends at once, and for how long a claim holds. */
export interface DispatchLimits extends SendLimits {
  /** Milliseconds; longer than the longest attempt. After it another worker takes over. */
  leaseMs: number
}

/** Sends what is due. */
export interface Dispatcher {
  /** Something may be due: claim as long as there is room. Never throws, never waits. */
  wake(): void
  /** Claims nothing more and resolves when the attempts under way have reported; connections may end later. */
  drain(): Promise<void>
}

/**
 * The sending loop of one process. Any number of processes share the work: a claim is a conditional write.
 * @param wakeups asked to wake a process when a retry is due
 */
export function createDispatcher(deps: DispatchDeps, wakeups: Wakeups, limits: DispatchLimits): Dispatcher {
  const underWay = new Set<Promise<void>>()
  const slots = createSendSlots(limits)
  let claiming = 0
  let stopped = false

  const attempt = async ({ delivery, interrupted }: Claimed): Promise<void> => {
    const { sender, gone } = watched(deps.sender)
    try {
      const { state, next_at } = await attemptDelivery({ ...deps, sender }, delivery, { interrupted })
      if (state === 'due' && next_at !== undefined) wakeups.at('deliver', next_at)
    } catch (error) {
      deps.log.error({ error, delivery_id: delivery.id }, 'an attempt was not recorded; its lease will end')
    }
    // Not before: a receiver that answers and holds the connection open would have any number of them (T8, T9).
    gone().then(() => {
      slots.free(delivery)
      wake()
    })
  }
  const begin = (claimed: Claimed): void => {
    slots.take(claimed.delivery)
    const running: Promise<void> = attempt(claimed).finally(() => underWay.delete(running))
    underWay.add(running)
  }
  /** @returns false when nothing was due */
  const claimOne = async (): Promise<boolean> => {
    const now = deps.clock.now()
    const leaseEnds = new Date(now.getTime() + limits.leaseMs)
    claiming += 1
    try {
      const claimed = await deps.deliveries.claim({ now, leaseEnds, ...slots.busy() })
      if (claimed !== undefined) begin(claimed)
      return claimed !== undefined
    } finally {
      claiming -= 1
    }
  }
  const room = (more: number): boolean => !stopped && slots.roomFor(claiming + more)
  const claimAll = coalesce(() => claimInLanes(claimOne, room))
  const trouble = warnSeldom(deps.log, 'claiming deliveries failed; the sweep tries again')
  const wake = (): void => void claimAll().then(trouble.worked, trouble.failed)
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

/**
 * Claims until nothing is due or there is no room. A store makes many writes durable as fast as one, so while there is a
 * backlog several claims are on their way. Each find may bring one more, but not the first: a single delivery costs no
 * question more than it must.
 * @param room for that many claims more than are on their way
 * @throws what a claim threw, once none is on its way
 */
async function claimInLanes(
  claimOne: () => Promise<boolean>,
  room: (more: number) => boolean,
): Promise<void> {
  const lanes: Promise<unknown>[] = []
  const failures: unknown[] = []
  let found = 0
  const lane = async (): Promise<void> => {
    while (room(1) && (await claimOne())) {
      found += 1
      if (found > 1 && room(2)) open()
    }
  }
  const open = (): void => void lanes.push(lane().catch((error: unknown) => failures.push(error)))
  open()
  // Grows while it is walked.
  for (const running of lanes) await running
  if (failures.length > 0) throw failures[0]
}

/** A sender for one attempt. `gone` tells of its connection even when the attempt could not be recorded. */
function watched(sender: WebhookSender): { sender: WebhookSender; gone(): Promise<void> } {
  let closed = Promise.resolve()
  const send: WebhookSender['send'] = async (message) => {
    const outcome = await sender.send(message)
    if (outcome.closed !== undefined) closed = outcome.closed
    return outcome
  }
  return { sender: { ...sender, send }, gone: () => closed }
}

type Claimed = NonNullable<Awaited<ReturnType<DispatchDeps['deliveries']['claim']>>>
