/**
 * Makes `work` run at most once at a time: calls during a run share one more run after it. Nothing that was asked for
 * before a run began is missed by it.
 * @returns a function whose promise settles with the run that covers the call; it rejects as `work` does
 */
export function coalesce(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let again = false
  const loop = async (): Promise<void> => {
    try {
      do {
        again = false
        await work()
      } while (again)
    } finally {
      // In the same turn as the last look at `again`: a call in between would be forgotten.
      running = undefined
    }
  }
  return () => {
    again = true
    running ??= loop()
    return running
  }
}
