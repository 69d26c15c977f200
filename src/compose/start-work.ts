import type { Config } from '../config/config.ts'
import { CARD_LEASE_MS } from '../flow/chat/record-card.ts'
import { createCardLoop } from '../flow/chat/send-cards.ts'
import { createRelay, type Relay } from '../flow/delivery/relay.ts'
import { createDeliveryLoop } from '../flow/delivery/send-deliveries.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { createPushLoop } from '../flow/push/send-pushes.ts'
import { createJobs, type Jobs } from '../jobs/start-jobs.ts'
import { createSweeps, type SendLoops } from '../jobs/sweeps.ts'
import type { Composition } from './compose.ts'
import { within } from './within.ts'

/** What the service does besides answering requests. */
export interface Work {
  relay: Relay
  loops: SendLoops
  jobs: Jobs
  /**
   * Takes up nothing more, finishes what is under way and carries on what that leaves. When that takes 10 s longer than an
   * attempt may, cuts off the attempts that still last and gives their deliveries back, for 2 s at most.
   */
  stop(): Promise<void>
}

/** Attempts of one process under way at once, and of these to one host and for one account (T8, T9). */
const DELIVERIES = { total: 64, perHost: 4, perAccount: 32 }

/** Pushes of one process being sent at once. Browsers share few push services, so one host may have more of them. */
const PUSHES = { total: 32, perHost: 16, perAccount: 16 }

/** Cards of one process being sent at once; each recipient has one at a time. */
const CARDS = { total: 32, perAccount: 16, leaseMs: CARD_LEASE_MS }

/** How much longer than an attempt its lease lasts. */
const LEASE_MARGIN_MS = 20_000

/** How much longer than an attempt stopping may take. With what follows and `serve.ts`: less than docker-compose.yml allows. */
const STOP_MARGIN_MS = 10_000

/** How long attempts that were cut off may take to say so in the store. */
const GIVE_BACK_MS = 2_000

/** Puts relay, senders and jobs together: what a write leaves is carried on at once, and whatever is due is done on time. */
export async function startWork(
  config: Pick<Config, 'callbackTimeoutMs'>,
  { deps, connection, onOutbox }: Pick<Composition, 'deps' | 'connection' | 'onOutbox'>,
): Promise<Work> {
  const leaseMs = config.callbackTimeoutMs + LEASE_MARGIN_MS
  if (connection.db === undefined) throw new Error('the store is not connected')
  const jobs = createJobs(connection.db, deps)
  const loops = {
    deliveries: createDeliveryLoop(deps, { ...DELIVERIES, leaseMs }),
    pushes: createPushLoop(deps, { ...PUSHES, leaseMs }),
    cards: createCardLoop(deps, CARDS),
  }
  const relay = createRelay(deps, loops)
  let stopped = false
  onOutbox((written) => {
    // What is written later than that, another process carries on, or the next start: the store is about to be closed.
    if (stopped) return
    if (written === 'cards') loops.cards.wake()
    else relay.wake(written.outboxOf, written.document, written.hint)
  })
  // What an earlier process left behind.
  relay.wake()
  for (const loop of Object.values(loops)) loop.wake()
  const drain = () => Promise.all(Object.values(loops).map((loop) => loop.drain()))
  const stop = async (): Promise<void> => {
    await jobs.stop()
    await drain()
    await relay.run()
  }
  const giveBack = async (stopping: Promise<void>): Promise<void> => {
    deps.sender.close()
    deps.pusher.close()
    await within(GIVE_BACK_MS, Promise.allSettled([stopping, loops.deliveries.drain(), loops.pushes.drain()]))
  }
  const ending = () =>
    stopInTime(stop(), giveBack, config, deps).finally(() => {
      stopped = true
    })
  const work = { relay, loops, jobs, stop: ending }
  try {
    await jobs.start(createSweeps(deps, relay, loops))
    return work
  } catch (error) {
    await work.stop()
    throw error
  }
}

/**
 * What did not come to an end is taken up by another process, or at the next start: the documents remember it. What was
 * given back is taken up at once, the rest when its lease ends.
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
    log.warn({}, 'stopping without waiting for all that was under way')
  } catch (error) {
    log.warn({ error }, 'stopping in spite of what could not be finished')
  }
  await giveBack(stopping)
}
