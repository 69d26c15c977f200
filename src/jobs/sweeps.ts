import type { Sequencer } from '../flow/audit/log.ts'
import { settleBootstraps } from '../flow/bootstrap/settle-bootstrap.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { createRetention } from '../flow/erase/retention.ts'
import type { Relay, SendLoops } from '../flow/relay/relay.ts'
import { expireRequests } from '../flow/requests/settle-request.ts'
import { remindAutomatically } from '../flow/tell/remind-approvers.ts'
import type { Clock } from '../ports/ports.ts'
import { cleanUp } from './clean-up.ts'

export const SWEEP_NAMES = ['relay', 'deliver', 'expire', 'remind', 'clean-up', 'retain'] as const
export type SweepName = (typeof SWEEP_NAMES)[number]

/** Looks through the documents and does what is due. May run any time, in any process, even twice at once: it costs only time. */
export interface Sweep {
  /** @returns when the next task is due, as far as the documents tell */
  run(): Promise<Date | undefined>
  /** Milliseconds from one run to the next: `least` even if something is due sooner, `most` even if nothing is due. */
  between: { least: number; most: number }
}

export type Sweeps = Readonly<Record<SweepName, Sweep>>

const HOUR_MS = 3_600_000

/** Milliseconds between two slices of retained data that is erased. */
const PAUSE_MS = 200

/** Every sweep of the service. */
export function createSweeps(
  deps: FlowDeps,
  { relay, sequencer }: { relay: Pick<Relay, 'sweep'>; sequencer: Pick<Sequencer, 'wake'> },
  loops: SendLoops,
): Sweeps {
  const platforms = deps.chats.map(({ platform }) => platform)
  const isSetBack = watchSteps(deps.clock)
  return {
    // Relays the outbox entries of a process that died between a write and its relay, and logs the records that it left.
    relay: {
      async run() {
        relay.sweep()
        sequencer.wake()
        return undefined
      },
      between: { least: 1_000, most: 10_000 },
    },
    // Sends what is due, and what a dead process had claimed. For a retry due before the next run, the process wakes itself.
    deliver: {
      async run() {
        const queues = [deps.deliveries, deps.pushes, ...(platforms.length === 0 ? [] : [deps.cards])]
        if (isSetBack()) await Promise.all(queues.map((queue) => queue.bringForward(deps.clock.now())))
        const next = {
          deliveries: await deps.deliveries.nextDue(),
          pushes: await deps.pushes.nextDue(),
          // Without a chat platform, cards cost nothing, not even a query.
          cards: platforms.length === 0 ? undefined : await deps.cards.nextDue(platforms),
        }
        const now = deps.clock.now()
        for (const kind of ['deliveries', 'pushes', 'cards'] as const)
          if (isDue(next[kind], now)) loops[kind].wake()
        return earliest(Object.values(next))
      },
      between: { least: 1_000, most: 10_000 },
    },
    // Expires requests at the moment they are due: a request lives at least 60 s, so one made right after a run is seen by the
    // next run before its time is up; a bootstrap lives longer.
    expire: {
      run: async () => earliest([await expireRequests(deps), await settleBootstraps(deps)]),
      between: { least: 100, most: 20_000 },
    },
    // By the default policy, the earliest reminder is due 30 s after a request was made.
    remind: {
      run: () => remindAutomatically(deps),
      between: { least: 1_000, most: 20_000 },
    },
    // A slice a run; the pause between two leaves the store to the callers.
    retain: {
      run: createRetention(deps),
      between: { least: PAUSE_MS, most: HOUR_MS },
    },
    'clean-up': {
      run: async () => void (await cleanUp(deps)),
      between: { least: HOUR_MS, most: HOUR_MS },
    },
  }
}

/** The least step that counts, in milliseconds: less may be a correction of the offset between machine and store. */
const STEP_MS = 1_000

/** Tells whether the store's clock was set back since the last call. The first one says yes: it may have been before this process began. */
function watchSteps(clock: Clock): () => boolean {
  let before = Number.POSITIVE_INFINITY
  return () => {
    const ahead = clock.now().getTime() - clock.steady()
    const isBack = ahead < before - STEP_MS
    before = ahead
    return isBack
  }
}

function isDue(time: Date | undefined, now: Date): boolean {
  return time !== undefined && time <= now
}

function earliest(times: readonly (Date | undefined)[]): Date | undefined {
  return times.filter((time) => time !== undefined).sort((a, b) => a.getTime() - b.getTime())[0]
}

/** Returns when to run again: when the next task is due, within the sweep's bounds. */
export function nextRun({ between }: Sweep, due: Date | undefined, now: Date): Date {
  const wait = due === undefined ? between.most : due.getTime() - now.getTime()
  return new Date(now.getTime() + Math.min(between.most, Math.max(between.least, wait)))
}

/** Checks whether this is the name of a sweep: another version may have left jobs of other sweeps in the store. */
export function isSweepName(name: unknown): name is SweepName {
  return SWEEP_NAMES.some((known) => known === name)
}
