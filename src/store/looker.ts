interface Work {
  /** Does anybody wait for what a look finds? Nothing is looked at otherwise. */
  wanted(): boolean
  look(): Promise<void>
  /** Told of the first failure in a row. */
  failed(error: unknown): void
  /** Milliseconds from look to look while nothing is known to have happened. */
  pollMs: number
  /** Milliseconds between two looks at least. */
  gapMs: number
}

/** Looks in turns, never twice at once; `soon` brings the next turn forward. */
export function createLooker({ wanted, look, failed, pollMs, gapMs }: Work): { soon(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined
  let looking = false
  let again = false
  let stopped = false
  let failing = false
  let last = Number.NEGATIVE_INFINITY
  let pause = gapMs
  const schedule = (ms: number): void => {
    clearTimeout(timer)
    timer = stopped ? undefined : setTimeout(turn, ms)
  }
  const attempt = async (): Promise<void> => {
    try {
      await look()
      failing = false
    } catch (error) {
      if (!failing) failed(error)
      failing = true
    }
  }
  const turn = async (): Promise<void> => {
    if (!wanted()) return
    looking = true
    again = false
    const started = performance.now()
    await attempt()
    last = performance.now()
    looking = false
    // A slow store is left alone for as long as it took, within reason.
    pause = Math.min(pollMs, Math.max(gapMs, last - started))
    if (wanted()) schedule(again ? pause : Math.max(pause, pollMs - (last - started)))
  }
  return {
    soon(): void {
      // What happens during a look may have come too late for it.
      if (looking) again = true
      else if (wanted()) schedule(Math.max(0, pause - (performance.now() - last)))
    },
    stop(): void {
      stopped = true
      clearTimeout(timer)
    },
  }
}
