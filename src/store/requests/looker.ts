/** A waiter; `sleepFor` sets `wake`. */
interface Sleeper {
  wake: () => void
}

export const nothing = (): void => undefined

/** Sleeps until `sleeper.wake` is called, the time is over or `signal` aborts. */
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
  /** Whether anyone waits for the result of a look; without, none is taken. */
  wanted(): boolean
  look(): Promise<void>
  /** Called with the first of several failures in a row. */
  failed(error: unknown): void
  /** Milliseconds from one look to the next while no change is known. */
  pollMs: number
  /** Least milliseconds between two looks. */
  gapMs: number
  /** Most milliseconds of the pause after a slow look, which otherwise lasts as long as the look took. */
  longestPauseMs: number
}

/** Takes looks one after the other, as long as any is wanted. */
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
      // A change during a look may have come too late for that look.
      if (looking) again = true
      else if (wanted()) schedule(Math.max(0, pause - (performance.now() - last)))
    },
    /** Schedules a look after `pollMs`, unless one is scheduled or under way. */
    start(): void {
      if (!looking && timer === undefined) schedule(pollMs)
    },
    stop(): void {
      stopped = true
      clearTimeout(timer)
    },
  }
}
