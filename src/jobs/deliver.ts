import type { Dispatcher } from '../flow/delivery/dispatch.ts'
import type { DeliveryStore } from '../flow/delivery-ports.ts'
import type { Sweep } from './sweep.ts'

/** Sends what is due, and what a process had claimed that died. Retries sooner than the next run have a job of their own. */
export function deliverSweep(
  dispatcher: Pick<Dispatcher, 'wake'>,
  deliveries: Pick<DeliveryStore, 'nextDue'>,
): Sweep {
  const run = () => {
    dispatcher.wake()
    return deliveries.nextDue()
  }
  return { run, between: { least: 1_000, most: DELIVER_AT_MOST_MS } }
}

/** How long a due delivery waits for the sweep, if nothing else wakes anybody. */
export const DELIVER_AT_MOST_MS = 10_000
