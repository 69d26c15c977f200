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

/** When to run again: at the next thing due, within the sweep's bounds. */
export function nextRun({ between }: Sweep, due: Date | undefined, now: Date): Date {
  const wait = due === undefined ? between.most : due.getTime() - now.getTime()
  return new Date(now.getTime() + Math.min(between.most, Math.max(between.least, wait)))
}

/** Is this the name of a sweep? Jobs are read from the store, where another version may have left others. */
export function isSweepName(name: unknown): name is SweepName {
  return SWEEP_NAMES.some((known) => known === name)
}
