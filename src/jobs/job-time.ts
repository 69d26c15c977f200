import { setTimeout as pause } from 'node:timers/promises'
import type { JobParameters } from 'agenda'

const DATES = ['nextRunAt', 'lockedAt', 'lastRunAt', 'lastFinishedAt', 'failedAt'] as const

/** Longest wait for a job that was found ahead of its time. */
const PATIENCE_MS = 1_000

/** That many milliseconds later. */
export function shifted(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms)
}

/** A copy of the job with all its times moved. */
export function moved<D>(job: JobParameters<D>, ms: number): JobParameters<D> {
  const copy = { ...job }
  for (const field of DATES) {
    const time = copy[field]
    if (time !== undefined && time !== null) copy[field] = shifted(time, ms)
  }
  return copy
}

/** Resolves at that local time, never before; at once when it is past or far away. @returns whether that took a while */
export async function until(time: number): Promise<boolean> {
  let waited = false
  for (let left = time - Date.now(); left > 0 && left < PATIENCE_MS; left = time - Date.now()) {
    waited = true
    await pause(left, undefined, { ref: false })
  }
  return waited
}
