/** One who waits to be told. */
interface Sleeper {
  wake: () => void
}

export const nothing = (): void => undefined

/** Until it is woken, the time is over or `signal` aborts. */
export function sleepFor(sleeper: Sleeper, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      sleeper.wake = nothing
      resolve()
    }
    const timer = setTimeout(done, Math.max(0, ms))
    signal.addEventListener('abort', done)
    sleeper.wake = done
  })
}

interface LookerWork {
  /** Is there a watcher who waits for what a look finds? Otherwise none is taken. */
  wanted(): boolean
  look(): Promise<void>
  /** Called with the first failure in a row. */
  failed(error: unknown): void
  /** Milliseconds from look to look while nothing is known to have happened. */
  pollMs: number
  /** Milliseconds between two looks at least. */
  gapMs: number
  /** A slow store is left alone for as long as it took, and no longer than this. */
  longestPauseMs: number
}

/** Looks in turns, never twice at once, for as long as that is wanted. */
export function createLooker(work: LookerWork) {
  const { wanted, pollMs, gapMs } = work
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
      await work.look()
      failing = false
    } catch (error) {
      if (!failing) work.failed(error)
      failing = true
    }
  }
  const turn = async (): Promise<void> => {
    timer = undefined
    if (!wanted()) return
    looking = true
    again = false
    const started = performance.now()
    await attempt()
    last = performance.now()
    looking = false
    pause = Math.min(work.longestPauseMs, Math.max(gapMs, last - started))
    if (wanted()) schedule(again ? pause : Math.max(pause, pollMs - (last - started)))
  }
  return {
    /** Brings the next look forward. */
    wake(): void {
      // What happens during a look may have come too late for it.
      if (looking) again = true
      else if (wanted()) schedule(Math.max(0, pause - (performance.now() - last)))
    },
    /** Sees to it that a look comes: after `pollMs`, unless one is on its way. */
    start(): void {
      if (!looking && timer === undefined) schedule(pollMs)
    },
    stop(): void {
      stopped = true
      clearTimeout(timer)
    },
  }
}
