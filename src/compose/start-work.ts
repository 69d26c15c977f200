import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import { type CardUpdater, createCardUpdater } from '../flow/chat/update-cards.ts'
import { createRelay, type Relay } from '../flow/delivery/relay-traces.ts'
import { createDispatcher, type Dispatcher } from '../flow/delivery/send-deliveries.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { createPushLoop, type PushLoop } from '../flow/push/send-pushes.ts'
import { cleanUpSweep } from '../jobs/clean-up.ts'
import { deliverSweep } from '../jobs/deliver.ts'
import { expireSweep } from '../jobs/expire.ts'
import { relaySweep } from '../jobs/relay.ts'
import { remindSweep } from '../jobs/remind.ts'
import { createJobs, type Jobs } from '../jobs/start-jobs.ts'
import type { Sweeps } from '../jobs/sweep.ts'
import { wakeSoon } from '../jobs/wake-soon.ts'
import type { Composition } from './compose.ts'

/** What the service does besides answering requests. */
export interface Work {
  relay: Relay
  dispatcher: Dispatcher
  updater: CardUpdater
  pushLoop: PushLoop
  jobs: Jobs
  /**
   * Takes up nothing more, finishes what is under way and carries on what that leaves. When that takes 10 s longer than an
   * attempt may, cuts off the attempts that still last and gives their deliveries back, for 2 s at most.
   */
  stop(): Promise<void>
}

/** Attempts of one process under way at once, and of these to one host and for one account (T8, T9). */
const ATTEMPTS = 64
const ATTEMPTS_PER_HOST = 4
const ATTEMPTS_PER_ACCOUNT = ATTEMPTS / 2

/** Pushes of one process being sent at once. Browsers share few push services, so one host may have more of them. */
const PUSHES = { total: 32, perHost: 16, perAccount: 16 }

/** Cards of one process being sent at once; each recipient has one at a time. */
const CARDS = 32

/** Longer than the calls for one card take one after the other. */
const CARD_LEASE_MS = 60_000

/** How much longer than an attempt its lease lasts. */
const LEASE_MARGIN_MS = 20_000

/** How much longer than an attempt stopping may take. With what follows and `serve.ts`: less than docker-compose.yml allows. */
const STOP_MARGIN_MS = 10_000

/** How long attempts that were cut off may take to say so in the store. */
const GIVE_BACK_MS = 2_000

/** Puts relay, senders and jobs together: what a write leaves is carried on at once, and whatever is due is done on time. */
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
  const send = (): void => {
    dispatcher.wake()
    pushLoop.wake()
  }
  const soon = wakeSoon(jobs.wakeups, send, deps.clock)
  const dispatcher = createDispatcher(deps, soon, limits)
  const updater = createCardUpdater(deps, jobs.wakeups, { total: CARDS, leaseMs: CARD_LEASE_MS })
  const pushLoop = createPushLoop(deps, soon, { ...PUSHES, leaseMs })
  const relay = createRelay(deps, {
    deliveries: () => dispatcher.wake(),
    cards: () => updater.wake(),
    pushes: () => pushLoop.wake(),
  })
  onTrace((what) => (what === 'cards' ? updater.wake() : relay.nudge()))
  // What an earlier process left behind.
  relay.nudge()
  send()
  updater.wake()
  const stop = async (): Promise<void> => {
    await jobs.stop()
    await Promise.all([dispatcher.drain(), updater.drain(), pushLoop.drain()])
    await relay.run()
    onTrace(() => undefined)
    await jobs.flush()
  }
  const giveBack = async (stopping: Promise<void>): Promise<void> => {
    deps.sender.close()
    deps.pusher.close()
    await within(GIVE_BACK_MS, Promise.allSettled([stopping, dispatcher.drain(), pushLoop.drain()]))
  }
  const ending = () => stopInTime(stop(), giveBack, config, deps)
  const work = { relay, dispatcher, updater, pushLoop, jobs, stop: ending }
  try {
    await jobs.start(sweepsOf(deps, work))
    return work
  } catch (error) {
    await work.stop()
    throw error
  }
}

function sweepsOf(
  deps: FlowDeps,
  { relay, dispatcher, updater, pushLoop }: Pick<Work, 'relay' | 'dispatcher' | 'updater' | 'pushLoop'>,
): Sweeps {
  const platforms = deps.chats.map(({ platform }) => platform)
  const sendDeliveries = { wake: dispatcher.wake, nextDue: () => deps.deliveries.nextDue() }
  const sendPushes = { wake: pushLoop.wake, nextDue: () => deps.pushes.nextDue() }
  const sendCards = { wake: updater.wake, nextDue: () => deps.cards.nextDue(platforms) }
  return {
    relay: relaySweep(relay),
    // Without a platform cards cost nothing, not even a look.
    deliver: deliverSweep([sendDeliveries, sendPushes, ...(platforms.length === 0 ? [] : [sendCards])]),
    expire: expireSweep(deps),
    remind: remindSweep(deps),
    'clean-up': cleanUpSweep(deps),
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
    if ((await within(callbackTimeoutMs + STOP_MARGIN_MS, stopping)) === 'done') return
    log.warn({}, 'stopping without waiting for all that was under way')
  } catch (error) {
    log.warn({ error }, 'stopping in spite of what could not be finished')
  }
  await giveBack(stopping)
}

/** Waits for so many milliseconds at most. @throws what the work threw in time */
async function within(ms: number, work: Promise<unknown>): Promise<'done' | 'late'> {
  const patience = new AbortController()
  const late = pause(ms, 'late' as const, { signal: patience.signal })
  late.catch(() => undefined)
  try {
    return await Promise.race([work.then(() => 'done' as const), late])
  } finally {
    patience.abort()
  }
}
