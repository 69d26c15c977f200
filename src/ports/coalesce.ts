/**
 * Runs `work` at most once at a time: calls made during a run share one further run after it, even when the first one fails.
 * @returns a function whose promise settles with the first run that begins after the call, and rejects if that run does
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
    // Another caller has already started a run, and that run began after every call that waits here.
    return running ?? start()
  }
  return () => {
    if (running === undefined) return start()
    next ??= running.then(startNext, startNext)
    return next
  }
}
