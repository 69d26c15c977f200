import type { Sweep } from './sweep.ts'

/** A loop that sends what is due: deliveries, cards. */
export interface SendingLoop {
  wake(): void
  /** When the next thing is due or a lease ends. */
  nextDue(): Promise<Date | undefined>
}

/** Sends what is due, and what a process had claimed that died. Retries sooner than the next run have a job of their own. */
export function deliverSweep(loops: readonly SendingLoop[]): Sweep {
  const run = async () => {
    for (const loop of loops) loop.wake()
    const times = (await Promise.all(loops.map((loop) => loop.nextDue()))).filter(
      (time) => time !== undefined,
    )
    return times.sort((a, b) => a.getTime() - b.getTime())[0]
  }
  return { run, between: { least: 1_000, most: DELIVER_AT_MOST_MS } }
}

/** How long something due waits for the sweep, if nothing else wakes anybody. */
export const DELIVER_AT_MOST_MS = 10_000
