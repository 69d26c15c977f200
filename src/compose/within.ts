import { setTimeout as pause } from 'node:timers/promises'

/** Waits at most `ms` for the work. @returns undefined when it takes longer. @throws what the work threw in time */
export async function within<Value>(ms: number, work: Promise<Value>): Promise<Value | undefined> {
  const patience = new AbortController()
  const late = pause(ms, undefined, { signal: patience.signal })
  late.catch(() => undefined)
  try {
    return await Promise.race([work, late])
  } finally {
    patience.abort()
  }
}
