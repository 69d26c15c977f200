import { setTimeout as pause } from 'node:timers/promises'
import type { Composition } from './compose.ts'
import type { Config } from './config.ts'
import { createDispatcher, type Dispatcher } from './flow/delivery/dispatch.ts'
import { createRelay, type Relay } from './flow/delivery/relay-traces.ts'
import type { FlowDeps } from './flow/deps.ts'
import { cleanUpSweep } from './jobs/clean-up.ts'
import { deliverSweep } from './jobs/deliver.ts'
import { expireSweep } from './jobs/expire.ts'
import { relaySweep } from './jobs/relay.ts'
import { remindSweep } from './jobs/remind.ts'
import { createJobs, type Jobs } from './jobs/start-jobs.ts'
import type { Sweeps } from './jobs/sweep.ts'

/** What the service does besides answering requests. */
export interface Work {
  relay: Relay
  dispatcher: Dispatcher
  jobs: Jobs
  /** Takes up nothing more, finishes what is under way and carries on what that leaves; bounded in time. */
  stop(): Promise<void>
}

/** Attempts of one process under way at once, and of these to one host and for one account (T8, T9). */
const ATTEMPTS = 64
const ATTEMPTS_PER_HOST = 4
const ATTEMPTS_PER_ACCOUNT = ATTEMPTS / 2

/** How much longer than an attempt its lease lasts. */
const LEASE_MARGIN_MS = 20_000

/** How much longer than an attempt stopping may take. */
const STOP_MARGIN_MS = 10_000

/** Puts relay, dispatcher and jobs together: what a write leaves is carried on at once, and whatever is due is done on time. */
export async function startWork(
  config: Pick<Config, 'callbackTimeoutMs'>,
  { deps, connection, onTrace }: Pick<Composition, 'deps' | 'connection' | 'onTrace'>,
): Promise<Work> {
  const leaseMs = config.callbackTimeoutMs + LEASE_MARGIN_MS
  const limits = {
    total: ATTEMPTS,
    perHost: ATTEMPTS_PER_HOST,
    perAccount: ATTEMPTS_PER_ACCOUNT,
    leaseMs,
  }
  if (connection.db === undefined) throw new Error('the store is not connected')
  const jobs = createJobs(connection.db, deps)
  const dispatcher = createDispatcher(deps, jobs.wakeups, limits)
  const relay = createRelay(deps, () => dispatcher.wake())
  onTrace(() => relay.nudge())
  // What an earlier process left behind.
  relay.nudge()
  dispatcher.wake()
  await jobs.start(sweepsOf(deps, relay, dispatcher))
  const stop = async (): Promise<void> => {
    await jobs.stop()
    await dispatcher.drain()
    await relay.run()
    onTrace(() => undefined)
    await jobs.flush()
  }
  return { relay, dispatcher, jobs, stop: () => bounded(stop(), config.callbackTimeoutMs, deps.log) }
}

function sweepsOf(deps: FlowDeps, relay: Relay, dispatcher: Dispatcher): Sweeps {
  return {
    relay: relaySweep(relay),
    deliver: deliverSweep(dispatcher, deps.deliveries),
    expire: expireSweep(deps),
    remind: remindSweep(deps),
    'clean-up': cleanUpSweep(deps),
  }
}

/** What did not come to an end is taken up by another process, or at the next start: the documents remember it. */
async function bounded(stopping: Promise<void>, attemptMs: number, log: FlowDeps['log']): Promise<void> {
  const patience = new AbortController()
  const late = pause(attemptMs + STOP_MARGIN_MS, 'late' as const, { signal: patience.signal })
  try {
    const outcome = await Promise.race([stopping, late])
    if (outcome === 'late') log.warn({}, 'stopping without waiting for all that was under way')
  } catch (error) {
    log.warn({ error }, 'stopping in spite of what could not be finished')
  } finally {
    late.catch(() => undefined)
    patience.abort()
  }
}
