/** Nobody waits for a CI machine, which may be busy; a person waits for a red test. */
const LONG = Boolean(process.env.CI) || process.env.TEST_SIZE === 'full'

/**
 * How long a test waits for something that should happen at once. A wait ends as soon as its condition holds, so this is only
 * what a failure takes.
 */
export const PATIENCE_MS = LONG ? 240_000 : 15_000

/** The same for something that by design does not happen at once: `ms` is what it takes on an idle machine. */
export function patienceFor(ms: number): number {
  return PATIENCE_MS + ms
}

/** The same for a process that is being started: that costs CPU, of which it may get little. */
export const START_MS = patienceFor(15_000)

/** Resolves as soon as the condition holds; it is looked at whenever a watcher is called. @throws after `ms` */
export function untilHolds(
  watchers: Set<() => void>,
  what: string,
  condition: () => boolean,
  ms = PATIENCE_MS,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      if (!condition()) return
      clearTimeout(late)
      watchers.delete(look)
      resolve()
    }
    const late = setTimeout(() => {
      watchers.delete(look)
      reject(new Error(`not within ${ms} ms: ${what}`))
    }, ms)
    watchers.add(look)
    look()
  })
}
