/** One who waits for news. `told`: there is some, not heard yet. `wake`: ends the wait under way. */
export interface Watcher {
  told: boolean
  wake: () => void
}

interface Work<W> {
  /** Reads the store for all watchers together, and tells those that have news. */
  look(watchers: ReadonlySet<W>): Promise<void>
  /** Called with the first of several failures in a row. */
  failed(error: unknown): void
  /** Milliseconds from one look to the next while no change is known. */
  pollMs: number
  /** Least milliseconds between two looks. */
  gapMs: number
  /** Most milliseconds of the pause after a slow look, which otherwise lasts as long as the look took. */
  longestPauseMs: number
}

const nothing = (): void => undefined

/** Starts a watcher of its own, to be extended with what it watches. */
export const newWatcher = (): Watcher => ({ told: false, wake: nothing })

/** Tells a watcher that there is news: its wait ends, or its next one does not begin. */
export function tell(watcher: Watcher): void {
  watcher.told = true
  watcher.wake()
}

/**
 * The one way to wait for what is in the store: whoever changes something in this process tells the watchers, and looks, one
 * after the other, find what other processes changed. However many watch, one look serves all (T67); without a watcher none
 * is taken.
 */
export function createSignal<W extends Watcher>(work: Work<W>) {
  const { pollMs, gapMs } = work
  const watchers = new Set<W>()
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
      await work.look(watchers)
      failing = false
    } catch (error) {
      if (!failing) work.failed(error)
      failing = true
    }
  }
  const turn = async (): Promise<void> => {
    timer = undefined
    if (watchers.size === 0) return
    looking = true
    again = false
    const started = performance.now()
    await attempt()
    last = performance.now()
    looking = false
    pause = Math.min(work.longestPauseMs, Math.max(gapMs, last - started))
    if (watchers.size > 0) schedule(again ? pause : Math.max(pause, pollMs - (last - started)))
  }
  return {
    add(watcher: W): void {
      watchers.add(watcher)
      if (!looking && timer === undefined) schedule(pollMs)
    },
    remove(watcher: W): void {
      watchers.delete(watcher)
    },
    /**
     * Waits until the watcher is told, that many milliseconds passed, `gone` aborts or the signal is stopped. No news between
     * two waits is missed. @returns whether it was told since its last wait
     */
    async wait(watcher: W, ms: number, gone: AbortSignal): Promise<boolean> {
      if (!watcher.told && !stopped && !gone.aborted) await sleepFor(watcher, ms, gone)
      // Reset before the caller reads what is new: a change during that read must end the next wait.
      const { told } = watcher
      watcher.told = false
      return told
    },
    /** Brings the next look forward. */
    wake(): void {
      // A change during a look may have come too late for that look.
      if (looking) again = true
      else if (watchers.size > 0) schedule(Math.max(0, pause - (performance.now() - last)))
    },
    /** True from shutdown on: waiting any longer is of no use. */
    stopped: () => stopped,
    /** Wakes all watchers, for good. */
    stop(): void {
      stopped = true
      clearTimeout(timer)
      for (const watcher of watchers) watcher.wake()
    },
  }
}

/** Sleeps until `watcher.wake` is called, the time is over or `gone` aborts. */
function sleepFor(watcher: Watcher, ms: number, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      gone.removeEventListener('abort', done)
      watcher.wake = nothing
      resolve()
    }
    const timer = setTimeout(done, Math.max(0, ms))
    gone.addEventListener('abort', done)
    watcher.wake = done
  })
}
