/**
 * Runs `look` every `period` milliseconds while `element` is on the page and the page is visible. When the page becomes visible
 * again it runs `look` at once, or right after the run in progress. Ends for good when the element has left the page or `look`
 * resolves to false.
 * @returns a function that runs `look` at once, or again right after the run in progress
 */
export function whileVisible(element: HTMLElement, period: number, look: () => Promise<boolean>): () => void {
  const over = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let looking = false
  let asked = false
  const follow = (delay: number): void => {
    clearTimeout(timer)
    if (!over.signal.aborted) timer = setTimeout(() => void run(), delay)
  }
  const run = async (): Promise<void> => {
    if (!element.isConnected) return over.abort()
    if (looking || document.visibilityState !== 'visible') return
    looking = true
    asked = false
    try {
      if (!(await look())) over.abort()
    } finally {
      looking = false
      follow(asked ? 0 : period)
    }
  }
  const lookNow = (): void => {
    asked = true
    if (!looking) follow(0)
  }
  const seen = (): void => {
    if (document.visibilityState === 'visible') lookNow()
  }
  document.addEventListener('visibilitychange', seen, { signal: over.signal })
  follow(period)
  return lookNow
}
