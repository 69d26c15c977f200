import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'

/** Without the stream, or before it is open. */
const POLL_MS = 5000
/** With the stream: in case it lost something. */
const SELDOM_MS = 60_000

/**
 * Runs `look` whenever what waits for the person may have changed: as the service's stream tells, and every few seconds where
 * there is none. Only while `element` is on the page and seen; it ends when `look` answers false.
 * @returns what makes it look at once
 */
export function followInbox(
  element: HTMLElement,
  signal: AbortSignal,
  look: () => Promise<boolean>,
): () => void {
  const stream = new InboxStream(() => now())
  let looked = performance.now()
  let told = false
  const now = (): void => {
    told = true
    lookNow()
  }
  const lookNow = whileVisible(element, POLL_MS, async () => {
    const fresh = performance.now() - looked < SELDOM_MS
    if (stream.isOpen() && fresh && !told) return true
    told = false
    looked = performance.now()
    const more = await look()
    if (!more) stream.close()
    else stream.openAgain()
    return more
  })
  const seen = (): void => {
    // A browser opens only few connections to a service: pages nobody sees must not hold one each.
    if (document.visibilityState !== 'visible') stream.pause()
    else now()
  }
  document.addEventListener('visibilitychange', seen, { signal })
  signal.addEventListener('abort', () => stream.close())
  stream.openAgain()
  return now
}

/** `GET /me/pending/events`, opened anew where the browser has given it up. */
class InboxStream {
  readonly #changed: () => void
  #source: EventSource | undefined
  #over = false

  constructor(changed: () => void) {
    this.#changed = changed
  }

  isOpen(): boolean {
    return this.#source?.readyState === EventSource.OPEN
  }

  /** The browser connects again by itself after an interruption, but not after a refusal. */
  openAgain(): void {
    const alive = this.#source !== undefined && this.#source.readyState !== EventSource.CLOSED
    if (this.#over || alive || document.visibilityState !== 'visible') return
    this.#source = new EventSource('/api/v1/me/pending/events')
    this.#source.addEventListener('changed', this.#changed)
  }

  pause(): void {
    this.#source?.close()
  }

  close(): void {
    this.#over = true
    this.pause()
  }
}
