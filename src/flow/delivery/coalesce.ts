/**
 * Makes `work` run at most once at a time: calls during a run share one more run after it, also when the first one fails.
 * @returns a function whose promise settles with a run that began after the call; it rejects as that run does
 */
export function coalesce(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  const start = (): Promise<void> => {
    const run = work().finally(() => {
      running = undefined
    })
    running = run
    return run
  }
  const startNext = (): Promise<void> => {
    next = undefined
    // Another caller in between has started one already: it began after every call that waits here.
    return running ?? start()
  }
  return () => {
    if (running === undefined) return start()
    next ??= running.then(startNext, startNext)
    return next
  }
}
