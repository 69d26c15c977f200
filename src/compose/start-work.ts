import type { Config } from '../config/config.ts'
import { startWitnessRounds } from '../flow/audit/ask-witnesses.ts'
import { createSequencer } from '../flow/audit/log.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { createRelay, type Relay, type SendLoops } from '../flow/relay/relay.ts'
import { createCardLoop } from '../flow/tell/cards/send-cards.ts'
import { createPushLoop } from '../flow/tell/send-pushes.ts'
import { createDeliveryLoop } from '../flow/webhooks/send-deliveries.ts'
import { createJobs, type Jobs } from '../jobs/start-jobs.ts'
import { createSweeps } from '../jobs/sweeps.ts'
import { within } from '../ports/within.ts'
import type { Composition } from './compose.ts'

/** The background work of the service, besides answering requests. */
export interface Work {
  relay: Relay
  loops: SendLoops
  jobs: Jobs
  /**
   * Takes up no new work, finishes attempts under way and relays what they leave in the outbox. If that takes 10 s longer than
   * an attempt may, cuts off the remaining attempts and gives their deliveries back, for 2 s at most.
   */
  stop(): Promise<void>
}

/** The most concurrent attempts of one process: in total, to one host, and for one account (T8, T9). */
const DELIVERIES = { total: 64, perHost: 4, perAccount: 32 }

/** The most concurrent pushes of one process. Browsers share few push services, so one host may get more of them. */
const PUSHES = { total: 32, perHost: 16, perAccount: 16 }

/** The most concurrent cards of one process; each recipient gets one at a time. */
const CARDS = { total: 32, perAccount: 16 }

/** How much longer the lease of an attempt lasts than the attempt itself may. */
const LEASE_MARGIN_MS = 20_000

/** How much longer than an attempt stopping may take. With `GIVE_BACK_MS` and `serve.ts`, less than docker-compose.yml allows. */
const STOP_MARGIN_MS = 10_000

/** How long attempts that were cut off may take to record it in the store. */
const GIVE_BACK_MS = 2_000

/** Puts relay, senders and jobs together: outbox entries are relayed at once, and everything due is done on time. */
export async function startWork(
  config: Pick<Config, 'callbackTimeoutMs'>,
  { deps, connection, onWritten, onCardsDue }: Composition,
): Promise<Work> {
  const leaseMs = config.callbackTimeoutMs + LEASE_MARGIN_MS
  if (connection.db === undefined) throw new Error('the store is not connected')
  const jobs = createJobs(connection.db, deps)
  const loops = {
    deliveries: createDeliveryLoop(deps, { ...DELIVERIES, leaseMs }),
    pushes: createPushLoop(deps, { ...PUSHES, leaseMs }),
    cards: createCardLoop(deps, CARDS),
  }
  const sequencer = createSequencer(deps)
  const relay = createRelay(deps, loops, sequencer.wake)
  let stopped = false
  // Once stopped, the store is about to be closed: later writes are relayed by another process, or at the next start.
  onWritten((written) => {
    if (!stopped) relay.wake(written)
  })
  onCardsDue(() => {
    if (!stopped) loops.cards.wake()
  })
  // Takes up what an earlier process left behind.
  relay.wake()
  sequencer.wake()
  const rounds = startWitnessRounds(deps)
  for (const loop of Object.values(loops)) loop.wake()
  const drain = () => Promise.all(Object.values(loops).map((loop) => loop.drain()))
  const stop = async (): Promise<void> => {
    rounds.stop()
    await jobs.stop()
    await drain()
    await relay.run()
    await sequencer.run()
  }
  const giveBack = async (stopping: Promise<void>): Promise<void> => {
    deps.sender.close()
    deps.offers.close()
    deps.pusher.close()
    deps.mailer?.close()
    await within(GIVE_BACK_MS, Promise.allSettled([stopping, loops.deliveries.drain(), loops.pushes.drain()]))
  }
  const ending = () =>
    stopInTime(stop(), giveBack, config, deps).finally(() => {
      stopped = true
      sequencer.stop()
    })
  const work = { relay, loops, jobs, stop: ending }
  try {
    await deps.cards.retryFailed(deps.clock.now())
    await jobs.start(createSweeps(deps, { relay, sequencer }, loops))
    return work
  } catch (error) {
    await work.stop()
    throw error
  }
}

/**
 * Waits for the end of the work, within bounds. Another process, or the next start, takes up the unfinished rest, which the
 * documents remember: at once if it was given back, otherwise when its lease ends.
 */
async function stopInTime(
  stopping: Promise<void>,
  giveBack: (stopping: Promise<void>) => Promise<void>,
  { callbackTimeoutMs }: Pick<Config, 'callbackTimeoutMs'>,
  { log }: Pick<FlowDeps, 'log'>,
): Promise<void> {
  try {
    const done = stopping.then(() => true)
    if (await within(callbackTimeoutMs + STOP_MARGIN_MS, done)) return
    log.warn({}, 'shutting down with unfinished work: the time limit was reached')
  } catch (error) {
    log.warn({ error }, 'shutting down with unfinished work')
  }
  await giveBack(stopping)
}
