import type { Composition } from './compose.ts'
import type { Config } from './config.ts'
import { createDispatcher, type Dispatcher } from './flow/delivery/dispatch.ts'
import { createRelay, type Relay } from './flow/delivery/relay-traces.ts'
import type { Wakeups } from './flow/delivery-ports.ts'

/** What the service does besides answering requests. */
export interface Work {
  relay: Relay
  dispatcher: Dispatcher
  /** Takes up nothing more and finishes the attempts under way. */
  stop(): Promise<void>
}

/** Attempts of one process under way at once, and of these to one host (T8, T9). */
const ATTEMPTS = 64
const ATTEMPTS_PER_HOST = 4

/** How much longer than an attempt its lease lasts. */
const LEASE_MARGIN_MS = 20_000

/** Puts relay and dispatcher together: what a write leaves is carried on at once, and sent at once. */
export function startWork(
  config: Pick<Config, 'callbackTimeoutMs'>,
  { deps, onTrace }: Pick<Composition, 'deps' | 'onTrace'>,
): Work {
  const leaseMs = config.callbackTimeoutMs + LEASE_MARGIN_MS
  const limits = { total: ATTEMPTS, perHost: ATTEMPTS_PER_HOST, leaseMs }
  const wakeups: Wakeups = {
    at(_sweep, time) {
      setTimeout(() => dispatcher.wake(), time.getTime() - deps.clock.now().getTime()).unref()
    },
  }
  const dispatcher = createDispatcher(deps, wakeups, limits)
  const relay = createRelay(deps, () => dispatcher.wake())
  onTrace(() => relay.nudge())
  // What an earlier process left behind.
  relay.nudge()
  dispatcher.wake()
  return { relay, dispatcher, stop: () => dispatcher.drain() }
}
