import type { Card } from '../domain/chat.ts'
import type { Push } from '../domain/push.ts'
import type { Delivery } from '../domain/webhook.ts'
import { settleBootstraps } from '../flow/bootstrap/settle-bootstrap.ts'
import { cleanUp } from '../flow/clean-up.ts'
import type { Relay } from '../flow/delivery/relay.ts'
import type { SendLoop } from '../flow/delivery/send-loop.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { remindAutomatically } from '../flow/remind-approvers.ts'
import { expireRequests } from '../flow/settle-request.ts'

export const SWEEP_NAMES = ['relay', 'deliver', 'expire', 'remind', 'clean-up'] as const
export type SweepName = (typeof SWEEP_NAMES)[number]

/** Looks through the documents and does what is due. It may run at any time, anywhere, twice at once: it only costs time. */
export interface Sweep {
  /** @returns when the next thing is due, as far as the documents tell */
  run(): Promise<Date | undefined>
  /** Milliseconds from one run to the next: no sooner, whatever is due, and no later, whatever is not. */
  between: { least: number; most: number }
}

export type Sweeps = Readonly<Record<SweepName, Sweep>>

/** The loops that send. */
export interface SendLoops {
  deliveries: SendLoop<Delivery>
  pushes: SendLoop<Push>
  cards: SendLoop<Card>
}

const HOUR_MS = 3_600_000

/** Every sweep of the service. */
export function createSweeps(deps: FlowDeps, relay: Pick<Relay, 'sweep'>, loops: SendLoops): Sweeps {
  const platforms = deps.chats.map(({ platform }) => platform)
  return {
    // What a process left behind that died between a write and its relay.
    relay: {
      run: async () => void relay.sweep(),
      between: { least: 1_000, most: 10_000 },
    },
    // What is due, and what a process had claimed that died. A retry sooner than the next run the process wakes itself for.
    deliver: {
      async run() {
        const next = {
          deliveries: await deps.deliveries.nextDue(),
          pushes: await deps.pushes.nextDue(),
          // Without a platform cards cost nothing, not even a look.
          cards: platforms.length === 0 ? undefined : await deps.cards.nextDue(platforms),
        }
        const now = deps.clock.now()
        for (const kind of ['deliveries', 'pushes', 'cards'] as const)
          if (isDue(next[kind], now)) loops[kind].wake()
        return earliest(Object.values(next))
      },
      between: { least: 1_000, most: 10_000 },
    },
    // At the moment it is due: a request lives 60 s at least, so one made right after a run is seen by the next before its
    // time is up; a bootstrap lives longer.
    expire: {
      run: async () => earliest([await expireRequests(deps), await settleBootstraps(deps)]),
      between: { least: 100, most: 20_000 },
    },
    // The earliest by the default policy is due 30 s after a request was made.
    remind: {
      run: () => remindAutomatically(deps),
      between: { least: 1_000, most: 20_000 },
    },
    'clean-up': {
      run: async () => void (await cleanUp(deps)),
      between: { least: HOUR_MS, most: HOUR_MS },
    },
  }
}

function isDue(time: Date | undefined, now: Date): boolean {
  return time !== undefined && time <= now
}

function earliest(times: readonly (Date | undefined)[]): Date | undefined {
  return times.filter((time) => time !== undefined).sort((a, b) => a.getTime() - b.getTime())[0]
}

/** When to run again: at the next thing due, within the sweep's bounds. */
export function nextRun({ between }: Sweep, due: Date | undefined, now: Date): Date {
  const wait = due === undefined ? between.most : due.getTime() - now.getTime()
  return new Date(now.getTime() + Math.min(between.most, Math.max(between.least, wait)))
}

/** Is this the name of a sweep? Jobs are read from the store, where another version may have left others. */
export function isSweepName(name: unknown): name is SweepName {
  return SWEEP_NAMES.some((known) => known === name)
}
